// Static var compensator: a thyristor-controlled reactor (TCR) and thyristor-switched capacitors (TSC), both in delta, a phase-locked
// loop, a regulator of the voltage, and the firing of each phase inside the steps.
//
//   TCR   between two phases: a reactor and a pair of thyristors in series
//   TSC   the same with a capacitor and the reactor that tunes it
// The regulator orders the susceptance b, per unit of "rated_power", positive as a capacitor's:
//   e = reference + input - v - slope·b,   b = kp·e + ∫ki·e dt,   "b_min" ≤ b ≤ "b_max", the same limits holding the integral,
// v is the magnitude of the voltage of the bus "controlled" behind a lag. When v falls below "undervoltage", b is 0 and
// the integral waits, until v exceeds "undervoltage" by 0.05. TSC switch on with hysteresis, as many as b needs, and
// the TCR takes their excess. A table of the closed form's inverse gives its firing angle α. Signals: NAME.v, .angle
// (turns), .frequency (Hz), .reference, .error, .integral, .b, .tsc1 … (1: on), .tcr (of its full susceptance), .alpha
// (degrees) and the gates.
//
// A steady start begins with the order "susceptance" and computes the reference. It is exact if the TCR is off or
// conducts fully. If the TCR fires, the network starts with the fundamental of its current, the TCR with the current
// itself.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "elements/diagram.hpp"
#include "elements/element.hpp"
#include "elements/locked_loop.hpp"

namespace emt {
namespace {

constexpr std::size_t kMostTsc = 3;
constexpr double kAlways = 90 + 1e-4, kEnd = 175;  // degrees: up to kAlways the gate is always on; at kEnd each pulse ends
constexpr int kTablePoints = 37;
constexpr double kLargestVoltage = 0.5;            // of the rated voltage: limit for the valve of a TSC that closes at a minimum
constexpr std::array<const char*, 3> kPairs{"ab", "bc", "ca"};
/// Degrees from the bus angle to the angle of the voltage between two phases, counted from that voltage's zero.
constexpr std::array<double, 3> kZero{120, 0, -120};

/// Returns the table of α, degrees, over the susceptance per unit of the full susceptance.
BlockDraft firing_angle(int susceptance) {
    std::vector<double> x, alpha;
    for (int k = 0; k < kTablePoints; ++k) {
        alpha.push_back(180 - 90.0 * k / (kTablePoints - 1));
        x.push_back(Conduction::fired_at(alpha.back()).part);
    }
    return look_up(susceptance, std::move(x), std::move(alpha));
}

/// Returns a comparison that is 1 from the time the signal exceeds `on` until it is below `off`.
BlockDraft above(int signal, double on, double off) {
    BlockDraft out(Block::Operation::comparison, {{1, signal}});
    out.block.on = on;
    out.block.off = off;
    return out;
}

class Svc final : public Element {
public:
    explicit Svc(Reader& in)
        : name_(in.name()),
          bus_(in.bus("bus")),
          controlled_(in.has("controlled") ? in.bus("controlled", "bus whose voltage is regulated; its own, if left out") : bus_),
          v_(in.number("rated_voltage", Range::positive, "V r.m.s., line to line")),
          s_(in.number("rated_power", Range::positive, "VA: base of susceptances")),
          controlled_v_(in.has("controlled") ? in.number("controlled_voltage", Range::positive, "rated, V r.m.s., line to line") : v_),
          tcr_(in.number("tcr", Range::positive, "of the reactors in full conduction at rated voltage, var") / s_),
          tcr_quality_(in.number("tcr_quality", Range::positive, "X/R", 100)),
          tsc_(in.some_positive("tsc", "of each bank of capacitors at rated voltage, with its reactors, var", kMostTsc)),
          tuning_(in.number("tsc_tuning", Range::positive, "frequency of a bank's resonance, relative to the case's frequency", 4.5)),
          tsc_quality_(in.number("tsc_quality", Range::positive, "X/R of its reactors", 50)),
          hysteresis_(in.number("tsc_hysteresis", Range::not_negative, "between switching a bank on and off, of its susceptance", 0.05)),
          r_on_(in.number("r_on", Range::positive, "of a valve, ohm", 1e-3)),
          r_ground_(in.optional("r_ground", Range::positive, "from each phase of the bus to ground, ohm; 10000 times V²/VA, if left out").value_or(1e4 * v_ * v_ / s_)),
          slope_(in.number("slope", Range::not_negative, "voltage per susceptance, per unit", 0.03)),
          kp_(in.number("kp", Range::not_negative, "susceptance per voltage, per unit", 0)),
          ki_(in.number("ki", Range::positive, "1/s", 200)),
          lag_(in.number("time_constant", Range::positive, "of the measured voltage, s", 5e-3)),
          undervoltage_(in.number("undervoltage", Range::not_negative, "measured voltage below which nothing is ordered, per unit; 0: none", 0)),
          loop_(in, "pll_"),
          input_(in.optional_signal("input", "added to the reference")),
          initial_(in.number("susceptance", Range::any, "ordered at the start, per unit", 0)) {
        double capacitive = 0;
        for (double& b : tsc_) {
            b /= s_;
            threshold_.push_back(capacitive);
            capacitive += b;
        }
        b_min_ = in.optional("b_min", Range::any, "per unit; the reactors' value, if left out").value_or(-tcr_);
        b_max_ = in.optional("b_max", Range::any, "per unit; the sum of all capacitors, if left out").value_or(capacitive);
        reference_ = in.found_by_steady_start("reference", Range::positive, "per unit");
        check(in);
    }
    void lower(Network& net, Reporter&) const override {
        for (const int p : bus_) net.conductances.push_back({{p, kGround}, 1 / r_ground_});
        Diagram d(net, name_);
        const int b = regulator(net, d);
        BlockDraft::Terms excess{{-1 / tcr_, b}};
        for (std::size_t k = 0; k < tsc_.size(); ++k) excess.emplace_back(tsc_[k] / tcr_, add_tsc(net, d, b, k));
        add_tcr(net, d, d.add("alpha", firing_angle(d.add("tcr", sum(excess).limits(0, 1)))));
    }
    [[nodiscard]] Census census() const override { return {.svcs = 1}; }

private:
    void check(Reader& in) const {
        Reporter& report = in.report();
        const double largest = tsc_.empty() ? 0 : *std::max_element(tsc_.begin(), tsc_.end());
        if (!(tcr_ >= largest * (1 + hysteresis_ / 2)))
            report("out-of-range", "'tcr' must be at least the largest of 'tsc' times 1 + tsc_hysteresis/2: it closes the gaps between them");
        in.above("tsc_tuning", tuning_, 1, "'tsc_tuning' must be above 1: the order of the resonance of capacitor and reactor");
        if (!(b_min_ <= b_max_)) report("out-of-range", "'b_min' must not be above 'b_max'");
        if (!(initial_ >= b_min_ && initial_ <= b_max_)) report("out-of-range", "'susceptance' must lie between 'b_min' and 'b_max'");
        for (const char* pair : kPairs) {
            in.makes_node(name_ + ".tcr_" + pair);
            for (std::size_t k = 0; k < tsc_.size(); ++k) in.makes_node(name_ + ".tsc" + std::to_string(k + 1) + "_" + pair);
        }
    }
    [[nodiscard]] Nodes2 between(std::size_t pair) const { return {bus_[pair], bus_[(pair + 1) % 3]}; }

