// Admittance matrices, entry by entry; primitives stamp themselves into them.
#pragma once
#include <array>
#include <complex>
#include <vector>

namespace emt {

inline constexpr int kGround = -1;
using Nodes2 = std::array<int, 2>;
using Nodes3 = std::array<int, 3>;
using Nodes6 = std::array<int, 6>;
using Complex = std::complex<double>;
using Mat3 = std::array<double, 9>;  // row-major 3 × 3

/// Branches as entries of a matrix. `Matrix` derives from this and has add(i, j, y) for nodes that are not ground.
template <class Matrix>
class Admittances {
public:
    template <class Y>
    void entry(int i, int j, const Y& y) {
        if (i != kGround && j != kGround) static_cast<Matrix*>(this)->add(i, j, y);
    }
    /// Adds a branch between two nodes.
    template <class Y>
    void pair(const Nodes2& node, const Y& y) {
        entry(node[0], node[0], y);
        entry(node[1], node[1], y);
        entry(node[0], node[1], -y);
        entry(node[1], node[0], -y);
    }
    /// Adds y(i, k) at row node[first + i] and column node[second + k], for i, k of 0 … 2.
    template <std::size_t N, class Y>
    void block(const std::array<int, N>& node, std::size_t first, std::size_t second, const Y& y) {
        for (std::size_t i = 0; i < 3; ++i)
            for (std::size_t k = 0; k < 3; ++k) entry(node[first + i], node[second + k], y(i, k));
    }
    /// Adds three coupled branches, from the first three nodes to the last three.
    template <class Y>
    void coupled(const Nodes6& node, const Y& y) {
        const auto minus = [&](std::size_t i, std::size_t k) { return -y(i, k); };
        block(node, 0, 0, y);
        block(node, 3, 3, y);
        block(node, 0, 3, minus);
        block(node, 3, 0, minus);
    }
};

/// The nodal equations of a whole case for phasors; nodes are global numbers.
class PhasorEquations : public Admittances<PhasorEquations> {
public:
    struct Entry {
        int row, column;
        Complex y;  // S
    };
    /// z = exp(jωΔt).
    PhasorEquations(int nodes, Complex z_, double frequency) : z(z_), frequency_hz(frequency), current(static_cast<std::size_t>(nodes)) {}
    void add(int i, int j, Complex y) { entries.push_back({i, j, y}); }
    void inject(int node, Complex ampere) {
        if (node != kGround) current[static_cast<std::size_t>(node)] += ampere;
    }

    const Complex z;
    const double frequency_hz;
    std::vector<Entry> entries;
    std::vector<Complex> current;  // A, into each node
};

}  // namespace emt
