// A first-order lag of a measured quantity, as a signal: T·y' = x - y.
#ifndef EMT_PRIMITIVES_LAG_HPP
#define EMT_PRIMITIVES_LAG_HPP
#include "primitives/measuring.hpp"

namespace emt {

template <int Terminals>
struct LagRows : CompanionRows<Terminals>, MeasuringRows {  // h: history of the output
    double* published;                                      // the output
    const double* g;
    template <class Layout>
    void lay_out(Layout& l) {
        CompanionRows<Terminals>::lay_out(l);
        l.written(published, this->at.count);
        l.constant(g, this->at.count);
    }
};

#ifdef EMT_KERNEL
namespace EMT_KERNEL {

// The trapezoidal rule (Dommel 1969, as for an R–L branch with R = 1 and L = T): y_n = g·x_n + h_n, h_{n+1} = a·x_n + b·h_n with the
// coefficients of companion_lag().
template <int Terminals>
[[gnu::always_inline]] inline void publish_lag(const LagRows<Terminals>& b, int s, int kind, const Vec& x) {
    const Vec h = row(b.h, s);
    row(b.published, s) = row(b.g, s) * x + h;
    row(b.h, s) = row(b.a[kind], s) * x + row(b.b[kind], s) * h;
}

}  // namespace EMT_KERNEL
#else

/// The coefficients of one lane; the output is `scale` times the lag's.
template <int Terminals>
void start_lag(const LaneStart& lane, const LagRows<Terminals>& rows, int slot, double g, const Companion& c, double scale = 1) {
    lane.at(rows.g, slot) = scale * g;
    lane.step(rows.a, slot, scale * c.a, scale * c.a_be);
    lane.step(rows.b, slot, c.b, c.b_be);
}
#endif

}  // namespace emt
#endif