    /// Adds the regulator; returns the signal of the ordered susceptance.
    [[nodiscard]] int regulator(Network& net, Diagram& d) const {
        const int v = net.signals.make(name_ + ".v", name_);
        const auto [g, lag] = companion_lag(lag_, net.dt_s);
        net.bus_magnitudes.push_back({{}, controlled_, 1 / (controlled_v_ * std::sqrt(2.0 / 3)), g, lag, {v}});
        const int reference_signal = d.add("reference", reference(reference_));
        // With b = kp·e + i the equation e = d - slope·b becomes e = (d - slope·i)/(1 + slope·kp), without an algebraic loop.
        const double k = 1 / (1 + slope_ * kp_);
        BlockDraft::Terms terms{{k, reference_signal}, {-k, v}, {-k * slope_, d.inner("integral")}};
        if (!input_.empty()) terms.emplace_back(k, d.read(input_));
        BlockDraft difference = sum(terms);
        difference.block.initial = 0;  // for a steady start, even if low voltage blocks the following blocks
        const int error = d.add("error", std::move(difference));
        const int works = undervoltage_ > 0 ? d.add("works", above(v, undervoltage_ + 0.05, undervoltage_)) : kNoSignal;
        BlockDraft integral = gain(ki_, works == kNoSignal ? error : d.add("driven", product(1, error, works))).integral(1).limits({b_min_, "b_min"}, {b_max_, "b_max"});
        integral.block.initial = initial_;
        const int held = d.add("integral", std::move(integral));
        BlockDraft b = sum({{kp_, error}, {1, held}}).limits({b_min_, "b_min"}, {b_max_, "b_max"});
        return works == kNoSignal ? d.add("b", std::move(b)) : d.add("b", product(1, d.add("wanted", std::move(b)), works));
    }

    [[nodiscard]] bool on_at_start(std::size_t k) const { return initial_ > threshold_[k] + hysteresis_ / 2 * tsc_[k]; }

