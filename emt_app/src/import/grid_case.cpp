// The case has the grid's values at the system's frequency. With the trapezoidal rule, an inductance L is the reactance
// w·L and a capacitance C the susceptance w·C, w = 2/Δt·tan(ωΔt/2), so L = X/w and C = B/w.
//
// A line by travelling waves has the series reactance Z·sin(ωτ) and at each end the susceptance tan(ωτ/2)/Z, hence
// cos(ωτ) = 1 - X·B/2 and Z = X/sin(ωτ). Its resistance r, a quarter of it at each end and half in the middle, makes a series
// resistance of r·(1 + 3·cos(ωτ))/4 to first order. For the zero sequence r0 = 3·r1, l0 = 3·l1, c0 = 0.6·c1 are taken.
//
// Negative resistances can make a network unstable, so elements that deliver power become sources. A load of negative
// power becomes a constant EMF behind a reactance. A branch of negative resistance becomes its reactance and an EMF
// that makes up the difference at the current of the start. A negative reactance becomes a capacitance; in a
// transformer, whose leakage must be positive, a larger capacitance behind the leakage.
#include "import/grid_case.hpp"

#include <cmath>
#include <numbers>

#include "case/case_file.hpp"
#include "generate/typical_machines.hpp"
#include "network/phasor.hpp"

namespace emt {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kWaveSpeed = 2.9e8;         // m/s, of the positive sequence
constexpr double kLoading = 0.9;             // for a machine that delivers more than its base
constexpr double kZeroR = 3, kZeroL = 3, kZeroC = 0.6;
constexpr double kFeederX = 0.2;             // per unit of its power: reactance behind the EMF of a delivering element that is no machine
const double kPeak = std::sqrt(2.0 / 3);     // V peak to ground of 1 V line to line

class GridCase {
public:
    GridCase(const Grid& grid, const GridCaseOptions& options, std::vector<std::string>& notes)
        : grid_(grid), options_(options), notes_(notes), w_(2 / options.dt_s * std::tan(std::numbers::pi * options.frequency_hz * options.dt_s)) {}

    Json run() {
        out_ = {{"format", kCaseFormat}, {"version", kCaseVersion}, {"title", grid_.title}, {"dt", options_.dt_s},
                {"frequency", options_.frequency_hz}, {"start", "steady"}, {"buses", Json::array()}, {"elements", Json::array()}};
        for (const GridBus& b : grid_.bus) bus(b);
        for (const GridBranch& e : grid_.branch) branch(e);
        std::vector<char> led(grid_.bus.size(), 0);
        for (const GridMachine& m : grid_.machine) {
            machine(m, grid_.bus[m.bus].slack && led[m.bus] == 0);
            led[m.bus] = 1;
        }
        if (lines_ > 0 || short_lines_ > 0)
            notes_.push_back(std::to_string(lines_) + " lines by travelling waves, " + std::to_string(short_lines_) + " as pi sections");
        note(enlarged_, "machines deliver more than their base: their rating is raised to that");
        note(feeders_, "loads of negative power: constant EMFs behind a reactance");
        note(series_capacitors_, "branches of negative reactance: series capacitors");
        note(compensated_, "branches of negative resistance: a reactance and a constant EMF");
        return std::move(out_);
    }

private:
    void note(int count, const char* what) {
        if (count > 0) notes_.push_back(std::to_string(count) + " " + what);
    }
    void add(Json element) { out_["elements"].push_back(std::move(element)); }
    /// Returns the base impedance, ohm: line-to-line voltage squared by power.
    [[nodiscard]] double base_ohm(const GridBus& b) const { return b.kv * b.kv / grid_.mva; }

