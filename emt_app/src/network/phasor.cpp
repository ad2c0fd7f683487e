#include "network/phasor.hpp"

#include <Eigen/LU>
#include <Eigen/Sparse>
#include <Eigen/SparseLU>
#include <numbers>
#include <stdexcept>

namespace emt {
namespace {

class PhasorMatrix {
public:
    explicit PhasorMatrix(int nodes) : nodes_(nodes), rhs_(Eigen::VectorXcd::Zero(nodes)) {}

    void add(int i, int j, Complex y) {
        if (i != kGround && j != kGround) entries_.emplace_back(i, j, y);
    }
    void pair(int p, int q, Complex y) {
        add(p, p, y);
        add(q, q, y);
        add(p, q, -y);
        add(q, p, -y);
    }
    void inject(int i, Complex current) {
        if (i != kGround) rhs_[i] += current;
    }
    std::vector<Complex> solve() {
        Eigen::SparseMatrix<Complex> y(nodes_, nodes_);
        y.setFromTriplets(entries_.begin(), entries_.end());
        Eigen::SparseLU<Eigen::SparseMatrix<Complex>> lu;
        lu.compute(y);
        if (lu.info() != Eigen::Success)
            throw std::runtime_error("the steady-state network is singular (" + lu.lastErrorMessage() +
                                     "): look for an exact resonance at the case's frequency");
        const Eigen::VectorXcd v = lu.solve(rhs_);
        return {v.begin(), v.end()};
    }

private:
    int nodes_;
    std::vector<Eigen::Triplet<Complex>> entries_;
    Eigen::VectorXcd rhs_;
};

using CMat3 = Eigen::Matrix<Complex, 3, 3>;

void add_coupled(PhasorMatrix& m, const Coupled3& c, Complex z, double frequency) {
    using RMat = Eigen::Matrix<double, 3, 3, Eigen::RowMajor>;
    const CMat3 g = Eigen::Map<const RMat>(c.g.data()).cast<Complex>(), a = Eigen::Map<const RMat>(c.a.data()).cast<Complex>(),
                b = Eigen::Map<const RMat>(c.b.data()).cast<Complex>();
    const CMat3 y = g + (z * CMat3::Identity() - b).inverse() * a;
    for (std::size_t i = 0; i < 3; ++i)
        for (std::size_t j = 0; j < 3; ++j) {
            const Complex yij = y(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j));
            m.add(c.p[i], c.p[j], yij);
            m.add(c.q[i], c.q[j], yij);
            m.add(c.p[i], c.q[j], -yij);
            m.add(c.q[i], c.p[j], -yij);
            if (c.emf[j].steady(frequency)) {
                m.inject(c.p[i], yij * c.emf[j].phasor());
                m.inject(c.q[i], -yij * c.emf[j].phasor());
            }
        }
    for (std::size_t i = 0; i < 3; ++i)
        if (c.current[i].steady(frequency)) {
            m.inject(c.p[i], c.current[i].phasor());
            m.inject(c.q[i], -c.current[i].phasor());
        }
}

void add_line(PhasorMatrix& m, const Line& line, Complex z) {
    std::array<Complex, 2> self, mutual;  // of each mode: I_k = self·V_k + mutual·V_m
    for (std::size_t k = 0; k < 2; ++k) {
        const LineModePhasors one = line_mode_phasors(line.mode[k], z, 1, 0);
        self[k] = line.mode[k].y() + one.history[0];
        mutual[k] = one.history[1];
    }
    for (std::size_t e = 0; e < 2; ++e)
        for (std::size_t i = 0; i < 3; ++i)
            for (std::size_t j = 0; j < 3; ++j) {
                // T·diag(y0, y1, y1)·Tᵀ of the orthonormal Clarke transformation
                const auto phase = [&](const std::array<Complex, 2>& y) {
                    return i == j ? (y[0] + 2.0 * y[1]) / 3.0 : (y[0] - y[1]) / 3.0;
                };
                m.add(line.end[e][i], line.end[e][j], phase(self));
                m.add(line.end[e][i], line.end[1 - e][j], phase(mutual));
            }
}

}  // namespace

Complex step_operator(const Network& net) { return std::polar(1.0, 2 * std::numbers::pi * net.frequency_hz * net.dt_s); }

LineModePhasors line_mode_phasors(const LineMode& mode, Complex z, Complex vk, Complex vm) {
    // Sum and difference of the ends decouple: H± = ∓-like scalar equations with the delayed wave D·(α·V + β·H).
    const Complex interpolation = (1 - mode.fraction) + mode.fraction / z;
    const Complex delay = std::pow(z, -mode.delay) * interpolation;
    const double beta = mode.z - mode.r / 4, alpha = 1 + beta * mode.y();
    const double sum = mode.c_far() + mode.c_near(), difference = mode.c_near() - mode.c_far();
    const auto history = [&](double c, Complex v) { return -delay * c * alpha * v / (1.0 + delay * c * beta); };
    const Complex hs = history(sum, vk + vm), hd = history(difference, vk - vm);
    LineModePhasors out;
    out.history = {(hs + hd) / 2.0, (hs - hd) / 2.0};
    const std::array<Complex, 2> v{vk, vm};
    for (std::size_t e = 0; e < 2; ++e) {
        out.wave[e] = alpha * v[e] + beta * out.history[e];
        out.sent[e] = interpolation * out.wave[e];
    }
    return out;
}

std::vector<Complex> solve_phasors(const Network& net) {
    const Complex z = step_operator(net);
    PhasorMatrix m(net.nodes());
    for (const Conductance& c : net.conductances) m.pair(c.p, c.q, c.g);
    for (const Reactive& r : net.reactives)
        m.pair(r.p, r.q, r.capacitive ? r.g - 2 * r.g / (z + 1.0) : r.g + 2 * r.g / (z - 1.0));
    for (const Branch& b : net.branches) m.pair(b.p, b.q, b.g + b.c.a / (z - b.c.b));
    for (const SeriesRlc& b : net.rlcs)
        m.pair(b.p, b.q, b.g / (1.0 - b.g * 2 * b.zl / (z + 1.0) + b.g * 2 * b.zc / (z - 1.0)));
    for (const Switch& s : net.switches) m.pair(s.p, s.q, s.closed ? s.g_on : s.g_off);
    for (const Piecewise& p : net.piecewise) {
        const double gain = piecewise_gain(p, net.dt_s), slope = segment(p, 0).slope;
        m.pair(p.p, p.q, p.inductive ? slope * (gain + 2 * gain / (z - 1.0)) : slope * gain);
    }
    for (const Coupled3& c : net.coupled) add_coupled(m, c, z, net.frequency_hz);
    for (const Transformer3& t : net.transformers) {
        const Complex y = t.g + t.c.a / (z - t.c.b);
        for (std::size_t k = 0; k < 3; ++k) {
            const std::array<int, 4> node{t.p[k], t.p[(k + 1) % 3], t.s[k], t.s[(k + 1) % 3]};
            const std::array<double, 4> weight{1, -t.m1, -t.ratio, t.ratio * t.m2};
            for (std::size_t i = 0; i < 4; ++i)
                for (std::size_t j = 0; j < 4; ++j) m.add(node[i], node[j], y * weight[i] * weight[j]);
        }
    }
    for (const Line& l : net.lines) add_line(m, l, z);
    return m.solve();
}

}  // namespace emt
