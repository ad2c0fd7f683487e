// Transposed three-phase line: Bergeron travelling waves in the modes 0, α, β, lossy by lumped R/4 – R/2 – R/4.
//
// Per mode, with Z = sqrt(L'/C'), τ = length·sqrt(L'·C') and the wave b = v + (Z - R/4)·i of each end, the history
// current of end k is
//   I_k(t) = - Z/(Z+R/4)²·b_m(t-τ) - (R/4)/(Z+R/4)²·b_k(t-τ)
// (Dommel 1969; EMTP Theory Book, ch. 4). τ is rarely a whole number of steps: with "delay": "linear" the waves are
// interpolated, which attenuates by about cos(ωΔt/2) per transit at the worst; "integer" rounds τ to whole steps.
// A line that takes at least one step in every mode decouples its ends: they may belong to different tasks.
#include <cmath>

#include "elements/element.hpp"

namespace emt {
namespace {
constexpr int kLongestDelay = 1 << 20;  // steps; the waves of this many steps take 50 MB

class LineElement final : public Element {
public:
    explicit LineElement(Reader& in)
        : from_(in.bus("from")),
          to_(in.bus("to")),
          length_(in.number("length", Range::positive, "m")),
          linear_(in.optional_choice("delay", {"linear", "integer"}, "of the waves, interpolated or rounded to whole steps") == "linear") {
        for (std::size_t m = 0; m < 2; ++m) {
            const std::string k = m == 0 ? "0" : "1", sequence = m == 0 ? ", zero sequence" : ", positive sequence";
            r_[m] = in.number("r" + k, Range::not_negative, "ohm/m" + sequence);
            l_[m] = in.number("l" + k, Range::positive, "H/m" + sequence);
            c_[m] = in.number("c" + k, Range::positive, "F/m" + sequence);
        }
    }
    void lower(Network& net, Reporter& report) const override {
        Line line{.end = {from_, to_}, .mode = {}};
        for (std::size_t m = 0; m < 2; ++m) {
            const double steps = length_ * std::sqrt(l_[m] * c_[m]) / net.dt_s;
            const double whole = std::round(steps);
            // A delay within rounding of a whole number of steps needs no interpolation.
            const bool exact = std::abs(steps - whole) <= 1e-9 * steps;
            const double d = linear_ && !exact ? std::floor(steps) : whole;
            if (!(d <= kLongestDelay)) {
                report("line-too-long", "mode " + std::to_string(m) + " takes " + std::to_string(steps) + " steps; at most " + std::to_string(kLongestDelay) + " are kept");
                continue;
            }
            line.mode[m] = {std::sqrt(l_[m] / c_[m]), r_[m] * length_, static_cast<int>(d),
                            linear_ && !exact ? steps - d : 0};
            if (d < 1)
                report("line-shorter-than-step",
                       "mode " + std::to_string(m) + " takes " + std::to_string(steps * net.dt_s * 1e6) +
                           " us, less than the step of " + std::to_string(net.dt_s * 1e6) +
                           " us: use a shorter step, or coupled_rl with capacitors for this line");
            if (line.mode[m].r / 4 >= line.mode[m].z)
                report("line-too-lossy", "a quarter of the resistance reaches the surge impedance: split the line");
        }
        net.lines.push_back(line);
        for (int k = 0; k < 6; ++k)
            net.channels.add(std::string(k < 3 ? "from." : "to.") + "abc"[k % 3] + ".i", Channel::Quantity::current,
                             {{Carried::By::line, net.lines.size() - 1, k}});
    }
    [[nodiscard]] Census census() const override { return {.lines = 1}; }

private:
    Nodes3 from_, to_;
    double length_;                   // m
    bool linear_;
    std::array<double, 2> r_, l_, c_; // per metre: ohm, H, F; [0] zero, [1] positive sequence
};
}  // namespace
ElementType line_element() { return {"line", make<LineElement>}; }
}  // namespace emt
