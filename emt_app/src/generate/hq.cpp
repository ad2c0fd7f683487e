// The real data are not public. Only the counts of Table I and the voltage levels are public. This generator meets both
// with a plausible layout:
//
//   172 tasks of 1 to 6 buses hold 366 buses and one neutral node: 1099 nodes. Inside the tasks, 194 connections make
//   trees of the buses: 131 transformers, 35 breakers (with the neutral's switch 106 poles) and 28 series capacitors.
//   150 tasks are the main grid: 60 substations at 735 kV in corridors, 12 of them hubs of areas with 90 substations at
//   315 kV. The other 22 tasks are 11 off-grid systems of two substations and one line each: 170 lines that join 172
//   tasks cannot make one connected graph that also has loops. The main grid has 159 lines, hence 10 loops.
//   The 3117 RLC elements are the 28 series capacitors, loads, shunt reactors and capacitors of all buses, and a
//   four-legged shunt reactor; the 249 non-linear ones the arresters of the series capacitors, 15 line arresters and 40
//   saturable transformers (3 phases each).
//
//   The 332 control and monitoring blocks are the exciters, stabilizers and governors of the machines, 115, and meters.
//
// Everything is balanced. Each of the 37 machines has a turbine: 24 of the main grid are driven by water and 2 by steam, 6 off
// the grid by water and 5 by gas. Loads are served by the nearest machines (dispatch.hpp); the first machine of the main grid and
// the one of each island hold their angles. The losses are divided among all (balance.hpp), copy by copy, so that little needs to flow
// between copies. Layouts are drawn at random, and about every third cannot be run at reasonable voltages, or at all: such a one is drawn
// again (flow_report.hpp).
//
// Lines tie the copies at the middles of their backbones. Each copy begins from its own solution, turned so that the
// tied buses have one angle. Its first machine holds its angle until the flows of the ties are divided among the
// machines of the copies. Then the first machines of all copies but one are released, and only a small remainder flows
// through the ties. If all were released at once, the first machine of the first copy would have to deliver the deficit
// of a hundred copies through two short lines.
//
// Without machines (HqModel::network), the case is the first layout drawn. Constant EMFs behind impedances replace the
// machines, in phase on the high side; shunts differ, loads are heavier, and meters replace the controllers.
#include "generate/hq.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numbers>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "case/case_file.hpp"
#include "generate/balance.hpp"
#include "generate/dispatch.hpp"
#include "generate/flow_report.hpp"
#include "generate/plant.hpp"
#include "generate/six.hpp"
#include "generate/stations.hpp"

namespace emt {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kSaturable = 40, kLineArresters = 15, kShuntCapacitors = 277, kFilters = 12, kMonitoring = 332;
constexpr double kMostLoading = 0.75, kSlackLoading = 0.5;  // of the rating
constexpr double kLosses = 0.05;                            // a first guess, of the load
constexpr double kReserve = 0.85;                           // loads, relative to the network of constant EMFs
constexpr int kPasses = 3;
constexpr double kRelaxation = 0.5;  // of the voltages of tied copies
constexpr int kDrawings = 40;
constexpr std::uint64_t kNextDrawing = 0x9E3779B97F4A7C15;  // between seeds: any odd number far from those of copies and of users
constexpr double kFaultStart_s = 1, kFaultStop_s = 1.1;
constexpr double kFrequency = 60, kOmega = 2 * std::numbers::pi * kFrequency;

struct LineType {
    double r1, l1, c1, r0, l0, c0;  // per metre
};
constexpr LineType k735{0.012e-3, 0.87e-6, 13.4e-12, 0.25e-3, 2.7e-6, 9.0e-12};
constexpr LineType k315{0.030e-3, 0.95e-6, 12.0e-12, 0.30e-3, 3.0e-6, 7.0e-12};
constexpr LineType k120{0.070e-3, 1.10e-6, 10.5e-12, 0.40e-3, 3.2e-6, 6.5e-12};

struct Bus {
    std::string name;
    std::size_t station;
    double kv;             // line to line
    bool load;             // feeds consumers
    double charging = 0;   // half the charging of its lines, Mvar
};

class Generator {
public:
    Generator(Json& out, std::string prefix, std::uint64_t seed, HqModel model)
        : out_(out), prefix_(std::move(prefix)), full_(model == HqModel::full), random_(seed) {}

