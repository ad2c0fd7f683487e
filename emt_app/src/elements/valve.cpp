// Valves, one phase or three. A diode conducts from its first node (anode) to its second (cathode), a thyristor only
// after it was fired, a pair of antiparallel thyristors both ways. They open when their current becomes zero; these
// instants lie inside the steps (parallel/engine_instants.cpp). Closed, they are the resistance "r_on"; open, "r_off"
// (nothing if left out: then give nodes that would be cut off their own path, such as a snubber). Pulses at given times
// fire a thyristor, or a signal "gate": the instant from which the gate is on, in steps after the beginning of the
// coming step, as blocks of the kind "firing" give it.
#include "elements/element.hpp"

namespace emt {
namespace {
class ValveElement final : public Element {
public:
    ValveElement(Reader& in, Valve valve)
        : valve_(valve),
          name_(in.name()),
          ends_(in.terminals()),
          r_on_(in.number("r_on", Range::positive, "ohm", 1e-3)),
          r_off_(in.optional("r_off", Range::positive, "ohm; none, if left out").value_or(0)) {
        if (valve == Valve::diode) return;
        if (valve == Valve::pair)
            gentle_below_ = in.optional("gentle_below", Range::positive, "V: closes only at a zero of its voltage, or at a minimum below this").value_or(gentle_below_);
        if (in.has("gate"))
            gate_ = in.signal("gate", "from when on the gate is on, in steps after the beginning of the coming step: on at 0 or less, not in this step above 1");
        else
            firing_ = {in.number("start", Range::not_negative, "of the first pulse on the gate, s"),
                       in.optional("period", Range::positive, "from pulse to pulse, s; the period of the case's frequency, if left out").value_or(0),
                       in.number("width", Range::positive, "of a pulse, s")};
    }
    void lower(Network& net, Reporter& report) const override {
        Firing firing = firing_;
        if (firing.period_s == 0) firing.period_s = 1 / net.frequency_hz;
        if (firing.width_s > firing.period_s) report("out-of-range", "'width' must not be longer than the period");
        const int gate = gate_.empty() ? kNoSignal : net.signals.read(gate_, name_);
        for (const Nodes2& ends : ends_)
            net.switches.push_back({ends, 1 / r_on_, r_off_ > 0 ? 1 / r_off_ : 0, false, false, {}, name_, valve_, firing, {gate}, gentle_below_});
        net.channels.add_branches(Carried::By::pole, net.switches.size(), ends_.size());
        net.channels.add("state", Channel::Quantity::state, Carried::By::pole, net.switches.size(), ends_.size());
    }
    [[nodiscard]] Census census() const override { return {}; }

private:
    Valve valve_;
    std::string name_, gate_{};
    std::vector<Nodes2> ends_;
    double r_on_, r_off_;  // ohm
    double gentle_below_ = std::numeric_limits<double>::infinity();  // V
    Firing firing_{};
};
template <Valve valve>
std::unique_ptr<Element> make_valve(Reader& in) {
    return std::make_unique<ValveElement>(in, valve);
}
}  // namespace
ElementType diode_element() { return {"diode", make_valve<Valve::diode>}; }
ElementType thyristor_element() { return {"thyristor", make_valve<Valve::thyristor>}; }
ElementType thyristor_pair_element() { return {"thyristor_pair", make_valve<Valve::pair>}; }
}  // namespace emt
