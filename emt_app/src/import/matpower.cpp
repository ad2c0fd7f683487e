#include "import/matpower.hpp"

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <set>

#include "base/diagnostics.hpp"
#include "import/grid_flow.hpp"
#include "import/matlab_tables.hpp"

namespace emt {
namespace {

constexpr double kNoBaseKv = 100;            // for buses without a base voltage
constexpr double kMostShift = 55;                 // degrees, of a phase shifter

// Columns, from 0.
namespace column {
enum OfBus : std::size_t { bus_i, type, pd, qd, gs, bs, vm = 7, va, base_kv, bus_columns };
enum OfGenerator : std::size_t { gen_bus, pg, qg, q_max, q_min, vg, m_base, gen_status, gen_columns, p_max = 8, p_min };
enum OfBranch : std::size_t { from_bus, to_bus, br_r, br_x, br_b, tap = 8, shift, br_status, branch_columns };
enum OfDcLine : std::size_t { f_bus, t_bus, dc_status, pf, pt, qf, qt, loss0 = 15, loss1, dc_columns };
}  // namespace column
constexpr double kRegulatedBus = 2, kSlackBus = 3, kIsolatedBus = 4;  // types of bus

class MatpowerReader {
public:
    MatpowerReader(const MatlabTables& in, const std::string& origin) : in_(in), origin_(origin) {}

    Grid run() {
        if (const auto it = in_.text.find("version"); it != in_.text.end() && it->second != "2")
            throw CaseError(origin_ + ": version '" + it->second + "' of the format is not known, only '2'\n");
        if (const auto it = in_.number.find("version"); it != in_.number.end() && it->second != 2) throw CaseError(origin_ + ": only version '2' of the format is known\n");
        const auto base = in_.number.find("baseMVA");
        if (base == in_.number.end() || !(base->second > 0) || !std::isfinite(base->second)) throw CaseError(origin_ + ": needs a positive 'mpc.baseMVA'\n");
        out_.mva = base->second;
        out_.title = "MATPOWER case " + std::filesystem::path(origin_).filename().string();
        for (const TableRow& row : table("bus", column::bus_columns)) bus(row);
        for (const TableRow& row : table("branch", column::branch_columns)) branch(row);
        for (const TableRow& row : table("gen", column::gen_columns)) generator(row);
        if (in_.table.contains("dcline"))
            for (const TableRow& row : table("dcline", column::dc_columns)) dc_line(row);
        if (!problems_.empty()) throw CaseError(problems_.text());
        if (out_.bus.empty()) throw CaseError(origin_ + ": has no bus\n");
        choose_slack(out_, origin_);
        note(no_kv_, "buses have no base voltage: taken for 100 kV");
        note(loads_, "generators are dispatchable loads: loads with their powers");
        note(dc_lines_, "DC lines: constant powers at their ends, with the losses loss0 + loss1*pf");
        note(isolated_.size(), "buses are isolated: left out");
        return std::move(out_);
    }

private:
    void note(std::size_t count, const char* what) {
        if (count > 0) out_.notes.push_back(std::to_string(count) + " " + what);
    }
    std::vector<TableRow> table(const std::string& name, std::size_t columns) {
        const auto it = in_.table.find(name);
        if (it == in_.table.end()) throw CaseError(origin_ + ": has no table 'mpc." + name + "'\n");
        std::vector<TableRow> sound;
        at_ = {name, 0};
        for (const TableRow& row : it->second) {
            ++at_.row;
            if (row.value.size() < columns)
                refuse(row, "a row of 'mpc." + name + "' needs " + std::to_string(columns) + " columns, not " + std::to_string(row.value.size()));
            else
                sound.push_back(row);
        }
        at_ = {name, 0};
        return sound;
    }
    /// Of the row that is read.
    std::string where(const TableRow& row) const {
        return row.line > 0 ? origin_ + ", line " + std::to_string(row.line) : origin_ + ", row " + std::to_string(at_.row) + " of 'mpc." + at_.table + "'";
    }
    void refuse(const TableRow& row, const std::string& why) { problems_.add(where(row), "matpower", why); }
    /// Whether these columns are finite.
    bool finite(const TableRow& row, std::initializer_list<std::size_t> columns) {
        for (const std::size_t c : columns)
            if (!std::isfinite(row.value[c])) {
                refuse(row, "column " + std::to_string(c + 1) + " is not finite");
                return false;
            }
        return true;
    }

    void bus(const TableRow& row) {
        ++at_.row;
        if (!finite(row, {column::bus_i, column::type, column::pd, column::qd, column::gs, column::bs, column::vm, column::va, column::base_kv})) return;
        const auto& v = row.value;
        if (v[column::bus_i] < 1 || v[column::bus_i] != std::floor(v[column::bus_i]) || v[column::bus_i] > 1e9) return refuse(row, "the number of a bus must be a positive whole one");
        if (v[column::type] != 1 && v[column::type] != kRegulatedBus && v[column::type] != kSlackBus && v[column::type] != kIsolatedBus)
            return refuse(row, "the type of a bus (column 2) must be 1, 2, 3 or 4");
        const long number = std::lround(v[column::bus_i]);
        if (v[column::type] == kIsolatedBus) {
            isolated_.insert(number);
            return;
        }
        if (!(v[column::vm] > 0)) return refuse(row, "the voltage (column 8) must be positive");
        if (!(v[column::base_kv] > 0)) ++no_kv_;
        if (!place_.emplace(number, out_.bus.size()).second) return refuse(row, "bus " + std::to_string(number) + " occurs twice");
        out_.bus.push_back({where(row), number, v[column::base_kv] > 0 ? v[column::base_kv] : kNoBaseKv, v[column::vm], v[column::va], v[column::pd], v[column::qd],
                            v[column::gs], v[column::bs], v[column::type] == kSlackBus, v[column::type] != 1});
    }
    /// The place of a bus, or nothing if it is isolated or missing.
    const std::size_t* bus_of(const TableRow& row, double number) {
        if (const auto it = place_.find(std::lround(number)); it != place_.end() && static_cast<double>(it->first) == number) return &it->second;
        if (!isolated_.contains(std::lround(number))) {
            char text[32];
            std::snprintf(text, sizeof text, "%.10g", number);
            refuse(row, std::string("there is no bus ") + text);
        }
        return nullptr;
    }

