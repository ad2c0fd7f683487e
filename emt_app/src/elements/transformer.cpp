// Three-phase bank of two-winding transformers: ideal turns, leakage RL seen from the primary, core on the primary.
//
// "connection" gives primary and secondary winding: "YgYg", "YgD", "DYg" or "DD". Winding k of a delta lies between
// the phases k and k+1. The turns ratio follows from the rated line voltages v1, v2 (a delta winding sees √3 times the
// voltage of a star winding). The core is either linear ("lm") or a piecewise-linear flux–current curve ("saturation",
// points [Wb-turn, A] of one winding), which may have a "flux" at t = 0, as a remanent one; "rc" is its loss resistance.
//
// A phase shifter is "YgYg" with a "shift". The winding on the leading side is a zigzag: beside its own phase it has
// turns of the next phase, m times as many and reversed. With m < 0 its voltage is |1 - m·exp(-j120°)| times the
// voltage of one phase.
#include <cmath>

#include "base/elementary.hpp"
#include "elements/element.hpp"

namespace emt {
namespace {
constexpr double kTurn = 60;  // degrees, of a zigzag with as many turns of the next phase

class Transformer final : public Element {
public:
    explicit Transformer(Reader& in)
        : p_(in.bus("primary")),
          s_(in.bus("secondary")),
          v1_(in.number("v1", Range::positive, "V, line to line")),
          v2_(in.number("v2", Range::positive, "V, line to line")),
          r_(in.number("r", Range::not_negative, "leakage of one unit seen from the primary winding, ohm")),
          l_(in.number("l", Range::positive, "H")),
          rc_(in.optional("rc", Range::positive, "core loss, ohm; none, if left out").value_or(0)) {
        const std::string connection = in.choice("connection", {"YgYg", "YgD", "DYg", "DD"}, "primary and secondary winding");
        m1_ = connection.starts_with("D") ? 1 : 0;
        m2_ = connection.ends_with("D") ? 1 : 0;
        if (connection == "YgYg") shift_ = in.number("shift", Range::any, "degrees by which the secondary leads without load, of a phase shifter", 0);
        if (!(std::abs(shift_) < kTurn)) in.report()("out-of-range", "'shift' must be between -60 and 60 degrees");
        if (in.has("saturation")) {
            in.curve("saturation", "of the core of one winding, [Wb, A]", flux_, i_);
            in.refuse({"lm"}, "give either 'lm' or 'saturation', not both");
            flux0_ = in.initial("flux", "linkage at t = 0, Wb", 3);
        } else {
            lm_ = in.optional("lm", Range::positive, "linear core, H; none, if left out").value_or(0);
        }
    }
    void lower(Network& net, Reporter&) const override {
        const auto [cosine, sine] = cos_sin(std::abs(shift_) / 360);
        const double zigzag = -2 * sine / (std::sqrt(3) * cosine + sine);
        const double squared = 1 + zigzag + zigzag * zigzag, turns = std::sqrt(squared);
        // A zigzag on the primary side sees the leakage through more turns.
        const double seen = shift_ < 0 ? squared : 1;
        const auto [g, c] = companion_rl(r_ * seen, l_ * seen, net.dt_s);
        const double w1 = m1_ > 0 ? v1_ : v1_ / std::sqrt(3), w2 = m2_ > 0 ? v2_ : v2_ / std::sqrt(3);
        net.transformers.push_back({{p_[0], p_[1], p_[2], s_[0], s_[1], s_[2]}, g, c, w1 / w2 * (shift_ < 0 ? turns : 1 / turns),
                                    shift_ < 0 ? zigzag : m1_, shift_ > 0 ? zigzag : m2_});
        for (std::size_t k = 0; k < 3; ++k) {
            const Nodes2 ends{p_[k], m1_ > 0 ? p_[(k + 1) % 3] : kGround};
            if (lm_ > 0) net.reactives.push_back({ends, net.dt_s / (2 * lm_), false, 0});
            if (rc_ > 0) net.conductances.push_back({ends, 1 / rc_});
            if (!flux_.empty()) net.piecewise.push_back({ends, true, flux_, i_, flux0_[k]});
            add_channels(net, k, w1 / w2);
        }
    }
    [[nodiscard]] Census census() const override { return {.transformers = 1, .nonlinear = flux_.empty() ? 0 : 3}; }

private:
    /// Adds the channels of winding k, whose core was added last: currents of the primary (i1) and the secondary
    /// winding (i2), current of the core's inductance (im), and its flux.
    void add_channels(Network& net, std::size_t k, double ratio) const {
        using By = Carried::By;
        using Quantity = Channel::Quantity;
        const Carried load{By::transformer, net.transformers.size() - 1, static_cast<int>(k)};
        const Carried core = lm_ > 0 ? Carried{By::reactance, net.reactives.size() - 1} : Carried{By::piecewise, net.piecewise.size() - 1};
        const bool has_core = lm_ > 0 || !flux_.empty();
        std::vector<Carried> primary{load};
        if (has_core) primary.push_back(core);
        if (rc_ > 0) primary.push_back({By::conductance, net.conductances.size() - 1});
        net.channels.add(k, 3, "i1", Quantity::current, std::move(primary));
        net.channels.add(k, 3, "i2", Quantity::current, {{load.by, load.index, load.branch, ratio}});
        if (has_core) net.channels.add(k, 3, "im", Quantity::current, {core});
        if (!flux_.empty()) net.channels.add(k, 3, "flux", Quantity::flux, {core});
    }

    Nodes3 p_, s_;
    double v1_, v2_;        // V, line to line
    double r_, l_, rc_, lm_ = 0; // ohm, H, ohm, H; of one unit, seen from the primary winding
    double m1_ = 0, m2_ = 0;
    double shift_ = 0;      // degrees
    std::vector<double> flux0_, flux_, i_;  // Wb at t = 0 of each winding; curve, Wb and A
};
}  // namespace
ElementType transformer_element() { return {"transformer", make<Transformer>}; }
}  // namespace emt
