// Valves, one phase or three: a diode conducts from its first node (anode) to its second (cathode), a thyristor only after it has
// been fired; a pair of antiparallel thyristors conducts both ways. They open when their current becomes zero. Instants lie inside the
// steps (parallel/engine_instants.cpp). Closed they are the resistance "r_on", open "r_off" (nothing when left out: give what would
// be cut off a path of its own, as snubbers do). Thyristors are fired by pulses at given times, or by a signal "gate": the instant from
// which the gate is on, in steps after the beginning of the coming step, as blocks of the kind "firing" make it.
#include "elements/element.hpp"

namespace emt {
namespace {
constexpr std::string_view kDiode = R"({"allOf": [{"$ref": "#/$defs/terminals"}], "properties": {
        "r_on": {"$ref": "#/$defs/positive"},
        "r_off": {"$ref": "#/$defs/positive"}}})";
/// With what a kind of thyristor has besides.
std::string thyristor_schema(const std::string& more) {
    return R"({"allOf": [{"$ref": "#/$defs/terminals"}], "oneOf": [{"required": ["start", "width"]}, {"required": ["gate"]}], "properties": {
        "r_on": {"$ref": "#/$defs/positive"},
        "r_off": {"$ref": "#/$defs/positive"},
        "gate": {"$ref": "#/$defs/signal", "description": "from when on the gate is on, in steps after the beginning of the coming step: on at 0 or less, not in this step above 1"},
        "start": {"$ref": "#/$defs/not_negative", "description": "of the first pulse on the gate, s"},
        "period": {"$ref": "#/$defs/positive", "description": "from pulse to pulse, s; without it that of the case's frequency"},
        "width": {"$ref": "#/$defs/positive", "description": "of a pulse, s"})" + more + "}}";
}

class ValveElement final : public Element {
public:
    ValveElement(Reader& in, Valve valve)
        : valve_(valve),
          name_(in.name()),
          ends_(in.terminals()),
          r_on_(in.number("r_on", Reader::Range::positive, 1e-3)),
          r_off_(in.number("r_off", Reader::Range::positive, 0)) {
        if (valve == Valve::diode) return;
        if (valve == Valve::pair) gentle_below_ = in.number("gentle_below", Reader::Range::positive, gentle_below_);
        if (in.has("gate"))
            gate_ = in.signal("gate");
        else
            firing_ = {in.number("start", Reader::Range::not_negative), in.number("period", Reader::Range::positive, 0),
                       in.number("width", Reader::Range::positive)};
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
ElementType diode_element() { return {"diode", make_valve<Valve::diode>, kDiode}; }
ElementType thyristor_element() {
    static const std::string schema = thyristor_schema("");
    return {"thyristor", make_valve<Valve::thyristor>, schema};
}
ElementType thyristor_pair_element() {
    static const std::string schema = thyristor_schema(R"(,
        "gentle_below": {"$ref": "#/$defs/positive", "description": "V: closes only at a zero of its voltage, or at a minimum below this"})");
    return {"thyristor_pair", make_valve<Valve::pair>, schema};
}
}  // namespace emt
