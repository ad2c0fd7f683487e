// The shaft of the first benchmark model (IEEE Committee Report, "First benchmark model for computer simulation of subsynchronous
// resonance", IEEE Trans. PAS-96(5), 1977): high and intermediate pressure, two of low pressure, generator, exciter.
#pragma once
#include <Eigen/Eigenvalues>
#include <array>
#include <numbers>
#include <string>

namespace emt::test {

inline constexpr std::array<double, 6> kInertia{0.092897, 0.155589, 0.858670, 0.884215, 0.868495, 0.0342165}, kShare{0.30, 0.26, 0.22, 0.22, 0, 0};
inline constexpr std::array<double, 5> kSpring{19.303, 34.929, 52.038, 70.858, 2.822}, kModes{15.71, 20.21, 25.55, 32.28, 47.46};  // per unit; Hz

inline std::string benchmark_shaft() {
    std::string out;
    for (std::size_t i = 0; i < 6; ++i)
        out += std::string(i > 0 ? "," : "") + R"({"h":)" + std::to_string(kInertia[i] * 1e6) + R"(e-6,"share":)" + std::to_string(kShare[i]) +
               (i < 5 ? R"(,"spring":)" + std::to_string(kSpring[i]) : "") + (i == 4 ? R"(,"generator":true)" : "") + "}";
    return R"("shaft":[)" + out + "]";
}

/// Natural modes, M·δ'' = -K·δ with M = 2H/ω: squares of rad/s, and shapes. The first one turns as a whole.
inline Eigen::GeneralizedSelfAdjointEigenSolver<Eigen::Matrix<double, 6, 6>> benchmark_modes() {
    Eigen::Matrix<double, 6, 6> k = Eigen::Matrix<double, 6, 6>::Zero(), mass = k;
    for (int i = 0; i < 6; ++i) mass(i, i) = 2 * kInertia[static_cast<std::size_t>(i)] / (120 * std::numbers::pi);
    for (int i = 0; i < 5; ++i) {
        const double s = kSpring[static_cast<std::size_t>(i)];
        k(i, i) += s, k(i + 1, i + 1) += s, k(i, i + 1) -= s, k(i + 1, i) -= s;
    }
    return {k, mass};
}

}  // namespace emt::test