    /// Adds conductance and susceptance to ground, per unit.
    void shunt(const std::string& name, const GridBus& b, double g, double susceptance) {
        const Json ends{b.name(), "0"};
        if (g > 0) add({{"type", "resistor"}, {"name", "R_" + name}, {"buses", ends}, {"r", base_ohm(b) / g}});
        if (susceptance > 0) add({{"type", "capacitor"}, {"name", "C_" + name}, {"buses", ends}, {"c", susceptance / base_ohm(b) / w_}});
        if (susceptance < 0) add({{"type", "inductor"}, {"name", "L_" + name}, {"buses", ends}, {"l", -base_ohm(b) / susceptance / w_}});
    }
    /// Adds constant EMFs behind an impedance (per unit) that deliver this power (per unit) at the bus's voltage.
    void source(const std::string& name, const GridBus& b, GridPhasor power, GridPhasor z) {
        const GridPhasor emf = b.voltage() + z * std::conj(power / b.voltage());
        add({{"type", "source"}, {"name", name}, {"bus", b.name()}, {"amplitude", std::abs(emf) * b.kv * 1e3 * kPeak},
             {"phase", std::arg(emf) / kDegree}, {"r1", z.real() * base_ohm(b)}, {"l1", z.imag() * base_ohm(b) / w_}});
    }

    void bus(const GridBus& b) {
        out_["buses"].push_back(b.name());
        const double squared = b.vm * b.vm, g = (b.p / squared + b.g) / grid_.mva, susceptance = (b.b - b.q / squared) / grid_.mva;
        if (g >= 0) return shunt(b.name(), b, g, susceptance);
        ++feeders_;
        const GridPhasor power = squared * GridPhasor(-g, susceptance);
        source("E_" + b.name(), b, power, {0, kFeederX / std::abs(power)});
    }

    void branch(const GridBranch& e) {
        const GridBus &from = grid_.bus[e.from], &to = grid_.bus[e.to];
        const GridPhasor current = (from.voltage() / e.ratio() - to.voltage()) / e.impedance();  // per unit, at `to`
        if (e.transformer) {
            double x = e.x;
            std::string end = to.name();
            if (e.r < 0 || e.x <= 0) {  // a possible leakage here, and the rest behind it
                x = e.x > 0 ? e.x / 2 : e.x < 0 ? -e.x : std::abs(e.r);
                end = e.name + "_inside";
                out_["buses"].push_back(end);
                series("S_" + e.name, end, to.name(), to, {e.r, e.x - x}, current);
            }
            Json element{{"type", "transformer"}, {"name", e.name}, {"primary", end}, {"secondary", from.name()}, {"connection", "YgYg"},
                         {"v1", to.kv * 1e3}, {"v2", from.kv * 1e3 * e.tap}, {"r", end == to.name() ? e.r * base_ohm(to) : 0}, {"l", x * base_ohm(to) / w_}};
            if (e.shift != 0) element["shift"] = e.shift;
            add(std::move(element));
            shunt(e.name + "_from", from, 0, e.b / 2 / (e.tap * e.tap));
            shunt(e.name + "_to", to, 0, e.b / 2);
        } else if (e.r < 0 || e.x <= 0) {
            series(e.name, from.name(), to.name(), to, e.impedance(), current);
            shunt(e.name + "_from", from, 0, e.b / 2);
            shunt(e.name + "_to", to, 0, e.b / 2);
        } else if (!waves(e, from, to)) {
            ++short_lines_;
            const auto matrix = [](double positive, double zero) {
                const double own = (zero + 2 * positive) / 3, mutual = (zero - positive) / 3;
                return Json{{own, mutual, mutual}, {mutual, own, mutual}, {mutual, mutual, own}};
            };
            const double r = e.r * base_ohm(to), l = e.x * base_ohm(to) / w_;
            add({{"type", "coupled_rl"}, {"name", e.name}, {"from", from.name()}, {"to", to.name()}, {"r", matrix(r, kZeroR * r)}, {"l", matrix(l, kZeroL * l)}});
            shunt(e.name + "_from", from, 0, e.b / 2);
            shunt(e.name + "_to", to, 0, e.b / 2);
        }
    }
    /// Adds a branch of negative resistance, or without a positive reactance. Impedance and current per unit of bus
    /// `of`.
    void series(const std::string& name, const std::string& from, const std::string& to, const GridBus& of, GridPhasor z, GridPhasor current) {
        const double ohm = base_ohm(of);
        if (z.real() < 0) {
            ++compensated_;
            const GridPhasor kept{z.imag() == 0 ? -z.real() : 0, std::abs(z.imag())}, emf = (z - kept) * current * of.kv * 1e3 * kPeak;
            const char* const phase[]{".a", ".b", ".c"};
            for (int k = 0; k < 3; ++k)
                add({{"type", "voltage_source"}, {"name", name + phase[k]}, {"from", to + phase[k]}, {"to", from + phase[k]}, {"r", kept.real() * ohm},
                     {"l", kept.imag() * ohm / w_}, {"amplitude", std::abs(emf)}, {"phase", std::arg(emf) / kDegree - 120 * k}});
        } else if (z.imag() < 0) {
            ++series_capacitors_;
            add({{"type", "capacitor"}, {"name", name}, {"buses", {from, to}}, {"c", -1 / (z.imag() * ohm * w_)}, {"r", z.real() * ohm}});
        } else {
            add({{"type", "resistor"}, {"name", name}, {"buses", {from, to}}, {"r", z.real() * ohm}});
        }
    }
    /// Adds the line by travelling waves if possible; returns false otherwise.
    bool waves(const GridBranch& e, const GridBus& from, const GridBus& to) {
        const double cosine = 1 - e.x * e.b / 2, omega = 2 * std::numbers::pi * options_.frequency_hz, r = e.r * base_ohm(to), x = e.x * base_ohm(to);
        if (!options_.waves || !(e.b > 0) || !(cosine > 0)) return false;
        const double tau = std::acos(cosine) / omega, z = x / std::sin(omega * tau), lumped = r * 4 / (1 + 3 * cosine);
        if (tau < options_.dt_s || lumped / 4 >= z / 2) return false;
        ++lines_;
        const double length = tau * kWaveSpeed, r1 = lumped / length, l1 = z * tau / length, c1 = tau / z / length;
        add({{"type", "line"}, {"name", e.name}, {"from", from.name()}, {"to", to.name()}, {"length", length}, {"r1", r1}, {"l1", l1}, {"c1", c1},
             {"r0", kZeroR * r1}, {"l0", kZeroL * l1}, {"c0", kZeroC * c1}});
        return true;
    }

