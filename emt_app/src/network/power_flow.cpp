// Newton's method on the nodal equations in rectangular coordinates. The network is linear, Y·V - Σ A·I = J with the currents
// A·I of positive sequence of each machine as unknowns; each machine adds one complex equation:
//     holds its angle:   V₁ = v·exp(j·angle)
//     otherwise:         3/2·Re(V₁·I*) + ρ = p,   |V₁|² = v²         ρ = 3/2·Ra·|I|² for a condenser's losses, else 0
// where V₁ is the positive sequence of the terminal voltage. At a bus with several machines, the first one gives the
// voltage. The others deliver reactive power, or the whole current if they hold their angle, in proportion to their
// rating. Each iteration solves for the unknowns themselves, so the equations of the network hold to rounding, whatever
// the residual of the machines' equations. The phasors belong to the discrete network (phasor.hpp), and so do power and
// reactances.
#include "network/power_flow.hpp"

#include <Eigen/Sparse>
#include <Eigen/SparseLU>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>
#include <stdexcept>

namespace emt {
namespace {

constexpr int kFlowIterations = 40;
constexpr double kFlowTolerance = 1e-10;  // of power and squared voltage, per unit

/// exp(-j2π/3·k): phase k of a positive sequence.
const std::array<Complex, 3> kPositivePhase{Complex{1, 0}, Complex{-0.5, -0.86602540378443864676}, Complex{-0.5, 0.86602540378443864676}};

using RealVector = Eigen::VectorXd;
using RealMatrix = Eigen::SparseMatrix<double>;

class PowerFlow {
public:
    PowerFlow(const Network& net, const PhasorEquations& network)
        : net_(net), network_(network), size_(2 * (net.nodes() + static_cast<int>(net.machines.size()))) {
        std::map<Nodes3, const SynchronousMachine*> at_bus;  // the first that holds its angle, or the first
        for (const SynchronousMachine& m : net.machines) {
            const SynchronousMachine*& first = at_bus.emplace(m.node, &m).first->second;
            if (m.dispatch.holds_angle && !first->dispatch.holds_angle) first = &m;
        }
        for (const SynchronousMachine& m : net.machines) {
            const SynchronousMachine* const first = at_bus[m.node];
            if (first->dispatch.v != m.dispatch.v)
                throw std::runtime_error("'" + m.name + "' and '" + first->name + "' are at one bus but have different 'v': give both the same");
            first_.push_back(first);
        }
    }

    std::vector<Complex> run() {
        x_ = solve([&](const SynchronousMachine& m) { return m.dispatch.holds_angle ? held(m) : no_current(m); });
        // The voltages of the others turn with the network before these machines deliver anything.
        const RealVector idle = x_;
        x_ = solve([&](const SynchronousMachine& m) {
            return leads(m) && !m.dispatch.holds_angle ? voltage(m, guessed(m, terminal(m, idle))) : held(m);
        });
        double error = worst(x_);
        for (iteration_ = 1; error > kFlowTolerance; ++iteration_) {
            if (iteration_ > kFlowIterations) fail(error);
            const RealVector full = solve([&](const SynchronousMachine& m) { return m.dispatch.holds_angle ? held(m) : linearised(m); });
            double step = 1;
            RealVector next = full;
            // A full step may overshoot far from the solution; any fraction of it keeps the equations of the network.
            for (error = worst(next); step > 1.0 / 16 && !(error < worst(x_)); error = worst(next)) {
                step /= 2;
                next = x_ + step * (full - x_);
            }
            x_ = next;
        }
        std::vector<Complex> out;
        for (int i = 0; i < size_; i += 2) out.emplace_back(x_[i], x_[i + 1]);
        return out;
    }

private:
    /// One real equation of a machine: factors of its terminal voltage (real, imaginary part), of its current, and of
    /// the current of the first machine at its bus; then the right side.
    struct Equation {
        double vr, vi, ir, ii, fr, fi, right;
    };
    using Equations = std::array<Equation, 2>;

