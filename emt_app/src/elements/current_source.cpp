// One-phase ideal current source that drives its current out of "from" and into "to". A signal may drive it.
#include "elements/element.hpp"

namespace emt {
namespace {
class CurrentSource final : public Element {
public:
    explicit CurrentSource(Reader& in)
        : name_(in.name()), to_(in.node("to", "node into which the current flows")), from_(in.optional_node("from", "node from which it flows")), wave_(in.source_wave()) {}
    void lower(Network& net, Reporter&) const override {
        if (wave_.driven()) {
            net.driven_sources.push_back({{to_, from_}, 1, {}, wave_.wave, {net.signals.read(wave_.signal, name_)}});
            net.channels.add("i", Channel::Quantity::current, {{Carried::By::driven, net.driven_sources.size() - 1}});
            return;
        }
        Coupled3 out{.node = {to_, kGround, kGround, from_, kGround, kGround}};
        out.current[0] = wave_.wave;
        net.coupled.push_back(out);
        net.channels.add("i", Channel::Quantity::current, {{Carried::By::coupled, net.coupled.size() - 1, 0, -1}});
    }
    [[nodiscard]] Census census() const override { return {}; }

private:
    std::string name_;
    int to_, from_;
    SourceWave wave_;  // A
};
}  // namespace
ElementType current_source_element() { return {"current_source", make<CurrentSource>}; }
}  // namespace emt
