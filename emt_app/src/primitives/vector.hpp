// The vector type of the kernels and access to terminals. For kernel sections only: EMT_KERNEL is the namespace of the
// compiled instruction set.
#pragma once
#include "primitives/rows.hpp"

namespace emt::EMT_KERNEL {

using Vec = double __attribute__((vector_size(kLanes * sizeof(double)), aligned(kLanes * sizeof(double)), may_alias));
using Bits = unsigned long long __attribute__((vector_size(kLanes * sizeof(double)), aligned(kLanes * sizeof(double)), may_alias));
using Mask = long long __attribute__((vector_size(kLanes * sizeof(double))));

inline Vec& row(double* base, long i) { return *reinterpret_cast<Vec*>(base + i * kLanes); }
inline const Vec& row(const double* base, long i) { return *reinterpret_cast<const Vec*>(base + i * kLanes); }

inline unsigned lanes_of(const Mask& m) {
    unsigned out = 0;
    for (int l = 0; l < kLanes; ++l) out |= static_cast<unsigned>(m[l] & 1) << l;
    return out;
}
inline bool any(const Mask& m) {
    long long out = 0;
    for (int l = 0; l < kLanes; ++l) out |= m[l];
    return out != 0;
}

/// Publishes the measurements of elements at t_n, before blocks and assemble() read them; most have none.
template <class Rows>
[[gnu::always_inline]] inline void publish(const Rows&, const NodeRows&, int, const StepClock&) {}

/// Access to the terminals of one slot, and likewise to the signals that it reads.
template <int N>
struct Terminals {
    const int* index;
    bool uniform;
    Terminals(const Slots<N>& s, int slot) : index(s.offset + static_cast<long>(slot) * N * kLanes), uniform(s.uniform[slot] != 0) {}
    [[gnu::always_inline]] inline Vec get(const double* base, int terminal) const {
        const int* i = index + terminal * kLanes;
        if (uniform) return *reinterpret_cast<const Vec*>(base + i[0]);
        Vec out;
        for (int l = 0; l < kLanes; ++l) out[l] = base[i[l]];
        return out;
    }
    [[gnu::always_inline]] inline void add(double* base, int terminal, const Vec& x) const {
        const int* i = index + terminal * kLanes;
        if (uniform) {
            *reinterpret_cast<Vec*>(base + i[0]) += x;
            return;
        }
        for (int l = 0; l < kLanes; ++l) base[i[l]] += x[l];
    }
};

}  // namespace emt::EMT_KERNEL
