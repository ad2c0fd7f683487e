// Control block: its output is the signal with its name, one value a step from the values of its inputs at the same instant.
//
// "kind" says what it is. Limits "low" and "high" hold the state of an integrator or a lag ("windup": true limits the output alone).
// A constant without a value takes what the steady start asks of it; "initial" is the output of an integrator or a lag at t = 0.
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
    const auto low = in.optional("low", Range::any, ""), high = in.optional("high", Range::any, "");
    const Bound bottom(low.value_or(-kUnlimited), low ? "low" : ""), top(high.value_or(kUnlimited), high ? "high" : "");
    if (!(bottom.value <= top.value)) in.report()("out-of-range", "'low' must not be above 'high'");
    b.draft = std::move(b.draft).limits(bottom, top);
    return b;
}

/// One input, times "gain".
NamedBlock scaled(Reader& in, Block::Operation operation = Block::Operation::sum, std::string_view unit = {}) {
    return with_inputs(operation, {in.signal("input")}, {in.number("gain", Range::any, unit, 1)});
}

/// With a state that is its output.
NamedBlock with_state(Reader& in, NamedBlock b) {
    b = limited(in, std::move(b));
    if (in.flag("windup", "the limits are of the output alone")) std::swap(b.draft.block.hold, b.draft.block.clip);
    b.draft.block.initial = in.optional("initial", Range::any, "output at t = 0");
    return b;
}

NamedBlock source(Reader& in, std::string_view meaning) {
    NamedBlock b = with_inputs(Block::Operation::sum, {}, {});
    b.draft.block.constant = in.number("value", Range::any, meaning, 0);
    return b;
}

NamedBlock read_constant(Reader& in) {
    const std::optional<double> value = in.optional("value", Range::any, "if left out, what the steady start asks for");
    const bool steady = in.steady_start();
    if (!steady && !value) in.report()("missing-key", "needs the number 'value': only a steady start finds one");
    NamedBlock b = with_inputs(Block::Operation::sum, {}, {});
    b.draft.block.constant = value.value_or(0);
    b.draft.block.open = steady && !value;
    return b;
}
NamedBlock read_step(Reader& in) {
    NamedBlock b = source(in, "before");
    // The mean over a step around each instant: from half a step before to half a step after.
    const double time = in.number("time", Range::not_negative, "s; need not be a whole step");
    b.draft.block.ramp = {in.number("amplitude", Range::any, ""), time - in.dt_s() / 2, in.dt_s()};
    return b;
}
NamedBlock read_ramp(Reader& in) {
    NamedBlock b = source(in, "before");
    const double time = in.number("time", Range::not_negative, "s");
    b.draft.block.ramp = {in.number("amplitude", Range::any, ""), time, in.number("duration", Range::positive, "s")};
    return b;
}
NamedBlock read_sine(Reader& in) {
    NamedBlock b = source(in, "mean");
    const double amplitude = in.number("amplitude", Range::any, ""), frequency = in.number("frequency", Range::positive, "Hz");
    b.draft.block.sine = {amplitude, frequency, in.number("phase", Range::any, "degrees of a cosine", 0) / 360};
    return b;
}
NamedBlock read_gain(Reader& in) { return limited(in, scaled(in)); }
NamedBlock read_sum(Reader& in) {
    const std::vector<std::string> inputs = in.signals("inputs", "", 1, kBlockInputs);
    NamedBlock b = with_inputs(Block::Operation::sum, inputs, in.weights("weights", "of each input; 1, if left out", inputs.size()));
    b.draft.block.constant = in.number("constant", Range::any, "added to the sum", 0);
    return limited(in, std::move(b));
}
NamedBlock read_product(Reader& in) {
    return limited(in, with_inputs(Block::Operation::product, in.signals("inputs", "", 2, kBlockInputs), {in.number("gain", Range::any, "", 1)}));
}
NamedBlock read_quotient(Reader& in) {
    return limited(in, with_inputs(Block::Operation::quotient, in.signals("inputs", "the first by the second", 2, 2), {in.number("gain", Range::any, "", 1)}));
}
NamedBlock read_minimum(Reader& in) { return limited(in, with_inputs(Block::Operation::minimum, in.signals("inputs", "", 2, kBlockInputs), {})); }
NamedBlock read_maximum(Reader& in) { return limited(in, with_inputs(Block::Operation::maximum, in.signals("inputs", "", 2, kBlockInputs), {})); }
NamedBlock read_absolute(Reader& in) { return limited(in, scaled(in, Block::Operation::absolute)); }
NamedBlock read_root(Reader& in) { return limited(in, scaled(in, Block::Operation::root)); }
NamedBlock read_table(Reader& in) {
    NamedBlock b = with_inputs(Block::Operation::table, {in.signal("input")}, {});
    in.table("points", b.draft.block.table_x, b.draft.block.table_y);
    return b;
}
NamedBlock read_comparison(Reader& in) {
    NamedBlock b = with_inputs(Block::Operation::comparison, {in.signal("input")}, {});
    b.draft.block.on = in.number("on", Range::any, "1 above it");
    b.draft.block.off = in.optional("off", Range::any, "0 below it; on, if left out").value_or(b.draft.block.on);
    if (!(b.draft.block.off <= b.draft.block.on)) in.report()("out-of-range", "'off' must not be above 'on'");
    return b;
}
NamedBlock read_selection(Reader& in) {
    std::vector<std::string> inputs = in.signals("inputs", "the first where the selector is above 0.5", 2, 2);
    inputs.push_back(in.signal("selector"));
    return with_inputs(Block::Operation::selection, std::move(inputs), {});
}
NamedBlock read_integrator(Reader& in) {
    NamedBlock b = scaled(in, Block::Operation::sum, "1/s");
    b.draft = std::move(b.draft).integral(1);
    return with_state(in, std::move(b));
}
NamedBlock read_lag(Reader& in) {
    NamedBlock b = scaled(in);
    b.draft = std::move(b.draft).lag(1, in.number("time_constant", Range::positive, "s"));
    return with_state(in, std::move(b));
}
NamedBlock read_lead_lag(Reader& in) {
    NamedBlock b = scaled(in);
    const double lead = in.number("lead", Range::not_negative, "s");
    b.draft = std::move(b.draft).lead_lag(lead, in.number("lag", Range::positive, "s"));
    return limited(in, std::move(b));
}
NamedBlock read_washout(Reader& in) {
    NamedBlock b = scaled(in);
    b.draft = std::move(b.draft).washout(1, in.number("time_constant", Range::positive, "s"));
    return limited(in, std::move(b));
}
NamedBlock read_rate_limiter(Reader& in) {
    NamedBlock b = with_inputs(Block::Operation::sum, {in.signal("input")}, {});
    const double up = in.number("up", Range::positive, "per second");
    b.draft = std::move(b.draft).rates(in.optional("down", Range::positive, "per second; up, if left out").value_or(up), up);
    return b;
}