    /// Makes one copy; returns the ends for the lines that tie copies together.
    std::array<std::string, 3> run() {
        for (int t = 0; t < kTasks; ++t) build(t);
        connect();
        shunts();
        neutral();
        meters();
        if (full_) machines();
        return {bus(0, 0), bus(kBackbone / 2, 0), bus(kBackbone - 1, 0)};
    }
    /// Returns the rated voltage, line to line, of every bus.
    [[nodiscard]] std::map<std::string, double> rated_kv() const {
        std::map<std::string, double> out;
        for (const Bus& b : buses_) out[b.name] = b.kv;
        return out;
    }

private:
    std::string bus(int task, std::size_t k) const { return buses_[stations_[at(task)].buses[k]].name; }
    void add(Json element) {
        if (element.contains("name")) element["name"] = prefix_ + element["name"].get<std::string>();
        out_["elements"].push_back(std::move(element));
    }

    std::size_t new_bus(Station& s, const std::string& name, double kv, bool load = false) {
        buses_.push_back({prefix_ + name, static_cast<std::size_t>(&s - stations_.data()), kv, load});
        out_["buses"].push_back(buses_.back().name);
        s.buses.push_back(buses_.size() - 1);
        return buses_.size() - 1;
    }

    void build(int t) {
        Station& s = stations_[at(t)];
        const std::string id = "S" + std::to_string(t);
        const std::string high = id;
        s.terminals.push_back(new_bus(s, high, s.kv));
        for (std::size_t k = 0; k < s.low.size(); ++k) transformer(s, id, k);
        for (int k = 0; k < s.extra_breakers; ++k) {
            const std::string name = id + "B" + std::to_string(k);
            s.terminals.push_back(new_bus(s, name, s.kv));
            add({{"type", "switch"}, {"name", "BRK_" + name}, {"buses", {prefix_ + high, prefix_ + name}}, {"closed", true}, {"r_on", 0.01}});
        }
        for (int k = 0; k < s.extra_capacitors; ++k) {
            const std::string name = id + "K" + std::to_string(k);
            s.terminals.push_back(new_bus(s, name, s.kv));
            const double reactance = random_.between(15, 30);
            add({{"type", "capacitor"}, {"name", "CS_" + name}, {"buses", {prefix_ + high, prefix_ + name}}, {"c", six(1 / (kOmega * reactance))}});
            const double level = 2.5 * std::numbers::sqrt2 * 2000 * reactance;  // of 2 kA r.m.s.
            add({{"type", "arrester"}, {"name", "MOV_" + name}, {"buses", {prefix_ + high, prefix_ + name}},
                 {"curve", {{six(level), 1}, {six(1.05 * level), 1000}, {six(1.2 * level), 20000}}}});
        }
    }

