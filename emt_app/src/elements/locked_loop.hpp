// A phase-locked loop as part of an element.
#pragma once
#include <cmath>
#include <numbers>
#include <string>

#include "elements/reader.hpp"

namespace emt {

class LockedLoop {
public:
    /// Reads PREFIXnatural_frequency and PREFIXdamping.
    LockedLoop(Reader& in, const std::string& prefix)
        : natural_hz_(in.number(prefix + "natural_frequency", Range::positive, "of the closed loop, Hz", 8)),
          damping_(in.number(prefix + "damping", Range::positive, "of the closed loop", std::numbers::sqrt2 / 2)) {}

    /// Returns the signals of angle and frequency, "NAME.angle" and "NAME.frequency". The error is 2π times the angle's
    /// error in turns, hence s² + 2π·k_p·s + 2π·k_i = s² + 2ζω·s + ω². The loop slows below 0.1 of the rated voltage.
    [[nodiscard]] std::array<int, 2> lower(Network& net, const std::string& name, const Nodes3& bus, double rated_v) const {
        const std::array<int, 2> signals{net.signals.make(name + ".angle", name), net.signals.make(name + ".frequency", name)};
        net.phase_locked_loops.push_back({{}, bus, 2 * damping_ * natural_hz_, 2 * std::numbers::pi * natural_hz_ * natural_hz_,
                                          0.1 * rated_v * std::sqrt(2.0 / 3), signals});
        return signals;
    }

private:
    double natural_hz_, damping_;
};

}  // namespace emt
