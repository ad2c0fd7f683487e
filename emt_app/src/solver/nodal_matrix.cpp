#include "solver/nodal_matrix.hpp"

#include "solver/sparse_factors.hpp"

namespace emt {
namespace {

/// Inverts the symmetric positive definite a (n × n) in place; returns the first singular pivot or -1.
int invert(std::vector<double>& a, std::size_t n) {
    std::vector<double> diagonal(n);
    for (std::size_t k = 0; k < n; ++k) diagonal[k] = a[k * n + k];
    for (std::size_t k = 0; k < n; ++k) {  // Gauss–Jordan; definite, hence no pivoting
        const double pivot = a[k * n + k];
        if (!(pivot > kSingular * diagonal[k])) return static_cast<int>(k);
        const double inverse = 1 / pivot;
        a[k * n + k] = 1;
        for (std::size_t j = 0; j < n; ++j) a[k * n + j] *= inverse;
        for (std::size_t i = 0; i < n; ++i) {
            if (i == k) continue;
            const double f = a[i * n + k];
            if (f == 0) continue;
            a[i * n + k] = 0;
            for (std::size_t j = 0; j < n; ++j) a[i * n + j] -= f * a[k * n + j];
        }
    }
    return -1;
}

std::vector<double> dense(const Task& task, double dt_s, const Topology& topology) {
    const auto n = static_cast<std::size_t>(task.size());
    std::vector<double> y(n * n);
    stamp(task, topology.closed, slopes(task, dt_s, topology), [&](int i, int j, double g) {
        y[static_cast<std::size_t>(i) * n + static_cast<std::size_t>(j)] += g;
    });
    return y;
}

}  // namespace

std::vector<double> slopes(const Task& task, double dt_s, const Topology& topology) {
    std::vector<double> out;
    for (std::size_t k = 0; k < task.piecewise.size(); ++k)
        out.push_back(task.piecewise[k].segment(topology.segment[k]).slope * task.piecewise[k].gain(dt_s));
    return out;
}

Topology initial_topology(const Task& task) {
    Topology t;
    for (const Switch& s : task.switches) t.closed.push_back(s.closed ? 1 : 0);
    t.segment.assign(task.piecewise.size(), 0);
    return t;
}

int singular_node(const Task& task, double dt_s) {
    const Topology topology = initial_topology(task);
    try {
        if (task.size() > kDenseNodes) {
            SparseFactors(task).factorise(dt_s, topology);
        } else {
            std::vector<double> y = dense(task, dt_s, topology);
            return invert(y, static_cast<std::size_t>(task.size()));
        }
    } catch (const SingularNode& e) {
        return e.local_node;
    }
    return -1;
}

std::vector<double> dense_inverse(const Task& task, double dt_s, const Topology& topology) {
    std::vector<double> y = dense(task, dt_s, topology);
    if (const int bad = invert(y, static_cast<std::size_t>(task.size())); bad >= 0) throw SingularNode(bad);
    return y;
}

}  // namespace emt
