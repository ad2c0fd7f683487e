// Cases with synchronous machines, and a look inside the machines.
#pragma once
#include <cmath>
#include <complex>
#include <cstdio>
#include <numbers>
#include <string>

#include "simulation.hpp"

namespace emt::test {

/// 100 MVA, 20 kV at 60 Hz: bases of voltage and current (peak, phase), ohm, rad/s.
/// Constants of the compiler: Clang initializes inline variables of several files in another order.
inline constexpr double kVolt = 20e3 * 0.81649658092772603 /* √(2/3) */, kAmpere = 2 * 100e6 / (3 * kVolt), kOhm = kVolt / kAmpere, kOmega = 120 * std::numbers::pi;

inline const std::string kSalient = R"("rated_power":100e6,"rated_voltage":20e3,"ra":0.003,"xl":0.12,"xd":1.1,"xd1":0.3,"xd2":0.22,"xq":0.7,"xq2":0.29,"td10":6,"td20":0.04,"tq20":0.06)";
inline const std::string kRound = R"("rated_power":100e6,"rated_voltage":20e3,"ra":0.003,"xl":0.15,"xd":1.8,"xd1":0.3,"xd2":0.23,"xq":1.7,"xq1":0.55,"xq2":0.25,"td10":8,"td20":0.03,"tq10":0.4,"tq20":0.05)";

inline std::string number(double x) {
    char text[40];
    std::snprintf(text, sizeof text, "%.17g", x);
    return text;
}

inline std::string synchronous(const std::string& name, const std::string& bus, const std::string& data, const std::string& more) {
    return R"({"type":"synchronous_machine","name":")" + name + R"(","bus":")" + bus + "\"," + data + "," + more + "}";
}

/// One machine of a simulation.
class MachineProbe {
public:
    MachineProbe(Simulation& simulation, int number) {
        for (Batch& b : simulation.engine().batches())
            for (int l = 0; l < b.lanes(); ++l)
                for (std::size_t s = 0; s < b.lane(l).task->machines.size(); ++s)
                    if (b.lane(l).task->machines[s].number == number) batch_ = &b, lane_ = l, slot_ = static_cast<int>(s);
    }
    [[nodiscard]] const SynchronousMachine& data() const { return batch_->lane(lane_).task->machines[static_cast<std::size_t>(slot_)]; }
    /// Returns the angle of a mass, turns against the synchronous frame.
    [[nodiscard]] double angle(int mass = 0) const { return at(rows().angle, kMasses, mass); }
    [[nodiscard]] double speed_deviation(int mass = 0) const { return at(rows().speed, kMasses, mass); }
    /// d + jq of the current that leaves the machine, per unit, now.
    [[nodiscard]] Complex current() const {
        const Complex v = voltage();
        return {at(rows().history, 3, 0) - data().y_d() * v.real(), at(rows().history, 3, 1) - data().y_q() * v.imag()};
    }
    /// Returns the current of phase a, A.
    [[nodiscard]] double current_a() const { return kAmpere * (current() * frame()).real(); }
    [[nodiscard]] Complex current_alpha_beta() const { return current() * frame(); }
    /// d + jq of the terminal voltage, per unit.
    [[nodiscard]] Complex voltage() const {
        const SynchronousMachine& m = data();
        const auto v = [&](std::size_t k) { return cell(batch_->view().v, m.node[k], lane_) / m.v_base; };
        return Complex((2 * v(0) - v(1) - v(2)) / 3, (v(1) - v(2)) / std::sqrt(3.0)) * std::conj(frame());
    }
    /// Published at the last step's beginning: speed, terminal voltage, power, current of the field, angle.
    [[nodiscard]] double published(int k) const { return at(rows().published, kPublished, k); }
    [[nodiscard]] double field_voltage() const { return at(rows().constant, 2, 0); }
    [[nodiscard]] double torque() const { return at(rows().torque, 1, 0); }

private:
    [[nodiscard]] const SynchronousMachineRows& rows() const { return batch_->view().machines; }
    [[nodiscard]] double at(const double* of, int per_slot, int i) const { return cell(of, per_slot * slot_ + i, lane_); }
    [[nodiscard]] Complex frame() const { return {at(rows().axis, 2, 0), at(rows().axis, 2, 1)}; }

    Batch* batch_ = nullptr;
    int lane_ = 0, slot_ = 0;
};

}  // namespace emt::test