    [[nodiscard]] int place(const SynchronousMachine& m) const { return 2 * (net_.nodes() + m.number); }
    static Complex at(const RealVector& x, int i) { return {x[i], x[i + 1]}; }
    /// Returns the positive sequence of the terminal voltage, V.
    static Complex terminal(const SynchronousMachine& m, const RealVector& x) {
        Complex sum{};
        for (std::size_t k = 0; k < 3; ++k) sum += std::conj(kPositivePhase[k]) * at(x, 2 * m.node[k]);
        return sum / 3.0;
    }
    [[nodiscard]] const SynchronousMachine& first(const SynchronousMachine& m) const { return *first_[static_cast<std::size_t>(m.number)]; }
    [[nodiscard]] bool leads(const SynchronousMachine& m) const { return &first(m) == &m; }
    static Complex given(const SynchronousMachine& m) { return m.dispatch.v * unit_phasor(m.dispatch.angle_turns); }
    static Complex guessed(const SynchronousMachine& m, Complex idle) {
        const double length = std::sqrt(std::norm(idle));
        return m.dispatch.guess || length == 0 ? given(m) : m.dispatch.v * (idle / length);
    }

    // All in amperes, like the equations of the network.
    static Equations voltage(const SynchronousMachine& m, Complex v) {
        const double y = m.siemens();
        return {Equation{y, 0, 0, 0, 0, 0, y * v.real()}, Equation{0, y, 0, 0, 0, 0, y * v.imag()}};
    }
    static Equations no_current(const SynchronousMachine&) { return {Equation{0, 0, 1, 0, 0, 0, 0}, Equation{0, 0, 0, 1, 0, 0, 0}}; }
    /// Fixes voltage and angle, or the same current per unit as the first machine of the bus.
    [[nodiscard]] Equations held(const SynchronousMachine& m) const {
        if (leads(m)) return voltage(m, given(m));
        const double share = -m.i_base / first(m).i_base;
        return {Equation{0, 0, 1, 0, share, 0, 0}, Equation{0, 0, 0, 1, 0, share, 0}};
    }
    /// Returns the reactive power, per unit.
    [[nodiscard]] double reactive(const SynchronousMachine& m, const RealVector& x) const {
        return (terminal(m, x) / m.v_base * std::conj(at(x, place(m)) / m.i_base)).imag();
    }
    /// Returns the missing power, and the missing squared voltage or shared reactive power, per unit of the rating.
    [[nodiscard]] std::array<double, 2> missing(const SynchronousMachine& m, const RealVector& x) const {
        const Complex v = terminal(m, x) / m.v_base, i = at(x, place(m)) / m.i_base;
        const double losses = m.dispatch.unloaded_shaft ? m.ra * std::norm(i) : 0, wanted = m.dispatch.v / m.v_base;
        return {(v * std::conj(i)).real() + losses - m.dispatch.p_w / (1.5 * m.v_base * m.i_base),
                leads(m) ? std::norm(v) - wanted * wanted : reactive(m, x) - reactive(first(m), x)};
    }
    [[nodiscard]] Equations linearised(const SynchronousMachine& m) const {
        const Complex v = terminal(m, x_) / m.v_base, i = at(x_, place(m)) / m.i_base;
        const auto [power, other] = missing(m, x_);
        const double y = m.siemens(), r = m.dispatch.unloaded_shaft ? m.ra : 0;
        const Equation p{y * i.real(), y * i.imag(), v.real() + 2 * r * i.real(), v.imag() + 2 * r * i.imag(), 0, 0, 0};
        Equation q{2 * y * v.real(), 2 * y * v.imag(), 0, 0, 0, 0, 0};
        const SynchronousMachine& f = first(m);
        const Complex of_first = at(x_, place(f));
        if (!leads(m)) {  // Im(v·i*) of both, each in its own base
            const Complex vf = v * m.v_base / f.v_base, jf = of_first / f.i_base;
            const double scale = m.i_base / f.i_base, yf = m.i_base / f.v_base;
            q = {yf * jf.imag() - y * i.imag(), y * i.real() - yf * jf.real(), v.imag(), -v.real(), -scale * vf.imag(), scale * vf.real(), 0};
        }
        const Complex volt = v * m.v_base, ampere = i * m.i_base;
        const auto right = [&](Equation e, double residual) {
            e.right = e.vr * volt.real() + e.vi * volt.imag() + e.ir * ampere.real() + e.ii * ampere.imag() + e.fr * of_first.real() +
                      e.fi * of_first.imag() - residual * m.i_base;
            return e;
        };
        return {right(p, power), right(q, other)};
    }

