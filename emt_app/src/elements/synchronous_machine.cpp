// Synchronous machine with its shaft, by standard parameters per unit of its own rating:
//   "synchronous_machine"    generator or motor: power "p" and terminal voltage "v" before t = 0, or "v" and "angle" without
//                            "p", when it delivers what the others do not;
//   "synchronous_condenser"  no turbine: takes its losses from the network.
// With "xq1" and "tq10" the rotor is round (two windings in the q axis, saturation in both axes), without them it has salient
// poles. The neutral is grounded if "x0" is given, otherwise isolated.
//
// Makes the signals NAME.speed, .vt (terminal voltage), .pe (power), .ifd (current of the field), all per unit, and .angle (of the
// EMF against the synchronous frame, degrees). Reads NAME.efd (voltage of the field) and NAME.pm (power of the turbine), per
// unit, if something makes them; otherwise the field keeps its voltage and the turbine its torque.
#include <cmath>
#include <numbers>

#include "elements/element.hpp"
#include "elements/machine_parameters.hpp"

namespace emt {
namespace {
/// The shaft as given, or one mass.
std::vector<Mass> read_shaft(Reader& in) {
    const auto inertia = [](Reader& from) { return from.number("h", Range::positive, "inertia constant, s"); };
    const auto damping = [](Reader& from) { return from.number("damping", Range::not_negative, "torque per deviation of speed, per unit", 0); };
    if (!in.has("shaft")) return {{inertia(in), 1, damping(in), 0, 0, true}};
    in.refuse({"h", "damping"}, "give either 'shaft' or 'h' and 'damping'");
    std::vector<Mass> out;
    in.each("shaft", "masses", 1, kMasses, "each joined to the next", [&](Reader& mass) {
        out.push_back({inertia(mass), mass.number("share", Range::not_negative, "of the mechanical torque", 0), damping(mass),
                       mass.optional("spring", Range::positive, "to the next mass, torque per electrical radian, per unit").value_or(0),
                       mass.number("spring_damping", Range::not_negative, "of the coupling, torque per difference of speed, per unit", 0),
                       mass.flag("generator", "whether this mass is its rotor")});
    });
    return out;
}

void check_shaft(const std::vector<Mass>& shaft, bool turbine, Reporter& report) {
    if (shaft.empty()) return;  // not read
    int generators = 0;
    double share = 0;
    for (const Mass& m : shaft) {
        generators += m.generator ? 1 : 0;
        share += m.share;
        const bool last = &m == &shaft.back();
        if (last != (m.spring == 0) || (last && m.between != 0))
            report("wrong-shaft", "each mass of 'shaft' but the last needs a 'spring' to the next one");
    }
    if (generators != 1) report("wrong-shaft", "one mass of 'shaft', not " + std::to_string(generators) + ", must have \"generator\": true");
    if (turbine && !(std::abs(share - 1) < 1e-9)) report("wrong-shaft", "the 'share' of all masses of 'shaft' must add up to 1");
}

Conversion read_conversion(Reader& in) {
    const std::string name = in.optional_choice("parameters", {"exact", "classical"}, "how the circuit of the rotor follows from the reactances and time constants");
    return name == "exact" ? Conversion::exact : Conversion::classical;
}

class SynchronousMachineElement final : public Element {
public:
    SynchronousMachineElement(Reader& in, bool condenser)
        : condenser_(condenser),
          name_(in.name()),
          bus_(in.bus("bus")),
          rated_va_(in.number("rated_power", Range::positive, "VA")),
          rated_v_(in.number("rated_voltage", Range::positive, "V r.m.s., line to line")),
          conversion_(read_conversion(in)),
          ra_(in.number("ra", Range::not_negative, "armature, per unit of the rating, as all resistances and reactances")),
          xl_(in.number("xl", Range::positive, "leakage")),
          d_{in.number("xd", Range::positive, "Xd"), in.number("xd1", Range::positive, "X'd"), in.number("xd2", Range::positive, "X''d"),
             in.number("td10", Range::positive, "T'd0, s"), in.number("td20", Range::positive, "T''d0, s"), true},
          q_{in.number("xq", Range::positive, "Xq"), in.optional("xq1", Range::positive, "X'q of a round rotor").value_or(0),
             in.number("xq2", Range::positive, "X''q"), in.optional("tq10", Range::positive, "T'q0 of a round rotor, s").value_or(0),
             in.number("tq20", Range::positive, "T''q0, s"), false},
          r0_(in.optional("r0", Range::not_negative, "zero sequence; ra, if left out").value_or(ra_)),
          x0_(in.optional("x0", Range::positive, "zero sequence with the neutral's impedance, which is isolated without it").value_or(0)),
          s10_(in.number("s10", Range::not_negative, "saturation S at flux 1.0", 0)),
          s12_(in.number("s12", Range::not_negative, "saturation S at flux 1.2", 0)),
          shaft_(read_shaft(in)),
          v_(in.number("v", Range::positive, "terminal voltage before t = 0, V r.m.s., line to line")),
          angle_(in.optional("angle", Range::any, "of phase a's voltage, degrees of a cosine; where it is not held a first guess")) {
        q_.transient = q_.x1 > 0;
        in.together("xq1", "tq10", "a round rotor needs 'xq1' and 'tq10', salient poles neither");
        in.together("s10", "s12", "saturation needs 's10' and 's12'");
        in.needs("r0", "x0", "'r0' has a meaning only with 'x0'");
        if (condenser_) {
            in.refuse({"p"}, "a condenser delivers no power: leave 'p' out");
        } else {
            p_ = in.optional("p", Range::any, "power delivered before t = 0, W; without it the machine holds its angle");
            in.at_least_one({"p", "angle"}, Range::any, "missing-key", "needs 'p', or 'angle' to hold it and deliver what the others do not");
        }
        check_shaft(shaft_, !condenser_, in.report());
    }

