// What MATPOWER has at the system's frequency the case has as well: with the trapezoidal rule an inductance L is the reactance w·L and a
// capacitance C the susceptance w·C, w = 2/Δt·tan(ωΔt/2), so L = X/w and C = B/w.
//
// A line by travelling waves has the series reactance Z·sin(ωτ) and at each end the susceptance tan(ωτ/2)/Z, hence
// cos(ωτ) = 1 - X·B/2 and Z = X/sin(ωτ). Its resistance r, a quarter of it at each end and half in the middle, makes a series
// resistance of r·(1 + 3·cos(ωτ))/4 to first order. For the zero sequence r0 = 3·r1, l0 = 3·l1, c0 = 0.6·c1 are taken.
#include "import/matpower.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <filesystem>
#include <map>
#include <numbers>

#include "base/diagnostics.hpp"
#include "case/case_file.hpp"
#include "generate/typical_machines.hpp"
#include "import/matlab_tables.hpp"

namespace emt {
namespace {

using Json = nlohmann::ordered_json;
using Phasor = std::complex<double>;

constexpr double kWaveSpeed = 2.9e8;         // m/s, of the positive sequence
constexpr double kNoBaseKv = 100;            // for buses without a base voltage
constexpr double kLoading = 0.9;             // of a machine whose base is less than it delivers
constexpr double kZeroR = 3, kZeroL = 3, kZeroC = 0.6;

// Columns, from 0.
namespace column {
enum OfBus : std::size_t { bus_i, type, pd, qd, gs, bs, vm = 7, va, base_kv, bus_columns };
enum OfGenerator : std::size_t { gen_bus, pg, qg, m_base = 6, gen_status, gen_columns };
enum OfBranch : std::size_t { from_bus, to_bus, br_r, br_x, br_b, tap = 8, shift, br_status, branch_columns };
}  // namespace column
constexpr double kSlackBus = 3, kIsolatedBus = 4;  // types of bus

struct ImportedBus {
    std::string name;
    double kv, vm, va;  // per unit, degrees
    bool slack;
};

class Importer {
public:
    Importer(const MatlabTables& in, std::string origin, const MatpowerOptions& options)
        : in_(in), origin_(std::move(origin)), options_(options),
          w_(2 / options.dt_s * std::tan(std::numbers::pi * options.frequency_hz * options.dt_s)) {}

    MatpowerImport run() {
        if (const auto it = in_.text.find("version"); it != in_.text.end() && it->second != "2")
            throw CaseError(origin_ + ": version '" + it->second + "' of the format is not known, only '2'\n");
        const auto base = in_.number.find("baseMVA");
        if (base == in_.number.end() || !(base->second > 0) || !std::isfinite(base->second)) throw CaseError(origin_ + ": needs a positive 'mpc.baseMVA'\n");
        mva_ = base->second;
        out_ = {{"format", kCaseFormat}, {"version", kCaseVersion}, {"title", "MATPOWER case " + std::filesystem::path(origin_).filename().string()}, {"dt", options_.dt_s},
                {"frequency", options_.frequency_hz}, {"start", "steady"}, {"buses", Json::array()}, {"elements", Json::array()}};
        for (const TableRow& row : table("bus", column::bus_columns)) bus(row);
        for (const TableRow& row : table("branch", column::branch_columns)) branch(row);
        for (const TableRow& row : table("gen", column::gen_columns)) generator(row);
        if (!problems_.empty()) throw CaseError(problems_.text());
        if (lines_ > 0 || short_lines_ > 0)
            notes_.push_back(std::to_string(lines_) + " lines by travelling waves, " + std::to_string(short_lines_) + " as pi sections");
        if (no_kv_ > 0) notes_.push_back(std::to_string(no_kv_) + " buses have no base voltage: taken for 100 kV");
        if (enlarged_ > 0) notes_.push_back(std::to_string(enlarged_) + " machines deliver more than their base: their rating is raised to that");
        return {std::move(out_), std::move(notes_)};
    }

private:
    std::vector<TableRow> table(const std::string& name, std::size_t columns) {
        const auto it = in_.table.find(name);
        if (it == in_.table.end()) throw CaseError(origin_ + ": has no table 'mpc." + name + "'\n");
        std::vector<TableRow> sound;
        for (const TableRow& row : it->second) {
            if (row.value.size() < columns)
                refuse(row, "a row of 'mpc." + name + "' needs " + std::to_string(columns) + " columns, not " + std::to_string(row.value.size()));
            else
                sound.push_back(row);
        }
        return sound;
    }
    void refuse(const TableRow& row, const std::string& why) { problems_.add(origin_ + ", line " + std::to_string(row.line), "matpower", why); }
    /// Whether these columns are finite.
    bool finite(const TableRow& row, std::initializer_list<std::size_t> columns) {
        for (const std::size_t c : columns)
            if (!std::isfinite(row.value[c])) {
                refuse(row, "column " + std::to_string(c + 1) + " is not finite");
                return false;
            }
        return true;
    }
    static std::string numbered(const char* prefix, double number) { return prefix + std::to_string(std::llround(number)); }
    void add(Json element) { out_["elements"].push_back(std::move(element)); }
    /// Ohm, line to line voltage squared by power.
    [[nodiscard]] double base_ohm(const ImportedBus& b) const { return b.kv * b.kv / mva_; }

