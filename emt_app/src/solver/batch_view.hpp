// Raw view of a batch for the kernels. Plain pointers only: the kernels are compiled once per instruction set, and
// inline library code must not leak from there into the rest of the program.
//
// A batch holds up to kLanes tasks side by side: every quantity is a row of kLanes doubles, one per task.
#pragma once

namespace emt {

inline constexpr int kLanes = 8;

/// Where an element's terminals are: offsets into v and j (row · kLanes + lane), per slot, terminal and lane.
/// `uniform[slot]` is 1 when all lanes use the same rows, which then need no gather.
struct SlotIndex {
    int count;
    const int* offset;
    const unsigned char* uniform;
};

/// Coefficients of one kind of step (trapezoidal or half backward Euler).
struct StepCoefficients {
    const double *branch_a, *branch_b;
    const double *rlc_e1, *rlc_f1, *rlc_e2;          // y1' = e1·i + f1·y1, y2' = e2·i + y2
    const double *coupled_a, *coupled_b;             // 9 rows a slot
    const double *coupled_ae;                        // 6 rows a slot: A·e, real and imaginary part
    const double *transformer_a, *transformer_b;
    const double *piecewise_a, *piecewise_b;
    const double *meter_a, *meter_b;
    double layer_scale, capacitor_keep;              // 1 and -1, or ½ and 0
};

struct BatchView {
    int n;  // rows of nodes; row n is ground
    // state
    double *v, *j, *inductor, *capacitor;
    unsigned long long* digest;
    double* inverse;
    double *branch_h, *rlc_y1, *rlc_y2, *coupled_h, *coupled_e, *coupled_j, *transformer_h;
    double *line_history, *line_wave, *line_previous;  // 3 rows a slot: modes 0, α, β
    double *piecewise_x, *piecewise_low, *piecewise_high, *piecewise_slope, *piecewise_offset;
    double* meter_h;
    // constants
    const double *inductive2, *capacitive2;            // 2g per node
    const double* rlc_g;
    const double* coupled_ge;                          // 6 rows a slot: G·e, real and imaginary part
    const double *transformer_ratio, *transformer_m1, *transformer_m2;
    const double *line_y, *line_beta, *line_fraction;  // 2 rows a slot: zero sequence; α and β
    const double* piecewise_gain;
    StepCoefficients step[2];                          // trapezoidal, half backward Euler
    SlotIndex branch, rlc, coupled, transformer, line, piecewise, meter;
};

struct StepClock {
    double cos_old, sin_old, cos_new, sin_new;  // cos and sin of ωt before and after the step
};

/// One line, seen from the rank: where its ends' waves and histories are (null when the end is on another rank) and its
/// rings of past waves.
struct LineJob {
    double* wave[2];     // interpolated waves of each end; modes are kLanes apart
    double* history[2];
    double* ring1;       // per step: α and β of end 0, α and β of end 1
    double* ring0;       // per step: end 0, end 1
    unsigned mask1, mask0, delay1, delay0;
    double far1, near1, far0, near0;
};

struct Kernels {
    const char* name;
    /// Histories and right-hand side j of the next step, from v of the last one; `kind` indexes BatchView::step.
    void (*assemble)(const BatchView&, const StepClock&, int kind);
    /// v = inverse·j.
    void (*solve)(const BatchView&);
    /// Bit per lane that has a piecewise element outside its segment.
    unsigned (*outside)(const BatchView&);
    /// Waves to send, digest. Bit per lane whose solution is not finite.
    unsigned (*finish)(const BatchView&);
    /// assemble, solve, outside and finish in one pass. Returns lanes outside << kLanes (and then has not finished) or
    /// the result of finish.
    unsigned (*advance)(const BatchView&, const StepClock&);
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