    void lower(Network& net, Reporter& report) const override {
        if (!net.steady_start) {
            report("contradiction", "a machine needs \"start\": \"steady\"");
            return;
        }
        const double omega = 2 * std::numbers::pi * net.frequency_hz;
        const auto d = rotor_circuit(d_, xl_, omega, conversion_), q = rotor_circuit(q_, xl_, omega, conversion_);
        if (!d || !q)
            report("machine-parameters", std::string("no circuit has the parameters of the ") + (d ? "q" : "d") +
                                             " axis: needs xl < X'' < X' < X and T'0 > T''0 by enough of a distance");
        const auto saturation = saturation_curve(s10_, s12_);
        if (!saturation)
            report("machine-parameters", "no curve B(ψ - A)²/ψ has these 's10' and 's12': 's12' must be more than 1.2 times 's10'");
        if (!d || !q || !saturation) return;
        const double v_base = rated_v_ * std::sqrt(2.0 / 3), i_base = rated_va_ * 2 / (3 * v_base);
        SynchronousMachine out{};
        out.node = bus_;
        out.number = static_cast<int>(net.machines.size());
        out.name = name_;
        out.v_base = v_base;
        out.i_base = i_base;
        out.k = omega * net.dt_s / 2;
        out.ra = ra_;
        out.xl = xl_;
        out.d = *d;
        out.q = *q;
        out.grounded = x0_ > 0;
        out.r0 = r0_;
        out.x0 = x0_;
        out.saturation = *saturation;
        out.saturation.both_axes = q_.transient;
        out.shaft = shaft_;
        out.dispatch = {!condenser_ && !p_, v_ * std::sqrt(2.0 / 3), angle_.value_or(0) / 360, angle_.has_value(), p_.value_or(0), condenser_};
        out.reads = {net.signals.read_if_made(name_ + ".efd"), net.signals.read_if_made(name_ + ".pm")};
        constexpr std::array<const char*, kPublished> kNames{".speed", ".vt", ".pe", ".ifd", ".angle"};
        for (std::size_t i = 0; i < kNames.size(); ++i) out.publishes[i] = net.signals.make(name_ + kNames[i], name_);
        choose_tangent(out, report);
        net.machines.push_back(std::move(out));
        for (std::size_t k = 0; k < 3; ++k)
            net.channels.add(k, 3, "i", Channel::Quantity::current, {{Carried::By::machine, net.machines.size() - 1, static_cast<int>(k)}});
    }
    [[nodiscard]] Census census() const override { return {.machines = condenser_ ? 0 : 1, .condensers = condenser_ ? 1 : 0}; }

private:
    /// The network's solution contains the saturation current tangent·ψ; the remainder is extrapolated. If the flux
    /// answers a current by g times it, the extrapolation is stable for slopes of the remainder between -1/g and
    /// 1/(3g). With a tangent of three quarters of the largest slope, that slope may be 4/3/g. The largest expected
    /// slope is the one at a flux of 1.5.
    static void choose_tangent(SynchronousMachine& m, Reporter& report) {
        constexpr double kFlux = 1.5;
        const double slope = 2 * m.saturation.b * (kFlux - m.saturation.a) / m.d.main;
        m.saturation.tangent = 0.75 * slope;
        const double answer = std::max(m.solved(m.d).rest(m.k), m.saturation.both_axes ? m.solved(m.q).rest(m.k) : 0);
        if (slope * answer > 4.0 / 3)
            report("machine-parameters", "the saturation at a flux of 1.5 is too steep for X'' - xl: 's12' must be smaller or 'xl' nearer to 'xd2'");
    }

    bool condenser_;
    std::string name_;
    Nodes3 bus_;
    double rated_va_, rated_v_;
    Conversion conversion_;
    double ra_, xl_;        // per unit
    AxisParameters d_, q_;
    double r0_, x0_;        // per unit; 0: the neutral is isolated
    double s10_, s12_;
    std::vector<Mass> shaft_;
    double v_;              // V r.m.s., line to line
    std::optional<double> angle_, p_{};  // degrees, W
};

template <bool condenser>
std::unique_ptr<Element> make_synchronous(Reader& in) {
    return std::make_unique<SynchronousMachineElement>(in, condenser);
}
}  // namespace
ElementType synchronous_machine_element() { return {"synchronous_machine", make_synchronous<false>}; }
ElementType synchronous_condenser_element() { return {"synchronous_condenser", make_synchronous<true>}; }
}  // namespace emt