    void machine(const GridMachine& m, bool holds_angle) {
        const GridBus& b = grid_.bus[m.bus];
        const double delivered = std::hypot(m.p, m.q);
        double rated_mva = m.rating_mva;
        if (delivered > kLoading * rated_mva) {
            rated_mva = delivered / kLoading;
            ++enlarged_;
        }
        const Json typical = round_rotor();
        if (!options_.machines) {
            const double by_rating = grid_.mva / rated_mva;
            source(m.name, b, GridPhasor(m.p, m.q) / grid_.mva, {typical["ra"].get<double>() * by_rating, typical["xd2"].get<double>() * by_rating});
            return;
        }
        Json element{{"type", "synchronous_machine"}, {"name", m.name}, {"bus", b.name()}, {"rated_power", rated_mva * 1e6}, {"rated_voltage", b.kv * 1e3}};
        element.update(typical);
        element.update({{"x0", 0.1}, {"h", 4}, {"v", b.vm * b.kv * 1e3}, {"angle", b.va}});
        if (!holds_angle) element["p"] = m.p * 1e6;  // then the angle is a first guess
        add(std::move(element));
    }

    const Grid& grid_;
    GridCaseOptions options_;
    std::vector<std::string>& notes_;
    double w_;  // rad/s
    Json out_;
    int lines_ = 0, short_lines_ = 0, enlarged_ = 0, feeders_ = 0, series_capacitors_ = 0, compensated_ = 0;
};

}  // namespace

Json grid_case(const Grid& grid, const GridCaseOptions& options, std::vector<std::string>& notes) { return GridCase(grid, options, notes).run(); }

VoltageError voltage_error(const Grid& grid, const Json& emt_case) {
    const Case c = parse_case(emt_case.dump(), grid.title);
    const std::vector<Complex> v = solve_phasors(c.network);
    VoltageError out;
    for (std::size_t i = 0; i < grid.bus.size(); ++i) {  // phase a of each bus, in the grid's order
        const double off = std::abs(v[3 * i] / (grid.bus[i].kv * 1e3 * kPeak) - grid.bus[i].voltage());
        if (!(off <= out.per_unit)) out = {off, i};
    }
    return out;
}

}  // namespace emt
