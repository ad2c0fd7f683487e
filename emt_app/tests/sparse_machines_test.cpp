// Synchronous machines of tasks with sparse factors: the solution against the equations, and its bits.
#include <gtest/gtest.h>

#include <algorithm>

#include "digests.hpp"
#include "machine_probe.hpp"

namespace emt::test {
namespace {

/// A chain of 16 buses, hence 48 nodes, with eight machines: four at one bus, two at another.
std::string chain(const std::string& n, double load_ohm) {
    std::string out, buses;
    const auto bus = [&](int i) { return "B" + n + "_" + std::to_string(i); };
    const auto machine = [&](int k, int at, const std::string& data, double angle) {
        out += synchronous("G" + n + "_" + std::to_string(k), bus(at), data, R"("h":3,"v":20e3,"angle":)" + number(angle)) + ",";
    };
    for (int i = 0; i < 16; ++i) {
        out += R"({"type":"resistor","name":"R)" + bus(i) + R"(","buses":[")" + bus(i) + R"(","0"],"r":)" + number(load_ohm + i) + "},";
        if (i > 0) out += R"({"type":"inductor","name":"L)" + bus(i) + R"(","buses":[")" + bus(i - 1) + "\",\"" + bus(i) + R"("],"r":0.05,"l":)" + number(1e-3 + 1e-4 * i) + "},";
    }
    for (int k = 0; k < 4; ++k) machine(k, 3, k % 2 == 0 ? kSalient : kRound, 10);
    for (int k = 4; k < 6; ++k) machine(k, 9, k % 2 == 0 ? kSalient : kRound, 8);
    machine(6, 0, kRound, 12);
    machine(7, 15, kSalient + R"(,"x0":0.1)", 5);
    return out + R"({"type":"fault","name":"F)" + n + R"(","bus":")" + bus(6) + R"(","kind":"abg","r":0.5,"start":0.01,"stop":0.03})";
}

std::string buses(const std::string& n) {
    std::string out;
    for (int i = 0; i < 16; ++i) out += (i > 0 ? ",\"B" : "\"B") + n + "_" + std::to_string(i) + "\"";
    return out;
}

/// The largest residual of (Y + Σ p·pᵀ)·v = j over all nodes, as a part of the largest current of a branch, on the whole matrix.
double residual(const Batch& batch, double dt_s) {
    const LaneTask& lane = batch.lane(0);
    const BatchView& view = batch.view();
    std::vector<double> sum(static_cast<std::size_t>(lane.task->size()));
    double scale = 0;
    const auto add = [&](int i, int k, double g) {
        const double current = g * cell(view.v, k, 0);
        sum[static_cast<std::size_t>(i)] += current;
        scale = std::max(scale, std::abs(current));
    };
    stamp(*lane.task, lane.topology.closed, slopes(*lane.task, dt_s, lane.topology), add);
    for (std::size_t m = 0; m < lane.task->machines.size(); ++m)
        for (std::size_t i = 0; i < 3; ++i)
            for (std::size_t k = 0; k < 3; ++k) {
                const auto p = [&](std::size_t phase) { return cell(view.machines.direction, static_cast<int>(3 * m + phase), 0); };
                add(lane.task->machines[m].node[i], lane.task->machines[m].node[k], p(i) * p(k));
            }
    double out = 0;
    for (std::size_t i = 0; i < sum.size(); ++i) out = std::max(out, std::abs(sum[i] - cell(view.j, static_cast<int>(i), 0)));
    return out / scale;
}

TEST(SparseMachines, TheSolutionSatisfiesTheEquationsOfAllMachines) {
    Simulation s(make_case(chain("a", 6), 50e-6, R"("start":"steady","buses":[)" + buses("a") + "],"));
    const Batch& batch = s.engine().batches().front();
    ASSERT_TRUE(batch.sparse());
    EXPECT_EQ(batch.lane(0).sparse->machines().size(), 8U);
    double excess = 0;  // of one axis, against the conductance of the other
    for (const SynchronousMachine& m : batch.lane(0).task->machines) excess = std::max(excess, std::abs(m.y_d() / m.y_q() - 1));
    EXPECT_GT(excess, 0.2);
    for (int n = 0; n < 1200; ++n) {
        s.run(1);
        if (n >= 600 && n < 800) continue;  // the fault clears: a step with an instant inside ends by interpolation
        ASSERT_LT(residual(batch, s.dt()), 1e-13) << n;
    }
}

TEST(SparseMachines, BitsDoNotDependOnInstructionSetOrNeighbours) {
    const std::string text = make_case(chain("a", 6) + "," + chain("b", 9), 50e-6, R"("start":"steady","buses":[)" + buses("a") + "," + buses("b") + "],");
    EXPECT_TRUE(Simulation(text).engine().batches().front().sparse());
    const Digests both = expect_same_bits_alone(text, 800);
    ASSERT_EQ(both.size(), 2U);
    EXPECT_NE(both[0].second, both[1].second);
}

}  // namespace
}  // namespace emt::test
