// Three coupled RL branches between two buses, with symmetric 3 × 3 matrices: [u] = [R][i] + [L]d[i]/dt. With a negative
// eigenvalue in either, the branches would be a source of energy and the voltages would grow without bound.
#include "elements/element.hpp"

namespace emt {
namespace {
class CoupledRl final : public Element {
public:
    explicit CoupledRl(Reader& in)
        : from_(in.bus("from")),
          to_(in.bus_or_ground("to")),
          r_(in.matrix("r", "ohm, symmetric, no negative eigenvalue")),
          l_(in.matrix("l", "H, symmetric, no negative eigenvalue")) {}
    void lower(Network& net, Reporter& report) const override {
        for (const auto& [key, m] : {std::pair("'r'", &r_), std::pair("'l'", &l_)})
            if (!passive(*m))
                report("not-positive", std::string(key) + " has a negative eigenvalue: its diagonal is negative, or too small for the mutual values");
        Coupled3 c{.node = {from_[0], from_[1], from_[2], to_[0], to_[1], to_[2]}};
        if (!companion_coupled(r_, l_, net.dt_s, c))
            report("singular-matrix", "R + 2L/dt is singular: the branches are not independent");
        net.coupled.push_back(c);
        for (std::size_t k = 0; k < 3; ++k)
            net.channels.add(k, 3, "i", Channel::Quantity::current, {{Carried::By::coupled, net.coupled.size() - 1, static_cast<int>(k)}});
    }
    [[nodiscard]] Census census() const override { return {.rlc = 3}; }

private:
    Nodes3 from_, to_;
    Mat3 r_, l_;  // ohm, H
};
}  // namespace
ElementType coupled_rl_element() { return {"coupled_rl", make<CoupledRl>}; }
}  // namespace emt
