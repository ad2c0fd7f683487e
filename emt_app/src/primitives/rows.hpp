// Memory layout of the elements of a batch.
//
// A batch holds up to kLanes tasks side by side: every quantity is a row of kLanes doubles, one for each task. Each kind of
// primitive has a structure of such rows, XxxRows. The program fills it, and the kernels walk it. Plain pointers only:
// the kernels are compiled once per instruction set, and inline library code must not leak from there into the program.
#pragma once
#include <initializer_list>

namespace emt {

inline constexpr int kLanes = 8;

/// The number of an absent signal.
inline constexpr int kNoSignal = -1;

/// Terminals of the elements of one kind: offsets into v and j (row · kLanes + lane), per slot, terminal and lane.
/// `uniform[slot]` is 1 if all lanes use the same rows, which then need no gather.
template <int Terminals>
struct Slots {
    static constexpr int kTerminals = Terminals;
    int count = 0;
    const int* offset = nullptr;
    const unsigned char* uniform = nullptr;
};

/// Coefficients that differ between the kinds of step: [kTrapezoidal] and [kHalfEuler].
struct StepRows {
    const double* of[2];
    const double* operator[](int kind) const { return of[kind]; }
};
inline constexpr int kTrapezoidal = 0;
inline constexpr int kHalfEuler = 1;  // backward Euler over half a step

/// Rows of the nodes: voltage v, V, and right-hand side j, A. The row after the last node is ground. A signal is in the
/// row `published` of the element that makes it; its readers have offsets from `signals`.
struct NodeRows {
    const double* v;
    double* j;
    const double* signals;
};

/// Primitives with one history h: h_{n+1} is a times the driving quantity, plus b·h_n.
template <int Terminals>
struct CompanionRows {
    Slots<Terminals> at;
    double* h;
    StepRows a, b;
    template <class Layout>
    void lay_out(Layout& l) {
        l.written(h, at.count);
        l.step(a, at.count);
        l.step(b, at.count);
    }
};

struct StepClock {
    double cos_old, sin_old, cos_new, sin_new;  // cos and sin of ωt before and after the step
    double t_old;                               // before the step, s
};

}  // namespace emt
