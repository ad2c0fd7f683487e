// The joint equations of the machines of one task with sparse factors: one lane, vectors along the rows of the matrix.
#pragma once
#ifdef EMT_KERNEL
#include "primitives/vector.hpp"
#endif

namespace emt {

/// (1 + Pᵀ·Z·P)·y = Pᵀ·v₀, see compensate() of the synchronous machine. Each column of P is a direction α·(1, -½, -½) + β·(0, 1, -1)
/// at three nodes. Columns are padded to `rows` > `count`; row `count` has the right-hand side.
struct JointEquations {
    int count, rows;
    const double* response;   // of each direction's nodes, to currents in α and β there: 4 columns, αα, αβ, βα, ββ (to, from)
    const double *alpha, *beta;  // of each direction, √S; zero beyond
    double* matrix;           // count columns
    double* reciprocal;       // of the pivots
    double* y;                // first the right-hand side, then the solution
};

}  // namespace emt

#ifdef EMT_KERNEL
namespace emt::EMT_KERNEL {

/// Eliminated columns that are subtracted from the others together.
inline constexpr int kPanel = 8;

/// Subtracts the panel's columns in ascending order from `Columns` columns from `to` on, rows of these and later ones.
template <int Columns>
[[gnu::always_inline]] inline void subtract_panel(const JointEquations& e, int panel, int to) {
    const long vectors = e.rows / kLanes;
    double factor[Columns][kPanel];
    for (int c = 0; c < Columns; ++c)
        for (int k = 0; k < kPanel; ++k) factor[c][k] = e.matrix[static_cast<long>(panel + k) * e.rows + to + c] * e.reciprocal[panel + k];
    for (long r = to / kLanes; r < vectors; ++r) {
        Vec sum[Columns];
        for (int c = 0; c < Columns; ++c) sum[c] = row(e.matrix, (to + c) * vectors + r);
        for (int k = 0; k < kPanel; ++k) {
            const Vec known = row(e.matrix, (panel + k) * vectors + r);
            for (int c = 0; c < Columns; ++c) sum[c] -= factor[c][k] * known;
        }
        for (int c = 0; c < Columns; ++c) row(e.matrix, (to + c) * vectors + r) = sum[c];
    }
}

// The matrix is symmetric with eigenvalues of 1 and more: elimination without pivoting, of the lower triangle and the entries beside it in
// its vectors. The right-hand side is a row like any other.
[[gnu::always_inline]] inline void solve_joint(const JointEquations& e) {
    const long vectors = e.rows / kLanes;
    for (int s = 0; s < e.count; ++s) {
        const double alpha = e.alpha[s], beta = e.beta[s];
        for (long r = s / kLanes; r < vectors; ++r) {
            const double* const z = e.response + 4L * s * e.rows;
            const Vec to_alpha = row(z, r) * alpha + row(z, vectors + r) * beta;
            const Vec to_beta = row(z, 2 * vectors + r) * alpha + row(z, 3 * vectors + r) * beta;
            row(e.matrix, s * vectors + r) = row(e.alpha, r) * to_alpha + row(e.beta, r) * to_beta;
        }
        e.matrix[static_cast<long>(s) * e.rows + s] += 1.0;
        e.matrix[static_cast<long>(s) * e.rows + e.count] = e.y[s];
    }
    for (int panel = 0; panel < e.count; panel += kPanel) {
        const int end = panel + kPanel < e.count ? panel + kPanel : e.count;
        for (int c = panel; c < end; ++c) {
            for (int k = panel; k < c; ++k) {
                const double factor = e.matrix[static_cast<long>(k) * e.rows + c] * e.reciprocal[k];
                for (long r = c / kLanes; r < vectors; ++r) row(e.matrix, c * vectors + r) -= factor * row(e.matrix, k * vectors + r);
            }
            e.reciprocal[c] = 1.0 / e.matrix[static_cast<long>(c) * e.rows + c];
        }
        int to = end;
        for (; to + 2 <= e.count; to += 2) subtract_panel<2>(e, panel, to);
        if (to < e.count) subtract_panel<1>(e, panel, to);
    }
    for (long r = 0; r < vectors; ++r) row(e.y, r) = Vec{};
    for (int m = e.count - 1; m >= 0; --m) {
        Vec sum{};
        for (long r = m / kLanes; r < vectors; ++r) sum += row(e.matrix, m * vectors + r) * row(e.y, r);  // y is zero at m and before
        const double known = ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
        e.y[m] = (e.matrix[static_cast<long>(m) * e.rows + e.count] - known) * e.reciprocal[m];
    }
}

}  // namespace emt::EMT_KERNEL
#endif
