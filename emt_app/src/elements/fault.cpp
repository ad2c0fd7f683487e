// Fault at a bus. "kind" names the connected phases (ag, bg, cg, ab, bc, ca, abg, bcg, cag, abc, abcg) from "start" to
// "stop": each to ground, or each pair of them, through the resistance "r". It clears path by path at a current zero.
// It does not count as a switch of Table I.
#include "elements/element.hpp"

namespace emt {
namespace {
class Fault final : public Element {
public:
    explicit Fault(Reader& in)
        : name_(in.name()),
          bus_(in.bus("bus")),
          kind_(in.choice("kind", {"ag", "bg", "cg", "ab", "bc", "ca", "abg", "bcg", "cag", "abc", "abcg"}, "phases that are joined, with g to ground")),
          r_(in.number("r", Range::positive, "of each path, ohm", 0.1)),
          start_(in.number("start", Range::not_negative, "s")),
          stop_(in.optional("stop", Range::positive, "s; never, if left out").value_or(0)) {
        if (stop_ > 0 && stop_ <= start_) in.report()("times-not-ascending", "'stop' must be later than 'start'");
    }
    void lower(Network& net, Reporter&) const override {
        std::vector<int> phases;
        for (const char c : kind_)
            if (c != 'g') phases.push_back(bus_[static_cast<std::size_t>(c - 'a')]);
        std::vector<std::pair<double, bool>> times{{start_, true}};
        if (stop_ > 0) times.emplace_back(stop_, false);
        const bool grounded = kind_.ends_with('g');
        const std::size_t paths = !grounded && phases.size() == 2 ? 1 : phases.size();
        for (std::size_t k = 0; k < paths; ++k) {
            const int q = grounded ? kGround : phases[(k + 1) % phases.size()];
            net.switches.push_back({{phases[k], q}, 1 / r_, 0, false, true, times, name_});
            // A path is named after its phases: F.a.i to ground, F.ab.i between two.
            const std::string path = std::string(1, kind_[k]) + (grounded ? "" : std::string(1, kind_[(k + 1) % phases.size()]));
            for (const auto& [what, quantity] : {std::pair(".i", Channel::Quantity::current), std::pair(".u", Channel::Quantity::voltage),
                                                 std::pair(".state", Channel::Quantity::state)})
                net.channels.add(path + what, quantity, {{Carried::By::pole, net.switches.size() - 1}});
        }
    }
    [[nodiscard]] Census census() const override { return {}; }

private:
    std::string name_;
    Nodes3 bus_;
    std::string kind_;
    double r_, start_, stop_;  // ohm, s, s
};
}  // namespace
ElementType fault_element() { return {"fault", make<Fault>}; }
}  // namespace emt
