// Balanced three-phase sources behind sequence impedances, connected star with grounded neutral:
//   "source"     an equivalent of the rest of the system;
//   "machine"    stand-in of a synchronous machine: constant EMF behind its subtransient impedance;
//   "condenser"  the same for a synchronous condenser.
// With Zs = (Z0 + 2·Z1)/3 on the diagonal and Zm = (Z0 - Z1)/3 off it, the phase impedances follow from the sequence
// values (EMTP Theory Book, H. W. Dommel, 1986, ch. 3). A signal may drive the three EMFs: they have no zero sequence.
#include "elements/element.hpp"

namespace emt {
namespace {
enum class Role { source, machine, condenser };

Mat3 from_sequence(double zero, double positive) {
    const double s = (zero + 2 * positive) / 3, m = (zero - positive) / 3;
    return {s, m, m, m, s, m, m, m, s};
}

class Source final : public Element {
public:
    Source(Reader& in, Role role)
        : name_(in.name()),
          role_(role),
          bus_(in.bus("bus")),
          r1_(in.number("r1", Range::not_negative, "positive sequence, ohm")),
          l1_(in.number("l1", Range::not_negative, "positive sequence, H")),
          r0_(in.optional("r0", Range::not_negative, "zero sequence, ohm; r1, if left out").value_or(r1_)),
          l0_(in.optional("l0", Range::not_negative, "zero sequence, H; l1, if left out").value_or(l1_)),
          wave_(in.source_wave()) {
        if ((r1_ == 0 && l1_ == 0) || (r0_ == 0 && l0_ == 0))
            in.report()("ideal-source", "needs an impedance greater than zero in both sequences (Norton equivalent)");
        if (wave_.wave.shape != Waveform::Shape::sine)
            in.rule_out("unknown-choice", "'shape' must be sine for a three-phase source");
    }
    void lower(Network& net, Reporter& report) const override {
        Coupled3 out{.node = {bus_[0], bus_[1], bus_[2], kGround, kGround, kGround}};
        if (!companion_coupled(from_sequence(r0_, r1_), from_sequence(l0_, l1_), net.dt_s, out))
            report("singular-matrix", "the source impedance is singular");
        std::array<Waveform, 3> phase{wave_.wave, wave_.wave, wave_.wave};
        for (std::size_t k = 0; k < 3; ++k) phase[k].phase_turns -= static_cast<double>(k) / 3;
        if (!wave_.driven()) out.emf = phase;
        net.coupled.push_back(out);
        const auto [g, c] = companion_rl(r1_, l1_, net.dt_s);
        for (std::size_t k = 0; k < 3; ++k) {
            std::vector<Carried> current{{Carried::By::coupled, net.coupled.size() - 1, static_cast<int>(k), -1}};
            if (wave_.driven()) {
                net.driven_sources.push_back({{bus_[k], kGround}, g, c, phase[k], {net.signals.read(wave_.signal, name_)}});
                current.push_back({Carried::By::driven, net.driven_sources.size() - 1});
            }
            net.channels.add(k, 3, "i", Channel::Quantity::current, std::move(current));
        }
    }
    [[nodiscard]] Census census() const override {
        return {.machines = role_ == Role::machine, .condensers = role_ == Role::condenser};
    }
    [[nodiscard]] std::string simplified() const override {
        return role_ == Role::source ? "" : "constant EMF behind subtransient impedance, no shaft, no controls";
    }

private:
    std::string name_;
    Role role_;
    Nodes3 bus_;
    double r1_, l1_, r0_, l0_;  // ohm, H
    SourceWave wave_;           // V peak, phase to ground
};
template <Role role>
std::unique_ptr<Element> make_source(Reader& in) {
    return std::make_unique<Source>(in, role);
}
}  // namespace
ElementType source_element() { return {"source", make_source<Role::source>}; }
ElementType machine_element() { return {"machine", make_source<Role::machine>}; }
ElementType condenser_element() { return {"condenser", make_source<Role::condenser>}; }
}  // namespace emt