    void transformer(Station& s, const std::string& id, std::size_t k) {
        const Low role = s.low[k];
        const double low_kv = role == Low::hub ? 315 : role == Low::load ? (s.kv > 300 ? 120 : 25) : role == Low::svc ? 22 : 13.8;
        const std::string name = id + "T" + std::to_string(k), low = prefix_ + name;
        const std::size_t b = new_bus(s, name, low_kv, role == Low::load);
        const bool source = role == Low::machine || role == Low::condenser;
        const double mva = s.kv > 700 ? (role == Low::hub ? 1650 : 1000) : s.kv > 300 ? 500 : 100;
        const double v_high = s.kv * 1e3, z = v_high * v_high / (mva * 1e6);
        const bool delta_high = role == Low::load && random_.below(12) == 0;
        const bool delta_low = source || role == Low::svc || delta_high || (role == Low::load && random_.below(2) == 0);
        // A delta winding sees √3 times the voltage, hence three times the impedance of a star winding.
        const double zw = delta_high ? 3 * z : z, winding_peak = v_high * std::sqrt(2.0 / (delta_high ? 1 : 3));
        Json e{{"type", "transformer"}, {"name", "TR_" + name}, {"primary", buses_[s.buses[0]].name}, {"secondary", low},
               {"connection", std::string(delta_high ? "D" : "Yg") + (delta_low ? "D" : "Yg")}, {"v1", v_high}, {"v2", low_kv * 1e3},
               {"r", six(0.003 * zw)}, {"l", six(random_.between(0.10, 0.15) * zw / kOmega)}, {"rc", six(1000 * zw)}};
        if (saturable_ < kSaturable && role != Low::svc && !delta_high) {
            ++saturable_;
            const double flux = winding_peak / kOmega, current = winding_peak / zw;  // rated, peak
            e["saturation"] = {{six(1.25 * flux), six(0.004 * current)}, {six(1.35 * flux), six(0.03 * current)}, {six(1.65 * flux), six(1.0 * current)}};
        } else {
            e["lm"] = six(300 * zw / kOmega);
        }
        add(std::move(e));
        if (source && full_) {
            plan(s, name, role, mva);
        } else if (source) {
            const double zm = low_kv * low_kv * 1e6 / (mva * 1e6);
            add({{"type", role == Low::machine ? "machine" : "condenser"}, {"name", "G_" + name}, {"bus", low},
                 {"amplitude", six(random_.between(1.0, 1.04) * low_kv * 1e3 * std::sqrt(2.0 / 3))}, {"phase", -30},
                 {"r1", six(0.003 * zm)}, {"l1", six(random_.between(0.18, 0.25) * zm / kOmega)}, {"r0", six(0.01 * zm)}, {"l0", six(0.1 * zm / kOmega)}});
        } else if (role == Low::svc) {
            const double v2 = low_kv * low_kv * 1e6, tcr = random_.between(80e6, 120e6), tsc = random_.between(80e6, 120e6);  // var
            if (full_) {  // starts without susceptance and regulates the voltage of the high side
                const double rated = 0.3 * mva, of_100 = rated / 100;
                add({{"type", "svc"}, {"name", "SVC_" + name}, {"bus", low}, {"controlled", buses_[s.buses[0]].name}, {"rated_voltage", low_kv * 1e3},
                     {"controlled_voltage", v_high}, {"rated_power", rated * 1e6}, {"tcr", six((tcr + 45e6) * of_100)}, {"tsc", {six(tsc * of_100)}}});
            } else {
                add({{"type", "fixed_svc"}, {"name", "SVC_" + name}, {"bus", low}, {"l", six(v2 / (kOmega * tcr))}, {"c", six(tsc / (kOmega * v2))}});
            }
        } else if (role == Low::hub) {
            hub_bus_.push_back(b);
        }
    }

    /// Adds a plant at the low side of a transformer. It draws as many random numbers as a constant EMF, so the network
    /// stays the same.
    void plan(const Station& s, const std::string& name, Low role, double mva) {
        const auto station = static_cast<std::size_t>(&s - stations_.data());
        const bool off_grid = island(static_cast<int>(station)), condenser = role == Low::condenser;
        const double v = random_.between(1.0, 1.04) - 0.01;
        random_.between(0, 1);
        const std::size_t kind = condenser ? 0 : off_grid ? off_grid_++ : main_++;
        const Turbine turbine = condenser ? Turbine::none : off_grid ? (kind % 2 == 0 ? Turbine::hydro : Turbine::gas)
                                                                     : (kind % 13 == 6 ? Turbine::steam : Turbine::hydro);
        plants_.push_back({"G_" + name, prefix_ + name, station, turbine, mva * (condenser ? 0.5 : off_grid ? 0.4 : 1), 13.8, v,
                           !condenser && (off_grid || kind == 0)});
    }

    void machines() {
        std::vector<Supply> supplies;
        std::vector<Plant*> served;
        for (Plant& p : plants_) {
            if (p.turbine == Turbine::none || island(static_cast<int>(p.station))) continue;
            supplies.push_back({p.station, p.mva * (p.slack ? kSlackLoading : kMostLoading)});
            served.push_back(&p);
        }
        for (double& mw : load_mw_) mw *= 1 + kLosses;
        const std::vector<double> mw = dispatch(supplies, load_mw_, corridors_);
        for (std::size_t i = 0; i < served.size(); ++i) served[i]->mw = mw[i];
        for (const Plant& p : plants_)
            for (Json& element : plant_elements(p, random_)) {
                if (element.contains("machine")) element["machine"] = prefix_ + element["machine"].get<std::string>();
                add(std::move(element));
            }
    }