NamedBlock read_firing(Reader& in) {
    const double period = in.number("period", Range::positive, "of the pulses, degrees", 180),
                 always = in.number("always", Range::not_negative, "the gate is always on at delays up to this, degrees", 0),
                 end = in.optional("end", Range::positive, "of a pulse, degrees after a multiple of the period; at longer delays there is none; the period, if left out").value_or(period),
                 phase = in.number("phase", Range::any, "added to the angle, degrees", 0);
    if (!(always < end && end <= period)) in.report()("out-of-range", "'always' must be below 'end', and this not above 'period'");
    NamedBlock b = with_inputs(Block::Operation::firing, {in.signal("angle", "of a phase_locked_loop, turns"), in.signal("rate", "its frequency, Hz"),
                                                           in.signal("delay", "of the pulse after a multiple of the period, degrees")}, {1, 1, 1 / period});
    b.draft.block.pulses = {in.frequency_hz(), phase / 360, period / 360, always / period, end / period, in.dt_s()};
    return b;
}

struct BlockKind {
    const char* name;
    NamedBlock (*read)(Reader&);
};
constexpr BlockKind kBlockKinds[]{{"constant", read_constant}, {"step", read_step}, {"ramp", read_ramp}, {"sine", read_sine}, {"gain", read_gain},
                        {"sum", read_sum}, {"product", read_product}, {"quotient", read_quotient}, {"minimum", read_minimum},
                        {"maximum", read_maximum}, {"absolute", read_absolute}, {"root", read_root}, {"table", read_table},
                        {"comparison", read_comparison}, {"selection", read_selection}, {"firing", read_firing}, {"integrator", read_integrator}, {"lag", read_lag},
                        {"lead_lag", read_lead_lag}, {"washout", read_washout}, {"rate_limiter", read_rate_limiter}};

NamedBlock read_kind(Reader& in) {
    std::vector<std::string> names;
    for (const BlockKind& k : kBlockKinds) names.emplace_back(k.name);
    const std::string kind = in.choice("kind", names);
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
ElementType block_element() { return {"block", make<BlockElement>}; }
}  // namespace emt