    void branch(const TableRow& row) {
        const std::string number = std::to_string(++at_.row);
        if (!finite(row, {column::from_bus, column::to_bus, column::br_r, column::br_x, column::br_b, column::tap, column::shift, column::br_status})) return;
        const auto& v = row.value;
        if (v[column::br_status] == 0) return;
        const std::size_t *const from = bus_of(row, v[column::from_bus]), *const to = bus_of(row, v[column::to_bus]);
        if (from == nullptr || to == nullptr) return;
        if (*from == *to) return refuse(row, "a branch begins and ends at one bus");
        if (v[column::br_r] == 0 && v[column::br_x] == 0) return refuse(row, "a branch without impedance is not supported: make its buses one");
        if (v[column::tap] < 0) return refuse(row, "the ratio of a transformer must not be negative");
        if (std::abs(v[column::shift]) > kMostShift) return refuse(row, "a phase shifter of more than 55 degrees is not supported");
        const bool transformer = v[column::tap] != 0 || v[column::shift] != 0 || out_.bus[*from].kv != out_.bus[*to].kv;
        out_.branch.push_back({where(row), (transformer ? "T" : "L") + number, *from, *to, v[column::br_r], v[column::br_x], v[column::br_b],
                               v[column::tap] != 0 ? v[column::tap] : 1, v[column::shift], transformer});
    }

    void generator(const TableRow& row) {
        const std::string number = std::to_string(++at_.row);
        if (!finite(row, {column::gen_bus, column::pg, column::qg, column::vg, column::m_base, column::gen_status})) return;
        const auto& v = row.value;
        if (!(v[column::gen_status] > 0)) return;
        const std::size_t* const at = bus_of(row, v[column::gen_bus]);
        if (at == nullptr) return;
        const bool limited = v.size() > column::p_min;
        if (limited && v[column::pg] <= 0 && v[column::p_min] < 0 && v[column::p_max] <= 0) {
            ++loads_;
            out_.bus[*at].p -= v[column::pg];
            out_.bus[*at].q -= v[column::qg];
            return;
        }
        if (std::isnan(v[column::q_min]) || std::isnan(v[column::q_max]) || v[column::q_min] > v[column::q_max])
            return refuse(row, "the least reactive power (column 5) is above the largest (column 4)");
        if (!(v[column::vg] > 0)) return refuse(row, "the voltage (column 6) must be positive");
        out_.machine.push_back({where(row), "G" + number, *at, v[column::pg], v[column::qg], v[column::q_min], v[column::q_max], v[column::vg],
                                v[column::m_base] > 0 ? v[column::m_base] : out_.mva});
    }

    /// As MATPOWER's toggle_dcline: `from` loses pf, `to` receives pf less the losses.
    void dc_line(const TableRow& row) {
        ++at_.row;
        if (!finite(row, {column::f_bus, column::t_bus, column::dc_status, column::pf, column::qf, column::qt, column::loss0, column::loss1})) return;
        const auto& v = row.value;
        if (!(v[column::dc_status] > 0)) return;
        const std::size_t *const from = bus_of(row, v[column::f_bus]), *const to = bus_of(row, v[column::t_bus]);
        if (from == nullptr || to == nullptr) return;
        ++dc_lines_;
        out_.bus[*from].p += v[column::pf];
        out_.bus[*from].q -= v[column::qf];
        out_.bus[*to].p -= v[column::pf] - (v[column::loss0] + v[column::loss1] * v[column::pf]);
        out_.bus[*to].q -= v[column::qt];
    }

    const MatlabTables& in_;
    const std::string& origin_;
    Grid out_;
    Diagnostics problems_;
    std::map<long, std::size_t> place_;  // by number
    std::set<long> isolated_;
    struct {
        std::string table;
        std::size_t row;
    } at_{};
    std::size_t no_kv_ = 0, loads_ = 0, dc_lines_ = 0;
};

}  // namespace

Grid read_matpower(const std::string& text, const std::string& origin) {
    const MatlabTables tables = read_matlab_tables(text, "mpc", origin);
    return MatpowerReader(tables, origin).run();
}

MatpowerImport import_matpower(const std::string& text, const std::string& origin, const MatpowerOptions& options) {
    Grid grid = read_matpower(text, origin);
    settle_grid(grid, options.solve, options.tolerance_mva, origin);
    MatpowerImport out{{}, grid.notes};
    out.emt_case = grid_case(grid, options, out.notes);
    return out;
}

}  // namespace emt
