// A batch as the kernels see it: plain pointers only (for the reason, see primitives/rows.hpp).
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
    const double* signals;       // origin of the offsets of signals
    double* nothing;             // a row of zeros, for absent signals
    bool sparse;                 // solved with factors: the next two are empty
    double* inverse;             // n × n rows, ohm
    double* joint;               // compensate()'s equations of all machines: their number² and their right-hand side
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
    /// Corrects v, in the lanes of these bits, for elements whose conductances change with each step and are not in the
    /// inverse. For batches with inverses.
    void (*compensate)(const BatchView&, unsigned lanes);
    /// Returns a bit per lane that has a piecewise element outside its segment.
    unsigned (*outside)(const BatchView&);
    /// Computes waves to send and digest. Returns a bit per lane whose solution is not finite.
    unsigned (*finish)(const BatchView&);
    /// Does assemble, solve, compensate, outside and finish in one pass. Returns lanes outside << kLanes (then without
    /// finish) or the result of finish.
    unsigned (*advance)(const BatchView&, const StepClock&);
    /// Does assemble of an ordinary step, or finish, and reads the clock after each part.
    void (*assemble_in_parts)(const BatchView&, const StepClock&, StopWatch&);
    unsigned (*finish_in_parts)(const BatchView&, StopWatch&);
    /// Stores the waves of step n and computes the histories of step n + 1, for lines local to the rank.
    void (*lines_both)(const LineJob*, int count, unsigned step);
    /// Stores the waves of the local end of cut lines.
    void (*lines_store)(const LineJob*, int count, unsigned step);
    /// Computes histories of step n + 1 at the local end of cut lines.
    void (*lines_load)(const LineJob*, int count, unsigned step);
};

/// Returns the kernels of this processor's best instruction set, or of the instruction set `name`; null if unavailable.
const Kernels* find_kernels(const char* name);

}  // namespace emt