    void line(std::size_t from, std::size_t to, double km) {
        Bus &a = buses_[from], &b = buses_[to];
        const LineType& t = a.kv > 700 ? k735 : a.kv > 300 ? k315 : k120;
        corridors_.push_back({a.station, b.station, km});
        const double mvar = kOmega * t.c1 * km * 1e3 * a.kv * a.kv;
        a.charging += mvar / 2;
        b.charging += mvar / 2;
        add({{"type", "line"}, {"name", "L" + std::to_string(lines_++)}, {"from", a.name}, {"to", b.name}, {"length", six(km * 1e3)},
             {"r1", t.r1}, {"l1", t.l1}, {"c1", t.c1}, {"r0", t.r0}, {"l0", t.l0}, {"c0", t.c0}});
    }
    std::size_t terminal(int task) {
        const auto& list = stations_[at(task)].terminals;
        return list[at(random_.below(static_cast<int>(list.size())))];
    }

    void connect() {
        for (int t = 1; t < kBackbone; ++t) line(terminal(t - 1 - random_.below(std::min(t, 5))), terminal(t), random_.between(60, 280));
        for (int k = 0; k < kLoops735; ++k) {
            const int t = 8 + k * 8;
            line(terminal(t), terminal(t - 6), random_.between(120, 300));
        }
        std::vector<std::vector<int>> area(kHubs);
        for (int t = kBackbone; t < kMain; ++t) {
            const int a = (t - kBackbone) % kHubs;
            const int pick = random_.below(static_cast<int>(area[at(a)].size()) + 1);
            const std::size_t from = pick == 0 ? hub_bus_[at(a)] : terminal(area[at(a)][at(pick - 1)]);
            line(from, terminal(t), random_.between(20, 90));
            area[at(a)].push_back(t);
        }
        for (int k = 0; k < kLoops315; ++k) line(terminal(area[at(k)].front()), terminal(area[at(k)].back()), random_.between(40, 90));
        for (int k = 0; k < kIslands; ++k) line(terminal(kMain + 2 * k), terminal(kMain + 2 * k + 1), random_.between(20, 100));
    }

    /// Returns the share of the lines' charging that reactors take. Machines hold their voltages: with them, lines at
    /// 315 kV have little compensation, as usual, and lines at 735 kV a more even one.
    [[nodiscard]] double compensated(const Bus& b, double share) const {
        return !full_ || b.kv < 300 ? share : b.kv > 700 ? 0.95 + (share - 0.85) / 2 : 0.3;
    }
    /// Returns the shunt at a bus, Mvar. With machines, areas at 315 kV without a machine get more support.
    [[nodiscard]] double capacitor(const Bus& b, double mw) const {
        const auto area = [](std::size_t station) { return (static_cast<int>(station) - kBackbone) % kHubs; };
        const auto of_area = [](std::size_t station) { return !backbone(static_cast<int>(station)) && !island(static_cast<int>(station)); };
        const bool weak = full_ && of_area(b.station) && std::none_of(plants_.begin(), plants_.end(), [&](const Plant& p) {
            return p.turbine != Turbine::none && of_area(p.station) && area(p.station) == area(b.station);
        });
        return b.load ? (weak ? 0.3 : 0.2) * mw : weak && b.kv > 300 ? 5 : 0.02 * mw + 0.05;
    }

