// Metrics, histogram, replay, mapping.
#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <set>

#include "generate/hq.hpp"
#include "measure/block_times.hpp"
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

TEST(Histogram, TicksOfAnotherRateAreConvertedBeforeTheyAreMerged) {
    // 5 us on a node with 3 ticks per ns and 15 us on one with 2: merged in ticks of the first.
    Histogram fast, slow;
    for (int i = 0; i < 1000; ++i) fast.add(15000), slow.add(30000);
    auto bins = Histogram::rescaled(slow.bins(), 1.5);
    EXPECT_EQ(std::accumulate(bins.begin(), bins.end(), std::uint64_t{0}), 1000U);
    EXPECT_NEAR(Histogram::quantile(bins, 0.5), 45000, 45000 * 0.016);
    for (std::size_t i = 0; i < Histogram::kBins; ++i) bins[i] += fast.bins()[i];
    EXPECT_NEAR(Histogram::quantile(bins, 0.25), 15000, 15000 * 0.016);
    EXPECT_NEAR(Histogram::quantile(bins, 0.75), 45000, 45000 * 0.016);
}

TEST(Histogram, TicksOfTheSameRateStayWhereTheyAre) {
    Histogram h;
    for (std::uint64_t i = 0; i < 100000; ++i) h.add(i * i % 99991);
    h.add(~0ULL);
    EXPECT_EQ(Histogram::rescaled(h.bins(), 1), h.bins());
    const auto squeezed = Histogram::rescaled(h.bins(), 0.3), spread = Histogram::rescaled(h.bins(), 3);
    EXPECT_EQ(std::accumulate(squeezed.begin(), squeezed.end(), std::uint64_t{0}), h.count());
    EXPECT_EQ(std::accumulate(spread.begin(), spread.end(), std::uint64_t{0}), h.count());
}

TEST(BlockTimes, HoldTheWaitsOfBatchesAndNotADisturbance) {
    // Every eighth step waits for a batch: 100 ticks that the median of single steps does not see; one step stops for long.
    BlockTimes blocks(4096);
    EXPECT_EQ(blocks.length(), 256U);
    Histogram single;
    for (int i = 0; i < 4096; ++i) {
        const std::uint64_t ticks = i == 1000 ? 1000000 : i % 8 == 0 ? 110 : 10;
        blocks.add(ticks);
        single.add(ticks);
    }
    EXPECT_EQ(blocks.step_us(2).size(), 16U);
    EXPECT_DOUBLE_EQ(median(blocks.step_us(2)), 2 * 22.5);
    EXPECT_LT(Histogram::quantile(single.bins(), 0.5), 12);
    EXPECT_GT(single.mean(), 200);
}

TEST(BlockTimes, ShortRunsHaveShorterBlocks) {
    for (const auto& [steps, length, count] : {std::array{2047, 255, 8}, {2048, 256, 8}, {2400, 256, 9}, {17, 2, 8}, {15, 1, 15}, {1, 1, 1}}) {
        BlockTimes blocks(static_cast<std::uint64_t>(steps));
        for (int i = 0; i < steps; ++i) blocks.add(7);
        EXPECT_EQ(blocks.length(), static_cast<std::uint64_t>(length));
        EXPECT_EQ(blocks.step_us(1), std::vector<double>(static_cast<std::size_t>(count), 7));
    }
    BlockTimes ended(1U << 20);
    for (int i = 0; i < 3; ++i) ended.add(7);
    EXPECT_EQ(ended.length(), 3U);
    EXPECT_EQ(ended.step_us(1), std::vector<double>(1, 7));
    EXPECT_DOUBLE_EQ(median({4, 1, 9, 2}), 3);
    EXPECT_DOUBLE_EQ(median({4, 1, 9}), 4);
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
    const Batching batching(c.network, parts);
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
