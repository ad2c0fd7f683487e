// Time functions of sources, in volts or amperes.
//
// A source that starts (or steps) at t0 keeps its old value at t0 itself and has the new one just after it, so that
// the step that begins at t0 can be taken as the discontinuity it is (see parallel/engine.cpp).
#pragma once
#include <complex>

#include "base/elementary.hpp"

namespace emt {

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
        if (shape == Shape::none || (start_s >= 0 && t_s <= start_s * (1 + 1e-12) + 1e-15)) return 0;
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
    /// True for a sine that is always on at the case's own frequency: part of the phasor solution.
    [[nodiscard]] bool steady(double frequency) const {
        return shape == Shape::sine && start_s < 0 && frequency_hz == frequency;
    }
    [[nodiscard]] std::complex<double> phasor() const { return amplitude * unit_phasor(phase_turns); }
};

}  // namespace emt
