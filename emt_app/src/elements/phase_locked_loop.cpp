// Phase-locked loop on a bus. It makes the signal NAME.angle, the angle of the positive sequence relative to the case's
// frequency in turns of a cosine, and the signal NAME.frequency, Hz. "natural_frequency" and "damping" belong to its
// linear closed loop.
#include "elements/element.hpp"
#include "elements/locked_loop.hpp"

namespace emt {
namespace {
class PhaseLockedLoopElement final : public Element {
public:
    explicit PhaseLockedLoopElement(Reader& in)
        : name_(in.name()), bus_(in.bus("bus")), rated_v_(in.number("rated_voltage", Range::positive, "V r.m.s., line to line")), loop_(in, "") {}
    void lower(Network& net, Reporter&) const override { static_cast<void>(loop_.lower(net, name_, bus_, rated_v_)); }
    [[nodiscard]] Census census() const override { return {.control = 1}; }

private:
    std::string name_;
    Nodes3 bus_;
    double rated_v_;  // V r.m.s., line to line
    LockedLoop loop_;
};
}  // namespace
ElementType phase_locked_loop_element() { return {"phase_locked_loop", make<PhaseLockedLoopElement>}; }
}  // namespace emt
