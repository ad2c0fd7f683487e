#include "network/phasor.hpp"

#include "network/power_flow.hpp"

#include <Eigen/Sparse>
#include <Eigen/SparseLU>
#include <stdexcept>

namespace emt {
namespace {

std::vector<Complex> solve(const PhasorEquations& equations) {
    const auto nodes = static_cast<Eigen::Index>(equations.current.size());
    std::vector<Eigen::Triplet<Complex>> entries;
    entries.reserve(equations.entries.size());
    for (const auto& [i, j, y] : equations.entries) entries.emplace_back(i, j, y);
    Eigen::SparseMatrix<Complex> y(nodes, nodes);
    y.setFromTriplets(entries.begin(), entries.end());
    Eigen::SparseLU<Eigen::SparseMatrix<Complex>> lu;
    lu.compute(y);
    if (lu.info() != Eigen::Success)
        throw std::runtime_error("the steady-state network is singular (" + lu.lastErrorMessage() +
                                 "): look for an exact resonance at the case's frequency");
    const Eigen::VectorXcd v = lu.solve(Eigen::Map<const Eigen::VectorXcd>(equations.current.data(), nodes));
    return {v.begin(), v.end()};
}

}  // namespace

Complex step_operator(const Network& net) { return unit_phasor(net.frequency_hz * net.dt_s); }

std::vector<Complex> solve_phasors(const Network& net) {
    PhasorEquations y(net.nodes(), step_operator(net), net.frequency_hz);
    for (const Conductance& c : net.conductances) c.stamp_phasor(y);
    for (const Reactive& r : net.reactives) r.stamp_phasor(y);
    in_matrix_order(net, [&](const auto& list) {
        for (const auto& e : list)
            if constexpr (std::is_same_v<ElementOf<decltype(list)>, Piecewise>)
                e.stamp_phasor(y, net.dt_s);
            else
                e.stamp_phasor(y);
    });
    for (const Line& l : net.lines) l.stamp_phasor(y);
    return net.machines.empty() ? solve(y) : solve_power_flow(net, y);
}

}  // namespace emt