    template <class Machine>
    RealVector solve(Machine&& equations) {
        std::vector<Eigen::Triplet<double>> entries;
        RealVector right = RealVector::Zero(size_);
        const auto add = [&](int i, int k, Complex y) {  // a complex factor of a complex unknown
            entries.emplace_back(i, k, y.real());
            entries.emplace_back(i, k + 1, -y.imag());
            entries.emplace_back(i + 1, k, y.imag());
            entries.emplace_back(i + 1, k + 1, y.real());
        };
        for (const auto& [i, k, y] : network_.entries) add(2 * i, 2 * k, y);
        for (int i = 0; i < net_.nodes(); ++i) {
            right[2 * i] = network_.current[static_cast<std::size_t>(i)].real();
            right[2 * i + 1] = network_.current[static_cast<std::size_t>(i)].imag();
        }
        for (const SynchronousMachine& m : net_.machines) {
            const int own = place(m);
            for (std::size_t k = 0; k < 3; ++k) add(2 * m.node[k], own, -kPositivePhase[k]);
            const Equations both = equations(m);
            for (int e = 0; e < 2; ++e) {
                const auto& [vr, vi, ir, ii, fr, fi, rhs] = both[static_cast<std::size_t>(e)];
                for (std::size_t k = 0; k < 3; ++k) {
                    const Complex turn = std::conj(kPositivePhase[k]) / 3.0;
                    entries.emplace_back(own + e, 2 * m.node[k], vr * turn.real() + vi * turn.imag());
                    entries.emplace_back(own + e, 2 * m.node[k] + 1, vi * turn.real() - vr * turn.imag());
                }
                entries.emplace_back(own + e, own, ir);
                entries.emplace_back(own + e, own + 1, ii);
                if (!leads(m)) {
                    entries.emplace_back(own + e, place(first(m)), fr);
                    entries.emplace_back(own + e, place(first(m)) + 1, fi);
                }
                right[own + e] = rhs;
            }
        }
        RealMatrix matrix(size_, size_);
        matrix.setFromTriplets(entries.begin(), entries.end());  // keeps zeros: the pattern never changes
        if (iteration_ < 0) lu_.analyzePattern(matrix);
        iteration_ = std::max(iteration_, 0);
        lu_.factorize(matrix);
        if (lu_.info() != Eigen::Success)
            throw std::runtime_error("the power flow has no solution at iteration " + std::to_string(iteration_) + " (" + lu_.lastErrorMessage() +
                                     "): check that each island with a machine has a machine or source with 'angle'");
        RealVector x = lu_.solve(right);
        // Refined once: in networks with very small impedances, rounding of the factors may exceed the tolerance.
        x += lu_.solve(right - matrix * x);
        return x;
    }

    /// Returns the largest residual and remembers its machine.
    double worst(const RealVector& x) {
        double largest = 0;
        for (const SynchronousMachine& m : net_.machines) {
            if (m.dispatch.holds_angle) continue;
            const auto off = missing(m, x);
            for (const double e : off) {
                if (std::abs(e) <= largest) continue;
                largest = std::abs(e);
                whose_ = &m;
                if (!std::isfinite(e)) return std::numeric_limits<double>::infinity();
            }
        }
        return largest;
    }
    [[noreturn]] void fail(double error) const {
        char text[64];
        std::snprintf(text, sizeof text, "%.3g", error);
        throw std::runtime_error("the power flow does not converge: after " + std::to_string(iteration_ - 1) + " iterations '" +
                                 whose_->name + "' is off by " + text +
                                 " per unit; its 'p' or 'v' may be more than the network can take, or 'angle' as a first guess may help");
    }

    const Network& net_;
    const PhasorEquations& network_;
    int size_;
    std::vector<const SynchronousMachine*> first_;  // at the bus of each machine
    int iteration_ = -1;
    RealVector x_;
    Eigen::SparseLU<RealMatrix> lu_;
    const SynchronousMachine* whose_ = nullptr;
};

}  // namespace

std::vector<Complex> solve_power_flow(const Network& net, const PhasorEquations& network) { return PowerFlow(net, network).run(); }

}  // namespace emt
