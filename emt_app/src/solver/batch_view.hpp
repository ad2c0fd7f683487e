// A batch as the kernels see it: plain pointers only (primitives/rows.hpp says why).
#pragma once
#include "primitives/block.hpp"
#include "primitives/line.hpp"
#include "primitives/piecewise.hpp"
#include "primitives/reactance.hpp"
#define EMT_PRIMITIVE(Type, list)
#include "primitives/table.inc"

namespace emt {

struct BatchView {
    int n;                       // rows of nodes; row n is ground
    double *v, *j;               // V and A
    unsigned long long* digest;  // of all voltages so far
    const double* signals;       // where offsets of signals begin
    double* nothing;             // a row of zeros, for signals that are not there
    bool sparse;                 // solved with factors
    double* inverse;             // n × n rows, ohm; none when sparse
    double* columns;             // when sparse: n rows for each terminal that compensate() puts a current into
    ReactanceRows reactances;
#define EMT_PRIMITIVE(Type, list) Type##Rows list;
#include "primitives/table.inc"
    BlockRows blocks;
    LineRows ends;
    PiecewiseRows piecewise;
};

inline constexpr unsigned kAllLanes = (1U << kLanes) - 1;

struct StopWatch;

struct Kernels {
    const char* name;
    /// Histories and right-hand side j of the next step, from v of the last one; `kind` indexes StepRows.
    void (*assemble)(const BatchView&, const StepClock&, int kind);
    /// v = inverse·j.
    void (*solve)(const BatchView&);
    /// Adds to v what elements with conductances that change with each step, which are not in the inverse, make of it; in the
    /// lanes of these bits.
    void (*compensate)(const BatchView&, unsigned lanes);
    /// Bit per lane that has a piecewise element outside its segment.
    unsigned (*outside)(const BatchView&);
    /// Waves to send, digest. Bit per lane whose solution is not finite.
    unsigned (*finish)(const BatchView&);
    /// assemble, solve, compensate, outside and finish in one pass. Returns lanes outside << kLanes (and then has not finished) or
    /// the result of finish.
    unsigned (*advance)(const BatchView&, const StepClock&);
    /// assemble of an ordinary step and finish, which read the clock after each part.
    void (*assemble_in_parts)(const BatchView&, const StepClock&, StopWatch&);
    unsigned (*finish_in_parts)(const BatchView&, StopWatch&);
    /// Stores the waves of step n and computes the histories of step n + 1, for lines local to the rank.
    void (*lines_both)(const LineJob*, int count, unsigned step);
    /// Stores the waves of the local end of cut lines.
    void (*lines_store)(const LineJob*, int count, unsigned step);
    /// Histories of step n + 1 at the local end of cut lines.
    void (*lines_load)(const LineJob*, int count, unsigned step);
};

/// The kernels of the best instruction set this processor has, or of the one called `name`; null when not available.
const Kernels* find_kernels(const char* name);

}  // namespace emt
