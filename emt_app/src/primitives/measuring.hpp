// Common part of primitives that only read the network: they inject nothing and are no admittance.
#ifndef EMT_PRIMITIVES_MEASURING_HPP
#define EMT_PRIMITIVES_MEASURING_HPP
#include "primitives/primitive.hpp"

namespace emt {

struct MeasuringRows {};

#ifdef EMT_KERNEL
namespace EMT_KERNEL {

[[gnu::always_inline]] inline void assemble(const MeasuringRows&, const NodeRows&, int, const StepClock&) {}

}  // namespace EMT_KERNEL
#else

struct Measuring {
    template <class Matrix>
    void stamp(Matrix&) const {}
    void stamp_phasor(PhasorEquations&) const {}
};
#endif

}  // namespace emt
#endif