    /// Conductance and susceptance to ground, per unit.
    void shunt(const std::string& name, const ImportedBus& b, double g, double susceptance) {
        const Json ends{b.name, "0"};
        if (g > 0) add({{"type", "resistor"}, {"name", "R_" + name}, {"buses", ends}, {"r", base_ohm(b) / g}});
        if (susceptance > 0) add({{"type", "capacitor"}, {"name", "C_" + name}, {"buses", ends}, {"c", susceptance / base_ohm(b) / w_}});
        if (susceptance < 0) add({{"type", "inductor"}, {"name", "L_" + name}, {"buses", ends}, {"l", -base_ohm(b) / susceptance / w_}});
    }

    void bus(const TableRow& row) {
        if (!finite(row, {column::bus_i, column::type, column::pd, column::qd, column::gs, column::bs, column::vm, column::va, column::base_kv})) return;
        const auto& v = row.value;
        if (v[column::bus_i] < 1 || v[column::bus_i] != std::floor(v[column::bus_i]) || v[column::bus_i] > 1e9) return refuse(row, "the number of a bus must be a positive whole one");
        if (v[column::type] == kIsolatedBus) {
            isolated_.push_back(v[column::bus_i]);
            return;
        }
        if (!(v[column::vm] > 0)) return refuse(row, "the voltage (column 8) must be positive: a solved case is needed");
        if (!(v[column::base_kv] > 0)) ++no_kv_;
        const ImportedBus b{numbered("B", v[column::bus_i]), v[column::base_kv] > 0 ? v[column::base_kv] : kNoBaseKv, v[column::vm], v[column::va], v[column::type] == kSlackBus};
        if (!buses_.emplace(v[column::bus_i], b).second) return refuse(row, "bus " + b.name.substr(1) + " occurs twice");
        out_["buses"].push_back(b.name);
        const double squared = v[column::vm] * v[column::vm], g = (v[column::pd] / squared + v[column::gs]) / mva_;
        if (g < 0) return refuse(row, "bus " + b.name.substr(1) + " has a negative load: make it a generator");
        shunt(b.name, b, g, (v[column::bs] - v[column::qd] / squared) / mva_);
    }

    const ImportedBus* bus_of(const TableRow& row, double number) {
        const auto it = buses_.find(number);
        if (it != buses_.end()) return &it->second;
        if (std::find(isolated_.begin(), isolated_.end(), number) == isolated_.end()) refuse(row, "there is no bus " + std::to_string(std::llround(number)));
        return nullptr;
    }

