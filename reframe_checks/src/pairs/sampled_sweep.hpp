// A sample of the pairs of nodes, round by round: memory and files grow with the number of measured pairs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "common/world.hpp"
#include "pairs/layout.hpp"
#include "pairs/schedule.hpp"
#include "pairs/sweep_all.hpp"

namespace measure::pairs {

struct SampledRound {
    std::size_t pairs;
    double seconds;
};

// Complete on rank 0 only.
struct Samples {
    std::vector<SampledRound> rounds;
    std::vector<PairFigures> figures;
    std::uint32_t crc32;  // of the file
};

// Measures the rounds and writes every pair, in order, into `file`, 36 bytes, little-endian. As uint32: numbers of
// first and second node. As float32: latency in us, bandwidths to the second and to the first node in MB/s. As uint32:
// packets that both sent meanwhile, lost packets, compared messages, messages with wrong content.
Samples measure_samples(Sweep& sweep, const World& world, const Layout& layout, const SampledSchedule& schedule,
                        const std::filesystem::path& file);

}  // namespace measure::pairs
