// One-phase ideal current source that drives its current out of "from" and into "to".
#include "elements/element.hpp"

namespace emt {
namespace {
class CurrentSource final : public Element {
public:
    explicit CurrentSource(Reader& in)
        : to_(in.node("to", "node into which the current flows")), from_(in.optional_node("from", "node from which it flows")), wave_(in.waveform()) {}
    void lower(Network& net, Reporter&) const override {
        Coupled3 out{.node = {to_, kGround, kGround, from_, kGround, kGround}};
        out.current[0] = wave_;
        net.coupled.push_back(out);
        net.channels.add("i", Channel::Quantity::current, {{Carried::By::coupled, net.coupled.size() - 1, 0, -1}});
    }
    [[nodiscard]] Census census() const override { return {}; }

private:
    int to_, from_;
    Waveform wave_;  // A
};
}  // namespace
ElementType current_source_element() { return {"current_source", make<CurrentSource>}; }
}  // namespace emt