    /// A resistive load and a reactor at every bus, capacitors at some: loads at low sides, compensation at line ends.
    void shunts() {
        int capacitors = 0, filters = 0, arresters = 0;
        std::vector<std::size_t> order(buses_.size());
        for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
        random_.shuffle(order);
        std::vector<char> with_capacitor(buses_.size());
        for (std::size_t i = 0; i < at(kShuntCapacitors); ++i) with_capacitor[order[i]] = 1;
        for (std::size_t i = 0; i < buses_.size(); ++i) {
            const Bus& b = buses_[i];
            const double v2 = b.kv * b.kv * 1e6;
            const double heavy = full_ ? kReserve : 1;
            const double mw = b.load ? (b.kv > 100 ? heavy * random_.between(40, 180) : random_.between(5, 20)) : b.kv > 700 ? 5 : b.kv > 300 ? heavy * 20 : 1;
            const bool load = b.load;
            load_mw_[b.station] += mw;
            const double reactor = b.charging > 0 ? compensated(b, random_.between(0.75, 0.95)) * b.charging : 0.3 * mw;
            const std::string name = b.name.substr(prefix_.size());
            add({{"type", "resistor"}, {"name", "R_" + name}, {"buses", {b.name, "0"}}, {"r", six(v2 / (mw * 1e6))}});
            Json l{{"type", "inductor"}, {"name", "X_" + name}, {"buses", {b.name, "0"}}, {"l", six(v2 / (kOmega * reactor * 1e6))}};
            if (load && i % 3 == 0) l["r"] = six(0.5 * v2 / (reactor * 1e6));
            add(std::move(l));
            if (with_capacitor[i] != 0) {
                ++capacitors;
                const double mvar = capacitor(b, mw);
                const double c = mvar * 1e6 / (kOmega * v2);
                if (load && filters < kFilters) {  // tuned to the fifth harmonic
                    ++filters;
                    const double inductance = 1 / (25 * kOmega * kOmega * c);
                    add({{"type", "series_rlc"}, {"name", "F_" + name}, {"buses", {b.name, "0"}}, {"r", six(5 * kOmega * inductance / 40)}, {"l", six(inductance)}, {"c", six(c)}});
                } else {
                    add({{"type", "capacitor"}, {"name", "C_" + name}, {"buses", {b.name, "0"}}, {"c", six(c)}});
                }
            }
            if (b.kv > 700 && arresters < kLineArresters && i % 4 == 0) {
                ++arresters;
                const double peak = b.kv * 1e3 * std::sqrt(2.0 / 3);
                add({{"type", "arrester"}, {"name", "MOA_" + name}, {"buses", {b.name, "0"}},
                     {"curve", {{six(1.6 * peak), 1}, {six(1.75 * peak), 1000}, {six(1.95 * peak), 10000}}}});
            }
        }
    }

    /// Four-legged shunt reactor with its neutral node and neutral switch.
    void neutral() {
        const std::string node = prefix_ + "N", at_bus = bus(1, 0);
        out_["nodes"].push_back(node);
        add({{"type", "inductor"}, {"name", "X_N_PHASES"}, {"buses", {at_bus, node}}, {"l", six(735e3 * 735e3 / (kOmega * 50e6))}});
        add({{"type", "inductor"}, {"name", "X_N"}, {"nodes", {node, "0"}}, {"l", 2.0}});
        add({{"type", "resistor"}, {"name", "R_N"}, {"nodes", {node, "0"}}, {"r", 50e3}});
        add({{"type", "capacitor"}, {"name", "C_N"}, {"nodes", {node, "0"}}, {"c", 1e-9}});
        add({{"type", "switch"}, {"name", "BRK_N"}, {"nodes", {node, "0"}}});
    }

    /// Three at a bus; the last bus gets the rest.
    void meters() {
        int left = kMonitoring;
        for (const Plant& p : plants_) left -= p.turbine == Turbine::none ? 1 : kControllers;
        int t = 0;
        for (; left >= 3; left -= 3, ++t) add({{"type", "meter"}, {"name", "M_S" + std::to_string(t)}, {"buses", {bus(t, 0), "0"}}});
        for (int k = 0; k < left; ++k) {
            const std::string phase = std::string(".") + "abc"[k];
            add({{"type", "meter"}, {"name", "M_S" + std::to_string(t) + phase}, {"nodes", {bus(t, 0) + phase, "0"}}});
        }
    }

