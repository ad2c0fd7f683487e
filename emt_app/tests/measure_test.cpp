// Metrics, histogram, replay, mapping.
#include <gtest/gtest.h>

#include <set>

#include "generate/hq.hpp"
#include "measure/histogram.hpp"
#include "measure/metrics.hpp"
#include "parallel/batching.hpp"
#include "measure/replay.hpp"
#include "simulation.hpp"

namespace emt::test {
namespace {

TEST(Metrics, KarpFlattReproducesThePapersPlateau) {
    // φ = 58 us, κ′ = 11 us, p = 48: about 0.19, where equation (8) as printed gives 0.81.
    const Metrics m = metrics(0, 58, 58.0 / 48 + 11, 48);
    EXPECT_NEAR(m.kappa_us, 11, 1e-12);
    EXPECT_NEAR(m.karp_flatt, 0.19, 0.005);
    EXPECT_NEAR((1 - 1 / m.speedup) / (1 - 1.0 / 48), 0.81, 0.01);
    EXPECT_NEAR(m.efficiency, m.speedup / 48, 1e-15);
}

TEST(Metrics, PerfectParallelismHasNoSerialFraction) { EXPECT_NEAR(metrics(0, 100, 25, 4).karp_flatt, 0, 1e-15); }

TEST(Histogram, QuantilesAreInterpolated) {
    Histogram h;
    for (std::uint64_t i = 0; i < 131072; ++i) h.add(i);  // fills its last bin
    EXPECT_NEAR(Histogram::quantile(h.bins(), 0.5), 65536, 1);
    EXPECT_NEAR(Histogram::quantile(h.bins(), 0.99), 0.99 * 131072, 1);
    EXPECT_EQ(h.max(), 131071U);
    for (std::uint64_t x : {1ULL, 15ULL, 16ULL, 17ULL, 1000ULL, 123456789ULL, ~0ULL}) {
        EXPECT_LE(Histogram::low(Histogram::bin(x)), static_cast<double>(x));
        EXPECT_LT(Histogram::bin(x), Histogram::kBins);
    }
}

TEST(Replay, GivesTheRecordedBitsAgain) {
    Simulation s(generate_hq(1, 2).dump());
    s.run(100);
    const Work w = measure_work(MPI_COMM_SELF, s.engine());
    EXPECT_TRUE(w.exact);
    EXPECT_GT(w.phi_us, 0);
    EXPECT_GT(w.phi_cached_us, 0);
    EXPECT_GT(w.sigma_us, 0);
}

TEST(Mapping, IsSilentAlsoWithMoreRanksThanTasks) {
    const Case c = parse_case(generate_hq(1, 1).dump(), "hq");
    const Decomposition parts = decompose(c.network);
    testing::internal::CaptureStdout();
    const Mapping m = map_tasks(c.network, parts, 2000);
    EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
    EXPECT_EQ(std::set<int>(m.rank_of_task.begin(), m.rank_of_task.end()).size(), parts.tasks.size());
}

TEST(Mapping, UsesEveryRankAndBalances) {
    const Case c = parse_case(generate_hq(1, 1).dump(), "hq");
    const Decomposition parts = decompose(c.network);
    const Batching batching(parts);
    double total = 0;
    for (int t = 0; t < static_cast<int>(parts.tasks.size()); ++t) total += batching.task_cost_us(t);
    for (const int ranks : {2, 7, 48, 172}) {
        const Mapping m = map_tasks(c.network, parts, ranks);
        EXPECT_EQ(std::set<int>(m.rank_of_task.begin(), m.rank_of_task.end()).size(), static_cast<std::size_t>(ranks));
        EXPECT_GE(m.modelled_step_us, total / ranks);
    }
}

}  // namespace
}  // namespace emt::test
