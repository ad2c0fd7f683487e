// Subsynchronous resonance: the first benchmark model (IEEE Committee Report, "First benchmark model for computer simulation of
// subsynchronous resonance", IEEE Trans. PAS-96(5), 1977), whose series capacitor makes a mode of the shaft grow.
#include <gtest/gtest.h>

#include <Eigen/Eigenvalues>

#include "benchmark_shaft.hpp"
#include "machine_probe.hpp"
#include "network/phasor.hpp"

namespace emt::test {
namespace {

constexpr double kR = 0.02, kX = 0.7, kXc = 0.371;  // transformer, line and system; series capacitor; per unit
const double kMachineV = 26e3 * std::sqrt(2.0 / 3), kMachineI = 2 * 892.4e6 / (3 * kMachineV), kMachineZ = kMachineV / kMachineI;

std::string benchmark(double dt, double xc, bool push) {
    return make_case(synchronous("G", "T", R"("rated_power":892.4e6,"rated_voltage":26e3,"ra":0,"xl":0.13,"xd":1.79,"xd1":0.169,"xd2":0.135,"xq":1.71,"xq1":0.228,"xq2":0.2,
        "td10":4.3,"td20":0.032,"tq10":0.85,"tq20":0.05)", benchmark_shaft() + R"(,"v":26e3,"p":803.16e6)") +
        R"(,{"type":"series_rlc","name":"L","buses":["T","E"],"r":)" + std::to_string(kR * kMachineZ * 1e6) + R"(e-6,"l":)" + std::to_string(kX * kMachineZ / kOmega * 1e12) + R"(e-12,"c":)" +
        std::to_string(1e12 / (xc * kMachineZ * kOmega)) + R"(e-12},{"type":"resistor","name":"N","buses":["T","0"],"r":1e5},
        {"type":"source","name":"E","bus":"E","amplitude":)" + std::to_string(kMachineV) + R"(,"r1":1e-6,"l1":0})" +
        (push ? R"(,{"type":"switch","name":"S","buses":["T","0"],"r_on":500,"operations":[{"time":0.05,"action":"close"},{"time":0.06,"action":"open"}]})" : ""),
        dt, R"("start":"steady","buses":["T","E"],)");
}

/// The same case as differential equations: fluxes of the machine with the line's inductance as part of its leakage, voltage of the
/// capacitor, angles and speeds of the masses; rotor's coordinates. Its linearisation has the modes.
class Linearised {
public:
    using State = Eigen::Matrix<double, 20, 1>;
    Linearised(const SynchronousMachine& m, Complex v, Complex i) : m_(m) {
        const Complex flux = v / Complex(0, 1), gap = flux + m.xl * i;
        const double angle = std::arg(flux + (m.xl + m.q.main) * i);
        const Complex frame = std::polar(1.0, -angle), idq = i * frame, air = gap * frame;
        const double field = air.real() / m.d.main + idq.real();
        const Complex total = flux * frame - kX * idq, capacitor = Complex(0, -kXc) * (i * frame);
        emf_ = v - Complex(kR, kX - kXc) * i;
        field_ = m.d.r[0] * field;
        torque_ = (flux * frame).real() * idq.imag() - (flux * frame).imag() * idq.real();
        start_ << total.real(), total.imag(), air.real() + m.d.l[0] * field, air.real(), air.imag(), air.imag(), capacitor.real(), capacitor.imag(), State::Zero().head(12);
        double passed = 0, at = 0;
        std::array<double, 6> mass{};
        for (std::size_t k = 0; k < 6; ++k) {
            mass[k] = at;
            passed += m.shaft[k].share * torque_ - (m.shaft[k].generator ? torque_ : 0);
            if (k < 5) at -= passed / m.shaft[k].spring;
        }
        for (std::size_t k = 0; k < 6; ++k) start_[static_cast<Eigen::Index>(8 + k)] = angle + mass[k] - mass[4];
    }
    [[nodiscard]] State slope(const State& s) const {
        const double w = kOmega, xl = m_.xl + kX;
        const double gap_d = (s[0] / xl + s[2] / m_.d.l[0] + s[3] / m_.d.l[1]) / (1 / m_.d.main + 1 / xl + 1 / m_.d.l[0] + 1 / m_.d.l[1]);
        const double gap_q = (s[1] / xl + s[4] / m_.q.l[0] + s[5] / m_.q.l[1]) / (1 / m_.q.main + 1 / xl + 1 / m_.q.l[0] + 1 / m_.q.l[1]);
        const double id = (gap_d - s[0]) / xl, iq = (gap_q - s[1]) / xl, speed = 1 + s[18];
        const Complex v = emf_ * std::polar(1.0, -s[12]) + Complex(s[6], s[7]);
        State out;
        out << w * (v.real() + (m_.ra + kR) * id + speed * s[1]), w * (v.imag() + (m_.ra + kR) * iq - speed * s[0]),
            w * (field_ - m_.d.r[0] * (s[2] - gap_d) / m_.d.l[0]), -w * m_.d.r[1] * (s[3] - gap_d) / m_.d.l[1],
            -w * m_.q.r[0] * (s[4] - gap_q) / m_.q.l[0], -w * m_.q.r[1] * (s[5] - gap_q) / m_.q.l[1],
            w * (kXc * id + speed * s[7]), w * (kXc * iq - speed * s[6]), State::Zero().head(12);
        for (int k = 0; k < 6; ++k) {
            const Mass& mass = m_.shaft[static_cast<std::size_t>(k)];
            double sum = mass.share * torque_ - (mass.generator ? s[0] * iq - s[1] * id : 0);
            if (k < 5) sum -= mass.spring * (s[8 + k] - s[9 + k]);
            if (k > 0) sum += m_.shaft[static_cast<std::size_t>(k - 1)].spring * (s[7 + k] - s[8 + k]);
            out[8 + k] = w * s[14 + k];
            out[14 + k] = sum / (2 * mass.h);
        }
        return out;
    }
    /// The eigenvalue with the largest real part.
    [[nodiscard]] Complex worst() const {
        Eigen::Matrix<double, 20, 20> jacobian;
        for (int k = 0; k < 20; ++k) {
            State step = State::Zero();
            step[k] = 1e-6;
            jacobian.col(k) = (slope(start_ + step) - slope(start_ - step)) / 2e-6;
        }
        const Eigen::EigenSolver<Eigen::Matrix<double, 20, 20>> eigen(jacobian);
        Complex out = eigen.eigenvalues()[0];
        for (int k = 1; k < 20; ++k)
            if (eigen.eigenvalues()[k].real() > out.real()) out = eigen.eigenvalues()[k];
        return out;
    }
    [[nodiscard]] double rest() const { return slope(start_).cwiseAbs().maxCoeff(); }

private:
    const SynchronousMachine& m_;
    Complex emf_;
    double field_, torque_;
    State start_;
};

struct Growth {
    double hertz, seen, eigenvalue;  // of the mode; 1/s
};

Growth growth(double dt) {
    Simulation s(benchmark(dt, kXc, true));
    const MachineProbe g(s, 0);
    const std::vector<Complex> x = solve_phasors(s.study().network);
    const Linearised model(g.data(), x[0] / kMachineV, x[static_cast<std::size_t>(s.study().network.nodes())] / kMachineI);
    EXPECT_LT(model.rest(), 1e-9);
    const Complex worst = model.worst();
    // The mode's part of the shaft's position and speed: its length grows as exp(σt).
    const Eigen::VectorXd shape = benchmark_modes().eigenvectors().col(2);
    const auto length = [&] {
        double sum = 0;
        const int periods = 20, steps = static_cast<int>(std::lround(periods * 2 * std::numbers::pi / std::abs(worst.imag()) / dt));
        for (int n = 0; n < steps; ++n) {
            s.run(1);
            double q = 0;
            for (int k = 0; k < 6; ++k) q += shape[k] * kInertia[static_cast<std::size_t>(k)] * g.speed_deviation(k);
            sum += q * q;
        }
        return std::sqrt(sum / steps);
    };
    s.run(static_cast<int>(std::lround(4 / dt)));
    const double begin = s.time(), first = length();
    s.run(static_cast<int>(std::lround((begin + 2 - s.time()) / dt)));
    return {std::abs(worst.imag()) / (2 * std::numbers::pi), std::log(length() / first) / 2, worst.real()};
}

TEST(Resonance, TheSecondModeOfTheFirstBenchmarkModelGrowsAsItsEigenvalue) {
    const Growth coarse = growth(50e-6), fine = growth(25e-6);
    std::printf("first benchmark model: mode at %.3f Hz grows by %.5f 1/s at 50 us, %.5f at 25 us, eigenvalue %.5f\n", fine.hertz, coarse.seen, fine.seen, fine.eigenvalue);
    EXPECT_NEAR(fine.hertz, 20.2, 0.2);
    EXPECT_GT(fine.eigenvalue, 0.4);
    EXPECT_NEAR(fine.seen, fine.eigenvalue, 0.01 * fine.eigenvalue);
}

}  // namespace
}  // namespace emt::test