    /// Adds reactors and pairs of thyristors with one node between them; the gate of each pair has a signal.
    void add_tcr(Network& net, Diagram& d, int alpha) const {
        double excess = -initial_;
        for (std::size_t k = 0; k < tsc_.size(); ++k) excess += on_at_start(k) ? tsc_[k] : 0;
        const double start = firing_angle(alpha).block.looked_up(std::clamp(excess / tcr_, 0.0, 1.0));
        const Conduction conduction = start > kAlways && start < kEnd && net.steady_start ? Conduction::fired_at(start) : Conduction{};
        const double x = 3 * v_ * v_ / (tcr_ * s_), omega = 2 * std::numbers::pi * net.frequency_hz;
        const auto [g, c] = companion_rl(x / tcr_quality_, x / omega, net.dt_s);
        const auto angle = loop_.lower(net, name_, bus_, v_);
        for (std::size_t k = 0; k < kPairs.size(); ++k) {
            BlockDraft firing(Block::Operation::firing, {{1, angle[0]}, {1, angle[1]}, {1.0 / 180, alpha}});
            firing.block.pulses = {net.frequency_hz, kZero[k] / 360, 0.5, kAlways / 180, kEnd / 180, net.dt_s};
            const int gate = d.add(std::string("gate_") + kPairs[k], std::move(firing));
            const Nodes2 ends = between(k);
            const int inside = net.add_node(name_ + ".tcr_" + kPairs[k]);
            net.branches.push_back({{ends[0], inside}, g, c, 0, conduction});
            net.channels.add(std::string("tcr_") + kPairs[k] + ".i", Channel::Quantity::current, {{Carried::By::branch, net.branches.size() - 1}});
            add_valve(net, {inside, ends[1]}, gate, start <= kAlways, std::string(".tcr_") + kPairs[k]);
            net.switches.back().conduction = conduction;
        }
    }

    /// Adds a TSC; returns the signal that is 1 if it is on.
    [[nodiscard]] int add_tsc(Network& net, Diagram& d, int b, std::size_t k) const {
        const std::string part = "tsc" + std::to_string(k + 1);
        const double margin = hysteresis_ / 2 * tsc_[k];
        const int on = d.add(part, above(b, threshold_[k] + margin, threshold_[k] - margin));
        const int gate = d.add(part + "_gate", gain(-kNotFired, on).constant(kNotFired));
        // At the case's frequency the reactor makes n²/(n² - 1) of the capacitor's susceptance, with ω²LC = 1/n².
        const double omega = 2 * std::numbers::pi * net.frequency_hz, n2 = tuning_ * tuning_;
        const double c = tsc_[k] * s_ * (n2 - 1) / (n2 * 3 * v_ * v_ * omega), l = 1 / (n2 * omega * omega * c);
        const double r = omega * l / tsc_quality_, zl = 2 * l / net.dt_s, zc = net.dt_s / (2 * c);
        for (std::size_t p = 0; p < kPairs.size(); ++p) {
            const Nodes2 ends = between(p);
            const int inside = net.add_node(name_ + "." + part + "_" + kPairs[p]);
            net.rlcs.push_back({{ends[0], inside}, 1 / (r + zl + zc), zl, zc});
            net.channels.add(part + "_" + kPairs[p] + ".i", Channel::Quantity::current, {{Carried::By::rlc, net.rlcs.size() - 1}});
            add_valve(net, {inside, ends[1]}, gate, on_at_start(k), "." + part + "_" + kPairs[p]);
            net.switches.back().gentle_below = kLargestVoltage * std::numbers::sqrt2 * v_;
        }
        return on;
    }

    void add_valve(Network& net, Nodes2 ends, int gate, bool closed, const std::string& part) const {
        net.switches.push_back({ends, 1 / r_on_, 0, closed, false, {}, name_ + part, Valve::pair, {}, {gate}});
    }

    std::string name_;
    Nodes3 bus_, controlled_;
    double v_, s_, controlled_v_;          // V r.m.s. line to line, VA
    double tcr_, tcr_quality_;             // per unit, X/R
    std::vector<double> tsc_, threshold_;  // per unit
    double tuning_, tsc_quality_, hysteresis_;
    double r_on_, r_ground_;               // ohm
    double slope_, kp_, ki_, lag_;         // per unit, 1/s, s
    double undervoltage_;                  // per unit
    LockedLoop loop_;
    std::string input_;
    double initial_, b_min_ = 0, b_max_ = 0;  // per unit
    std::optional<double> reference_{};
};
}  // namespace
ElementType svc_element() { return {"svc", make<Svc>}; }
}  // namespace emt
