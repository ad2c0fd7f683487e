// One-phase ideal current source that drives its current out of "from" and into "to".
#include "elements/all.hpp"

namespace emt {
namespace {
class CurrentSource final : public Element {
public:
    explicit CurrentSource(Reader& in)
        : to_(in.node("to")), from_(in.has("from") ? in.node("from") : kGround), wave_(in.waveform()) {}
    void lower(Network& net, Reporter&) const override {
        Coupled3 out{.p = {to_, kGround, kGround}, .q = {from_, kGround, kGround}};
        out.current[0] = wave_;
        net.coupled.push_back(out);
    }
    [[nodiscard]] Census census() const override { return {}; }

private:
    int to_, from_;
    Waveform wave_;  // A
};
}  // namespace
std::unique_ptr<Element> make_current_source(Reader& in) { return std::make_unique<CurrentSource>(in); }
}  // namespace emt
