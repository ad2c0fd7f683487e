// Control block: its output is the signal with its name, one value a step from the values of its inputs at the same instant.
//
// "kind" says what it is; the keys of each kind are in its schema. Limits "low" and "high" hold the state of an integrator or a
// lag ("windup": true limits the output alone). A constant without a value takes what the steady start asks of it; "initial" is
// the output of an integrator or a lag at t = 0.
#include <algorithm>

#include "elements/diagram.hpp"
#include "elements/element.hpp"

namespace emt {
namespace {

/// A block whose inputs are still names.
struct NamedBlock {
    std::vector<std::string> inputs;
    BlockDraft draft;
};

NamedBlock with_inputs(Block::Operation operation, std::vector<std::string> inputs, std::vector<double> weights) {
    BlockDraft::Terms terms;
    weights.resize(inputs.size(), 1);
    for (const double w : weights) terms.emplace_back(w, kNoSignal);
    return {std::move(inputs), BlockDraft(operation, terms)};
}

NamedBlock limited(Reader& in, NamedBlock b) {
    const double low = in.number("low", Reader::Range::any, -kUnlimited), high = in.number("high", Reader::Range::any, kUnlimited);
    if (!(low <= high)) in.report()("out-of-range", "'low' must not be above 'high'");
    b.draft = std::move(b.draft).limits({low, in.has("low") ? "low" : ""}, {high, in.has("high") ? "high" : ""});
    return b;
}

/// One input, times "gain".
NamedBlock scaled(Reader& in, Block::Operation operation = Block::Operation::sum) {
    return with_inputs(operation, {in.signal("input")}, {in.number("gain", Reader::Range::any, 1)});
}

/// With a state that is its output.
NamedBlock with_state(Reader& in, NamedBlock b) {
    b = limited(in, std::move(b));
    if (in.flag("windup", false)) std::swap(b.draft.block.hold, b.draft.block.clip);
    if (in.has("initial")) b.draft.block.initial = in.number("initial", Reader::Range::any);
    return b;
}

NamedBlock source(Reader& in) {
    NamedBlock b = with_inputs(Block::Operation::sum, {}, {});
    b.draft.block.constant = in.number("value", Reader::Range::any, 0);
    return b;
}

NamedBlock read_constant(Reader& in) {
    NamedBlock b = source(in);
    b.draft.block.open = in.steady_start() && !in.has("value");
    if (!in.steady_start() && !in.has("value")) in.report()("missing-key", "needs the number 'value': only a steady start finds one");
    return b;
}
NamedBlock read_step(Reader& in) {
    NamedBlock b = source(in);
    // The mean over a step around each instant: from half a step before to half a step after.
    const double time = in.number("time", Reader::Range::not_negative);
    b.draft.block.ramp = {in.number("amplitude", Reader::Range::any), time - in.dt_s() / 2, in.dt_s()};
    return b;
}
NamedBlock read_ramp(Reader& in) {
    NamedBlock b = source(in);
    const double time = in.number("time", Reader::Range::not_negative);
    b.draft.block.ramp = {in.number("amplitude", Reader::Range::any), time, in.number("duration", Reader::Range::positive)};
    return b;
}
NamedBlock read_sine(Reader& in) {
    NamedBlock b = source(in);
    const double amplitude = in.number("amplitude", Reader::Range::any), frequency = in.number("frequency", Reader::Range::positive);
    b.draft.block.sine = {amplitude, frequency, in.number("phase", Reader::Range::any, 0) / 360};
    return b;
}
NamedBlock read_gain(Reader& in) { return limited(in, scaled(in)); }
NamedBlock read_sum(Reader& in) {
    const std::vector<std::string> inputs = in.signals("inputs", 1, kBlockInputs);
    NamedBlock b = with_inputs(Block::Operation::sum, inputs, in.numbers("weights", inputs.size()));
    b.draft.block.constant = in.number("constant", Reader::Range::any, 0);
    return limited(in, std::move(b));
}
NamedBlock read_product(Reader& in) {
    return limited(in, with_inputs(Block::Operation::product, in.signals("inputs", 2, kBlockInputs), {in.number("gain", Reader::Range::any, 1)}));
}
NamedBlock read_quotient(Reader& in) {
    return limited(in, with_inputs(Block::Operation::quotient, in.signals("inputs", 2, 2), {in.number("gain", Reader::Range::any, 1)}));
}
NamedBlock read_minimum(Reader& in) { return limited(in, with_inputs(Block::Operation::minimum, in.signals("inputs", 2, kBlockInputs), {})); }
NamedBlock read_maximum(Reader& in) { return limited(in, with_inputs(Block::Operation::maximum, in.signals("inputs", 2, kBlockInputs), {})); }
NamedBlock read_absolute(Reader& in) { return limited(in, scaled(in, Block::Operation::absolute)); }
NamedBlock read_root(Reader& in) { return limited(in, scaled(in, Block::Operation::root)); }
NamedBlock read_table(Reader& in) {
    NamedBlock b = with_inputs(Block::Operation::table, {in.signal("input")}, {});
    in.table("points", b.draft.block.table_x, b.draft.block.table_y);
    return b;
}
NamedBlock read_comparison(Reader& in) {
    NamedBlock b = with_inputs(Block::Operation::comparison, {in.signal("input")}, {});
    b.draft.block.on = in.number("on", Reader::Range::any);
    b.draft.block.off = in.number("off", Reader::Range::any, b.draft.block.on);
    if (!(b.draft.block.off <= b.draft.block.on)) in.report()("out-of-range", "'off' must not be above 'on'");
    return b;
}
NamedBlock read_selection(Reader& in) {
    std::vector<std::string> inputs = in.signals("inputs", 2, 2);
    inputs.push_back(in.signal("selector"));
    return with_inputs(Block::Operation::selection, std::move(inputs), {});
}
NamedBlock read_integrator(Reader& in) {
    NamedBlock b = scaled(in);
    b.draft = std::move(b.draft).integral(1);
    return with_state(in, std::move(b));
}
NamedBlock read_lag(Reader& in) {
    NamedBlock b = scaled(in);
    b.draft = std::move(b.draft).lag(1, in.number("time_constant", Reader::Range::positive));
    return with_state(in, std::move(b));
}
NamedBlock read_lead_lag(Reader& in) {
    NamedBlock b = scaled(in);
    const double lead = in.number("lead", Reader::Range::not_negative);
    b.draft = std::move(b.draft).lead_lag(lead, in.number("lag", Reader::Range::positive));
    return limited(in, std::move(b));
}
NamedBlock read_washout(Reader& in) {
    NamedBlock b = scaled(in);
    b.draft = std::move(b.draft).washout(1, in.number("time_constant", Reader::Range::positive));
    return limited(in, std::move(b));
}
NamedBlock read_rate_limiter(Reader& in) {
    NamedBlock b = with_inputs(Block::Operation::sum, {in.signal("input")}, {});
    const double up = in.number("up", Reader::Range::positive);
    b.draft = std::move(b.draft).rates(in.number("down", Reader::Range::positive, up), up);
    return b;
}

NamedBlock read_firing(Reader& in) {
    const double period = in.number("period", Reader::Range::positive, 180), always = in.number("always", Reader::Range::not_negative, 0),
                 end = in.number("end", Reader::Range::positive, period), phase = in.number("phase", Reader::Range::any, 0);
    if (!(always < end && end <= period)) in.report()("out-of-range", "'always' must be below 'end', and this not above 'period'");
    NamedBlock b = with_inputs(Block::Operation::firing, {in.signal("angle"), in.signal("rate"), in.signal("delay")}, {1, 1, 1 / period});
    b.draft.block.pulses = {in.frequency_hz(), phase / 360, period / 360, always / period, end / period, in.dt_s()};
    return b;
}

struct BlockKind {
    const char* name;
    NamedBlock (*read)(Reader&);
};
// In the order of the schema.
constexpr BlockKind kBlockKinds[]{{"constant", read_constant}, {"step", read_step}, {"ramp", read_ramp}, {"sine", read_sine}, {"gain", read_gain},
                        {"sum", read_sum}, {"product", read_product}, {"quotient", read_quotient}, {"minimum", read_minimum},
                        {"maximum", read_maximum}, {"absolute", read_absolute}, {"root", read_root}, {"table", read_table},
                        {"comparison", read_comparison}, {"selection", read_selection}, {"firing", read_firing}, {"integrator", read_integrator}, {"lag", read_lag},
                        {"lead_lag", read_lead_lag}, {"washout", read_washout}, {"rate_limiter", read_rate_limiter}};

constexpr std::string_view kBlockSchema = R"({"required": ["kind"], "properties": {"kind": {"type": "string"}}, "oneOf": [
    {"properties": {"kind": {"const": "constant"}, "value": {"type": "number", "description": "without it what the steady start asks for"}}},
    {"required": ["amplitude", "time"], "properties": {"kind": {"const": "step"}, "value": {"type": "number", "description": "before"}, "amplitude": {"type": "number"}, "time": {"$ref": "#/$defs/not_negative", "description": "s; need not be a whole step"}}},
    {"required": ["amplitude", "time", "duration"], "properties": {"kind": {"const": "ramp"}, "value": {"type": "number", "description": "before"}, "amplitude": {"type": "number"}, "time": {"$ref": "#/$defs/not_negative", "description": "s"}, "duration": {"$ref": "#/$defs/positive", "description": "s"}}},
    {"required": ["amplitude", "frequency"], "properties": {"kind": {"const": "sine"}, "value": {"type": "number", "description": "mean"}, "amplitude": {"type": "number"}, "frequency": {"$ref": "#/$defs/positive", "description": "Hz"}, "phase": {"type": "number", "description": "degrees of a cosine"}}},
    {"required": ["input"], "properties": {"kind": {"enum": ["gain", "absolute", "root"]}, "input": {"$ref": "#/$defs/signal"}, "gain": {"type": "number"}, "low": {"type": "number"}, "high": {"type": "number"}}},
    {"required": ["inputs"], "properties": {"kind": {"const": "sum"}, "inputs": {"type": "array", "items": {"$ref": "#/$defs/signal"}, "minItems": 1, "maxItems": 4}, "weights": {"type": "array", "items": {"type": "number"}}, "constant": {"type": "number"}, "low": {"type": "number"}, "high": {"type": "number"}}},
    {"required": ["inputs"], "properties": {"kind": {"const": "product"}, "inputs": {"type": "array", "items": {"$ref": "#/$defs/signal"}, "minItems": 2, "maxItems": 4}, "gain": {"type": "number"}, "low": {"type": "number"}, "high": {"type": "number"}}},
    {"required": ["inputs"], "properties": {"kind": {"const": "quotient"}, "inputs": {"type": "array", "items": {"$ref": "#/$defs/signal"}, "minItems": 2, "maxItems": 2}, "gain": {"type": "number"}, "low": {"type": "number"}, "high": {"type": "number"}}},
    {"required": ["inputs"], "properties": {"kind": {"enum": ["minimum", "maximum"]}, "inputs": {"type": "array", "items": {"$ref": "#/$defs/signal"}, "minItems": 2, "maxItems": 4}, "low": {"type": "number"}, "high": {"type": "number"}}},
    {"required": ["input", "points"], "properties": {"kind": {"const": "table"}, "input": {"$ref": "#/$defs/signal"}, "points": {"$ref": "#/$defs/points"}}},
    {"required": ["input", "on"], "properties": {"kind": {"const": "comparison"}, "input": {"$ref": "#/$defs/signal"}, "on": {"type": "number", "description": "1 above it"}, "off": {"type": "number", "description": "0 below it; on, if left out"}}},
    {"required": ["inputs", "selector"], "properties": {"kind": {"const": "selection"}, "inputs": {"type": "array", "items": {"$ref": "#/$defs/signal"}, "minItems": 2, "maxItems": 2, "description": "the first where the selector is above 0.5"}, "selector": {"$ref": "#/$defs/signal"}}},
    {"required": ["angle", "rate", "delay"], "properties": {"kind": {"const": "firing"}, "angle": {"$ref": "#/$defs/signal", "description": "of a phase_locked_loop, turns"}, "rate": {"$ref": "#/$defs/signal", "description": "its frequency, Hz"}, "delay": {"$ref": "#/$defs/signal", "description": "of the pulse after a multiple of the period, degrees"}, "phase": {"type": "number", "description": "added to the angle, degrees"}, "period": {"$ref": "#/$defs/positive", "description": "of the pulses, degrees; 180"}, "always": {"$ref": "#/$defs/not_negative", "description": "the gate is always on at delays up to this, degrees"}, "end": {"$ref": "#/$defs/positive", "description": "of a pulse, degrees after a multiple of the period; at longer delays there is none; the period, if left out"}}},
    {"required": ["input"], "properties": {"kind": {"const": "integrator"}, "input": {"$ref": "#/$defs/signal"}, "gain": {"type": "number", "description": "1/s"}, "low": {"type": "number"}, "high": {"type": "number"}, "windup": {"type": "boolean"}, "initial": {"type": "number"}}},
    {"required": ["input", "time_constant"], "properties": {"kind": {"const": "lag"}, "input": {"$ref": "#/$defs/signal"}, "gain": {"type": "number"}, "time_constant": {"$ref": "#/$defs/positive", "description": "s"}, "low": {"type": "number"}, "high": {"type": "number"}, "windup": {"type": "boolean"}, "initial": {"type": "number"}}},
    {"required": ["input", "lead", "lag"], "properties": {"kind": {"const": "lead_lag"}, "input": {"$ref": "#/$defs/signal"}, "gain": {"type": "number"}, "lead": {"$ref": "#/$defs/not_negative", "description": "s"}, "lag": {"$ref": "#/$defs/positive", "description": "s"}, "low": {"type": "number"}, "high": {"type": "number"}}},
    {"required": ["input", "time_constant"], "properties": {"kind": {"const": "washout"}, "input": {"$ref": "#/$defs/signal"}, "gain": {"type": "number"}, "time_constant": {"$ref": "#/$defs/positive", "description": "s"}, "low": {"type": "number"}, "high": {"type": "number"}}},
    {"required": ["input", "up"], "properties": {"kind": {"const": "rate_limiter"}, "input": {"$ref": "#/$defs/signal"}, "up": {"$ref": "#/$defs/positive", "description": "per second"}, "down": {"$ref": "#/$defs/positive", "description": "per second; up, if left out"}}}]})";

NamedBlock read_kind(Reader& in) {
    std::vector<std::string> names;
    for (const BlockKind& k : kBlockKinds) names.emplace_back(k.name);
    const std::string kind = in.choice("kind", names, "");
    return std::find_if(std::begin(kBlockKinds), std::end(kBlockKinds), [&](const BlockKind& k) { return kind == k.name; })->read(in);
}

class BlockElement final : public Element {
public:
    explicit BlockElement(Reader& in) : name_(in.name()), named_(read_kind(in)) {}
    void lower(Network& net, Reporter&) const override {
        Diagram diagram(net, name_);
        BlockDraft draft = named_.draft;
        for (std::size_t k = 0; k < named_.inputs.size(); ++k) draft.block.reads[k] = diagram.read(named_.inputs[k]);
        diagram.add_as(name_, std::move(draft));
    }
    [[nodiscard]] Census census() const override { return {.control = 1}; }

private:
    std::string name_;
    NamedBlock named_;
};
}  // namespace
ElementType block_element() { return {"block", make<BlockElement>, kBlockSchema}; }
}  // namespace emt
