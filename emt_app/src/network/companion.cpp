#include "network/companion.hpp"

#include <Eigen/Dense>
#include <limits>

namespace emt {

std::pair<double, Companion> companion_rl(double r, double l, double dt) {
    const double z = 2 * l / dt;
    const double g = 1 / (r + z);
    if (l == 0) return {g, {}};
    return {g, {g + g * (z - r) * g, g * (z - r), g * z * g, g * z}};
}

std::pair<double, Companion> companion_rc(double r, double c, double dt) {
    const double z = dt / (2 * c);
    const double g = 1 / (r + z);
    return {g, {-g - g * (z - r) * g, -g * (z - r), -g + g * r * g, g * r}};
}

std::pair<double, Companion> companion_lag(double time_constant, double dt) {
    const double k = 2 * time_constant / dt;
    const double g = 1 / (k + 1);
    return {g, {g + g * g * (k - 1), g * (k - 1), g * k * g, g * k}};
}

bool passive(const Mat3& symmetric) {
    using M = Eigen::Matrix<double, 3, 3, Eigen::RowMajor>;
    // The solver scales by the largest entry: an eigenvalue of zero comes out within a few roundings of it.
    const Eigen::Vector3d value = Eigen::SelfAdjointEigenSolver<M>(Eigen::Map<const M>(symmetric.data()), Eigen::EigenvaluesOnly).eigenvalues();
    return value.minCoeff() >= -16 * std::numeric_limits<double>::epsilon() * value.cwiseAbs().maxCoeff();
}

bool companion_coupled(const Mat3& r_in, const Mat3& l_in, double dt, Coupled3& out) {
    using M = Eigen::Matrix<double, 3, 3, Eigen::RowMajor>;
    const Eigen::Map<const M> r(r_in.data()), l(l_in.data());
    const M z = 2 / dt * l;
    const Eigen::FullPivLU<M> lu(r + z);
    if (!lu.isInvertible()) return false;
    const M g = lu.inverse();
    Eigen::Map<M>(out.g.data()) = g;
    if (l.isZero(0)) {
        out.a = out.b = out.a_be = out.b_be = Mat3{};
        return true;
    }
    Eigen::Map<M>(out.a.data()) = g + g * (z - r) * g;
    Eigen::Map<M>(out.b.data()) = g * (z - r);
    Eigen::Map<M>(out.a_be.data()) = g * z * g;
    Eigen::Map<M>(out.b_be.data()) = g * z;
    return true;
}

}  // namespace emt