    Json& out_;
    std::string prefix_;
    bool full_;
    Random random_;
    std::vector<Station> stations_ = plan_stations(random_);
    std::vector<Bus> buses_;
    std::vector<std::size_t> hub_bus_;
    std::vector<Plant> plants_;
    std::vector<double> load_mw_ = std::vector<double>(kTasks);  // of each station
    std::vector<Corridor> corridors_;
    std::size_t main_ = 0, off_grid_ = 0;  // machines so far
    int lines_ = 0, saturable_ = 0;
};

struct Copy {
    Json content;
    std::array<std::string, 3> ends;  // for the lines that tie copies together
    double tie_angle_deg = 0;         // in the copy's own power flow, of the middle end
};

/// Draws layouts; with machines, until one has a plausible power flow.
Copy draw(const Json& empty, const std::string& prefix, std::uint64_t seed, HqModel model) {
    std::string why;
    for (int drawing = 0; drawing < kDrawings; ++drawing) {
        Copy copy{.content = empty, .ends = {}};
        Generator generator(copy.content, prefix, seed + static_cast<std::uint64_t>(drawing) * kNextDrawing, model);
        copy.ends = generator.run();
        if (model != HqModel::full) return copy;
        try {
            balance(copy.content, kSlackLoading, kPasses, 1);
            const FlowReport flow = report_flow(copy.content, generator.rated_kv(), copy.ends[1]);
            copy.tie_angle_deg = flow.angle_deg;
            if (flow.plausible()) return copy;
            why = "voltages from " + std::to_string(flow.lowest_pu) + " to " + std::to_string(flow.highest_pu) + " per unit";
        } catch (const std::runtime_error& e) {  // no power flow, or not enough machines
            why = e.what();
        }
    }
    throw std::runtime_error("none of " + std::to_string(kDrawings) + " networks drawn from seed " + std::to_string(seed) +
                             " has a plausible power flow; the last: " + why);
}

}  // namespace

Json generate_hq(int scale, std::uint64_t seed, HqModel model, const std::string& fault_bus) {
    const bool full = model == HqModel::full;
    Json out{{"format", kCaseFormat},
             {"version", kCaseVersion},
             {"title", "Hydro-Quebec-like network, scale " + std::to_string(scale) + ", seed " + std::to_string(seed)},
             {"description", "Synthetic. Counts of Table I of Le-Huy, Guerette, Guay, IPST 2023, per copy; copies tied by lines."},
             {"dt", 50e-6},
             {"frequency", kFrequency},
             {"start", "steady"},
             {"buses", Json::array()},
             {"nodes", Json::array()},
             {"elements", Json::array()}};
    const Json empty = out;
    std::array<std::string, 3> last;
    double tie_angle_deg = 0;  // of the first copy
    for (int c = 0; c < scale; ++c) {
        const std::string prefix = scale == 1 ? "" : "C" + std::to_string(c) + "_";
        auto [copy, ends, angle_deg] = draw(empty, prefix, seed + static_cast<std::uint64_t>(c) * 1000003, model);
        if (c == 0) tie_angle_deg = angle_deg;
        if (full && c > 0) turn(copy, tie_angle_deg - angle_deg);
        for (const char* list : {"buses", "nodes", "elements"})
            for (Json& entry : copy[list]) out[list].push_back(std::move(entry));
        for (int k = 0; c > 0 && k < 2; ++k) {
            const std::string name = prefix + "TIE" + std::to_string(k), &from = last[k == 0 && !full ? 2 : 1], &to = ends[k == 0 && !full ? 0 : 1];
            // With machines, two parallel short lines: long lines at other places would carry circulating flows through
            // both copies, and charge more than the machines there can take.
            const double length_m = full ? 60e3 : 200e3;
            out["elements"].push_back({{"type", "line"}, {"name", name}, {"from", from}, {"to", to}, {"length", length_m}, {"r1", k735.r1}, {"l1", k735.l1},
                                       {"c1", k735.c1}, {"r0", k735.r0}, {"l0", k735.l0}, {"c0", k735.c0}});
            if (!full) continue;
            for (const auto& [side, bus] : {std::pair("_A", from), std::pair("_B", to)})  // a reactor for the charging of this half
                out["elements"].push_back({{"type", "inductor"}, {"name", "X_" + name + side}, {"buses", {bus, "0"}}, {"l", six(2 / (kOmega * kOmega * k735.c1 * length_m))}});
        }
        last = ends;
    }
    if (full && scale > 1) {
        balance(out, kSlackLoading, kPasses, kRelaxation);
        release(out);
        balance(out, kSlackLoading, kPasses, kRelaxation);
    }
    if (!fault_bus.empty())
        out["elements"].push_back({{"type", "fault"}, {"name", "FAULT"}, {"bus", fault_bus}, {"kind", "abcg"}, {"r", 0.1}, {"start", kFaultStart_s}, {"stop", kFaultStop_s}});
    return out;
}

}  // namespace emt
