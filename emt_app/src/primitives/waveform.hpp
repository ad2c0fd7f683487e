// Time functions of sources, in volts or amperes.
//
// A source that starts (or steps) at t0 keeps its old value at t0 itself and has the new value just after it, so that
// the step that begins at t0 can be treated as a discontinuity (see parallel/engine.cpp).
#pragma once
#include <complex>

#include "base/elementary.hpp"

namespace emt {

/// Times of a step, for parts without vectors.
struct StepTimes {
    double old_s, new_s;
    bool jumped = false;  // its state is that just after a jump at old_s
};

struct Waveform {
    enum class Shape { none, sine, step, double_exponential };
    Shape shape = Shape::none;
    double amplitude = 0;       // peak, V or A
    double frequency_hz = 0;    // sine
    double phase_turns = 0;     // sine: amplitude·cos(2π(ft + phase))
    double start_s = -1;        // zero up to and including this time; negative: always on
    double tau_front_s = 0;     // double exponential: A·(exp(-t/tail) - exp(-t/front))
    double tau_tail_s = 0;

    [[nodiscard]] double at(double t_s) const {
        // The tolerance absorbs the rounding of step·dt against a start time written in decimal.
        return shape == Shape::none || (start_s >= 0 && t_s <= start_s * (1 + 1e-12) + 1e-15) ? 0 : on(t_s);
    }
    /// Returns the same, but the new value at the start itself.
    [[nodiscard]] double just_after(double t_s) const {
        return shape == Shape::none || (start_s >= 0 && t_s < start_s * (1 - 1e-12) - 1e-15) ? 0 : on(t_s);
    }
    /// Returns the value of a started source, whatever `start_s`.
    [[nodiscard]] double on(double t_s) const {
        const double since = start_s > 0 ? t_s - start_s : t_s;
        switch (shape) {
            case Shape::sine: return amplitude * cos_sin(frequency_hz * t_s + phase_turns).cos;
            case Shape::step: return amplitude;
            case Shape::double_exponential:
                return amplitude * (exponential(-since / tau_tail_s) - exponential(-since / tau_front_s));
            case Shape::none: break;
        }
        return 0;
    }
    /// Returns the value at the end of a step that begins at t_old_s. A source that starts inside the step is still
    /// off: the step is repeated from that instant (parallel/engine_instants.cpp).
    [[nodiscard]] double after(double t_old_s, double t_new_s) const {
        return start_s - t_old_s > kAtStep * (t_new_s - t_old_s) ? 0 : at(t_new_s);
    }
    /// Part of a step: a start closer to its beginning counts as at the beginning.
    static constexpr double kAtStep = 4e-6;
    /// Returns true for a sine that is always on at the case's frequency: part of the phasor solution.
    [[nodiscard]] bool steady(double frequency) const {
        return shape == Shape::sine && start_s < 0 && frequency_hz == frequency;
    }
    [[nodiscard]] std::complex<double> phasor() const { return amplitude * unit_phasor(phase_turns); }
};

}  // namespace emt