    void branch(const TableRow& row) {
        ++branches_;
        if (!finite(row, {column::from_bus, column::to_bus, column::br_r, column::br_x, column::br_b, column::tap, column::shift, column::br_status})) return;
        const auto& v = row.value;
        if (v[column::br_status] == 0) return;
        const ImportedBus *const from = bus_of(row, v[column::from_bus]), *const to = bus_of(row, v[column::to_bus]);
        if (from == nullptr || to == nullptr) return;
        if (!(v[column::br_x] > 0) || v[column::br_r] < 0 || v[column::br_b] < 0) return refuse(row, "a branch needs a positive reactance, and neither resistance nor charging may be negative");
        if (v[column::shift] != 0) return refuse(row, "phase shifters are not supported");
        if (v[column::tap] < 0) return refuse(row, "the ratio of a transformer must not be negative");
        const std::string name = "L" + std::to_string(branches_);
        const double ohm = base_ohm(*to), r = v[column::br_r] * ohm, x = v[column::br_x] * ohm;
        if (v[column::tap] != 0 || from->kv != to->kv) {
            const double ratio = v[column::tap] != 0 ? v[column::tap] : 1;
            add({{"type", "transformer"}, {"name", "T" + name.substr(1)}, {"primary", to->name}, {"secondary", from->name}, {"connection", "YgYg"},
                 {"v1", to->kv * 1e3}, {"v2", from->kv * 1e3 * ratio}, {"r", r}, {"l", x / w_}});
            shunt(name + "_from", *from, 0, v[column::br_b] / 2 / (ratio * ratio));
            shunt(name + "_to", *to, 0, v[column::br_b] / 2);
        } else if (!waves(name, *from, *to, r, x, v[column::br_b] / ohm)) {
            ++short_lines_;
            const auto matrix = [](double positive, double zero) {
                const double own = (zero + 2 * positive) / 3, mutual = (zero - positive) / 3;
                return Json{{own, mutual, mutual}, {mutual, own, mutual}, {mutual, mutual, own}};
            };
            add({{"type", "coupled_rl"}, {"name", name}, {"from", from->name}, {"to", to->name}, {"r", matrix(r, kZeroR * r)}, {"l", matrix(x / w_, kZeroL * x / w_)}});
            shunt(name + "_from", *from, 0, v[column::br_b] / 2);
            shunt(name + "_to", *to, 0, v[column::br_b] / 2);
        }
    }
    /// Whether the line is one by travelling waves. Ohm, ohm, S.
    bool waves(const std::string& name, const ImportedBus& from, const ImportedBus& to, double r, double x, double b) {
        const double cosine = 1 - x * b / 2, omega = 2 * std::numbers::pi * options_.frequency_hz;
        if (!options_.waves || !(b > 0) || !(cosine > 0)) return false;
        const double tau = std::acos(cosine) / omega, z = x / std::sin(omega * tau), lumped = r * 4 / (1 + 3 * cosine);
        if (tau < options_.dt_s || lumped / 4 >= z / 2) return false;
        ++lines_;
        const double length = tau * kWaveSpeed, r1 = lumped / length, l1 = z * tau / length, c1 = tau / z / length;
        add({{"type", "line"}, {"name", name}, {"from", from.name}, {"to", to.name}, {"length", length}, {"r1", r1}, {"l1", l1}, {"c1", c1},
             {"r0", kZeroR * r1}, {"l0", kZeroL * l1}, {"c0", kZeroC * c1}});
        return true;
    }

    void generator(const TableRow& row) {
        ++generators_;
        if (!finite(row, {column::gen_bus, column::pg, column::qg, column::m_base, column::gen_status})) return;
        const auto& v = row.value;
        if (!(v[column::gen_status] > 0)) return;
        const ImportedBus* const b = bus_of(row, v[column::gen_bus]);
        if (b == nullptr) return;
        const double delivered = std::hypot(v[column::pg], v[column::qg]);
        double rated_mva = v[column::m_base] > 0 ? v[column::m_base] : mva_;
        if (delivered > kLoading * rated_mva) {
            rated_mva = delivered / kLoading;
            ++enlarged_;
        }
        const std::string name = "G" + std::to_string(generators_);
        if (options_.machines) {
            Json machine{{"type", "synchronous_machine"}, {"name", name}, {"bus", b->name}, {"rated_power", rated_mva * 1e6}, {"rated_voltage", b->kv * 1e3}};
            machine.update(round_rotor());
            machine.update({{"x0", 0.1}, {"h", 4}, {"v", b->vm * b->kv * 1e3}, {"angle", b->va}});
            if (!b->slack) machine["p"] = v[column::pg] * 1e6;  // with it the angle is a first guess
            add(std::move(machine));
        } else {
            const Json typical = round_rotor();
            const double r = typical["ra"].get<double>() * mva_ / rated_mva, x = typical["xd2"].get<double>() * mva_ / rated_mva;
            const Phasor voltage = std::polar(b->vm, b->va * std::numbers::pi / 180), current = std::conj(Phasor(v[column::pg], v[column::qg]) / mva_ / voltage);
            const Phasor emf = voltage + Phasor(r, x) * current;
            add({{"type", "source"}, {"name", name}, {"bus", b->name}, {"amplitude", std::abs(emf) * b->kv * 1e3 * std::sqrt(2.0 / 3)},
                 {"phase", std::arg(emf) * 180 / std::numbers::pi}, {"r1", r * base_ohm(*b)}, {"l1", x * base_ohm(*b) / w_}});
        }
    }

    const MatlabTables& in_;
    std::string origin_;
    MatpowerOptions options_;
    double w_;  // rad/s
    double mva_ = 0;
    Json out_;
    Diagnostics problems_;
    std::vector<std::string> notes_;
    std::map<double, ImportedBus> buses_;  // by number
    std::vector<double> isolated_;
    int branches_ = 0, generators_ = 0, lines_ = 0, short_lines_ = 0, no_kv_ = 0, enlarged_ = 0;
};

}  // namespace

MatpowerImport import_matpower(const std::string& text, const std::string& origin, const MatpowerOptions& options) {
    return Importer(read_matlab_tables(text, "mpc", origin), origin, options).run();
}

}  // namespace emt
