#include <Eigen/Dense>
#include <algorithm>
#include <limits>

#include "primitives/primitives.hpp"

namespace emt {
namespace {
using Matrix3 = Eigen::Matrix<double, 3, 3, Eigen::RowMajor>;
using ComplexMatrix3 = Eigen::Matrix<Complex, 3, 3>;

/// H = -G·(u - e).
void rest(const Coupled3& e, const LaneStart& lane, double* h, int slot) {
    for (std::size_t i = 0; i < 3; ++i) {
        double sum = 0;
        for (std::size_t m = 0; m < 3; ++m) sum -= e.g[i * 3 + m] * (lane.initial_across(e.node[m], e.node[3 + m]) - e.emf[m].at(0));
        lane.at(h, 3 * slot + static_cast<int>(i)) = sum;
    }
}

/// H = (z - B)⁻¹·A·u by elimination.
void steady(const Coupled3& e, const LaneStart& lane, const std::array<Complex, 3>& u, double* h, int slot) {
    std::array<std::array<Complex, 4>, 3> m{};
    for (std::size_t i = 0; i < 3; ++i)
        for (std::size_t k = 0; k < 3; ++k) {
            m[i][k] = (i == k ? lane.z : Complex{}) - e.b[i * 3 + k];
            m[i][3] += e.a[i * 3 + k] * u[k];
        }
    for (std::size_t k = 0; k < 3; ++k)
        for (std::size_t i = 0; i < 3; ++i) {
            if (i == k) continue;
            const Complex f = m[i][k] / m[k][k];
            for (std::size_t c = 0; c < 4; ++c) m[i][c] -= f * m[k][c];
        }
    for (std::size_t i = 0; i < 3; ++i) lane.at(h, 3 * slot + static_cast<int>(i)) = (m[i][3] / m[i][i]).real();
}

}  // namespace

void Coupled3::stamp_phasor(PhasorEquations& equations) const {
    const ComplexMatrix3 gc = Eigen::Map<const Matrix3>(g.data()).cast<Complex>(), ac = Eigen::Map<const Matrix3>(a.data()).cast<Complex>(),
                         bc = Eigen::Map<const Matrix3>(b.data()).cast<Complex>();
    const ComplexMatrix3 y = gc + (equations.z * ComplexMatrix3::Identity() - bc).inverse() * ac;
    const auto at = [&](std::size_t i, std::size_t k) { return y(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(k)); };
    equations.coupled(node, at);
    for (std::size_t i = 0; i < 3; ++i)
        for (std::size_t k = 0; k < 3; ++k)
            if (emf[k].steady(equations.frequency_hz)) {
                equations.inject(node[i], at(i, k) * emf[k].phasor());
                equations.inject(node[3 + i], -at(i, k) * emf[k].phasor());
            }
    for (std::size_t i = 0; i < 3; ++i)
        if (current[i].steady(equations.frequency_hz)) {
            equations.inject(node[i], current[i].phasor());
            equations.inject(node[3 + i], -current[i].phasor());
        }
}

void Coupled3::start(const LaneStart& lane, const Rows& rows, int slot) const {
    std::array<Complex, 3> e{}, u{};
    for (std::size_t k = 0; k < 3; ++k) {
        if (emf[k].steady(lane.frequency_hz)) e[k] = emf[k].phasor();
        u[k] = lane.phasor_across(node[k], node[3 + k]) - e[k];
    }
    for (int i = 0; i < 3; ++i) {
        const auto r = static_cast<std::size_t>(i) * 3;
        Complex ge{}, ae{}, ae_be{};
        for (std::size_t m = 0; m < 3; ++m) {
            const int row = 9 * slot + 3 * i + static_cast<int>(m);
            lane.step(rows.a, row, a[r + m], a_be[r + m]);
            lane.step(rows.b, row, b[r + m], b_be[r + m]);
            ge += g[r + m] * e[m];
            ae += a[r + m] * e[m];
            ae_be += a_be[r + m] * e[m];
        }
        if (const Waveform& w = current[static_cast<std::size_t>(i)]; w.steady(lane.frequency_hz)) ge += w.phasor();
        lane.at(rows.ge, 6 * slot + i) = ge.real();
        lane.at(rows.ge, 6 * slot + 3 + i) = ge.imag();
        lane.step(rows.ae, 6 * slot + i, ae.real(), ae_be.real());
        lane.step(rows.ae, 6 * slot + 3 + i, ae.imag(), ae_be.imag());
    }
    if (lane.steady())
        emt::steady(*this, lane, u, rows.h, slot);
    else
        rest(*this, lane, rows.h, slot);
}

double Coupled3::carried(const LaneNow& now, const Rows& rows, int slot, int k) const {
    const auto i = static_cast<std::size_t>(k);
    double sum = now.at(rows.h, 3 * slot + k) - current[i].at(now.t_s);
    for (std::size_t m = 0; m < 3; ++m) sum += g[i * 3 + m] * (now.across({node[m], node[3 + m]}) - emf[m].at(now.t_s));
    return sum;
}

bool Coupled3::each_step(double frequency_hz) const {
    const auto all = sources();
    return std::any_of(all.begin(), all.end(), [&](const Waveform* w) { return w->shape != Waveform::Shape::none && !w->steady(frequency_hz); });
}

void Coupled3::before_step(const Rows& rows, int slot, int lane, double frequency_hz, const StepTimes& t) const {
    std::array<double, 3> e{};
    for (std::size_t k = 0; k < 3; ++k) {
        const bool vectorised = emf[k].steady(frequency_hz);
        cell(rows.e, 3 * slot + static_cast<int>(k), lane) = vectorised ? 0 : t.jumped ? emf[k].just_after(t.old_s) : emf[k].at(t.old_s);
        e[k] = vectorised ? 0 : emf[k].after(t.old_s, t.new_s);
    }
    for (std::size_t k = 0; k < 3; ++k) {
        double sum = current[k].steady(frequency_hz) ? 0 : current[k].after(t.old_s, t.new_s);
        for (std::size_t m = 0; m < 3; ++m) sum += g[k * 3 + m] * e[m];
        cell(rows.j, 3 * slot + static_cast<int>(k), lane) = sum;
    }
}

bool passive(const Mat3& symmetric) {
    // The solver scales by the largest entry, so a zero eigenvalue differs from zero by a few roundings of that entry.
    const Eigen::Vector3d value =
        Eigen::SelfAdjointEigenSolver<Matrix3>(Eigen::Map<const Matrix3>(symmetric.data()), Eigen::EigenvaluesOnly).eigenvalues();
    return value.minCoeff() >= -16 * std::numeric_limits<double>::epsilon() * value.cwiseAbs().maxCoeff();
}

bool companion_coupled(const Mat3& r_in, const Mat3& l_in, double dt, Coupled3& out) {
    const Eigen::Map<const Matrix3> r(r_in.data()), l(l_in.data());
    const Matrix3 z = 2 / dt * l;
    const Eigen::FullPivLU<Matrix3> lu(r + z);
    if (!lu.isInvertible()) return false;
    const Matrix3 g = lu.inverse();
    Eigen::Map<Matrix3>(out.g.data()) = g;
    if (l.isZero(0)) {
        out.a = out.b = out.a_be = out.b_be = Mat3{};
        return true;
    }
    Eigen::Map<Matrix3>(out.a.data()) = g + g * (z - r) * g;
    Eigen::Map<Matrix3>(out.b.data()) = g * (z - r);
    Eigen::Map<Matrix3>(out.a_be.data()) = g * z * g;
    Eigen::Map<Matrix3>(out.b_be.data()) = g * z;
    return true;
}

}  // namespace emt
