// A sample of the pairs of nodes, round by round: memory and files grow with the pairs that are measured.
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

// Whole on rank 0 only.
struct Samples {
    std::vector<SampledRound> rounds;
    std::vector<PairFigures> figures;
    std::uint32_t crc32;  // of the file
};

// Measures the rounds and writes every pair, in their order, into `file`: 36 bytes, little-endian, which are the numbers of the
// first and the second node (uint32), the latency in us, the bandwidth to the second and to the first node in MB/s (float32),
// and uint32: packets that both sent meanwhile and how many got lost, messages compared and how many had another content.
Samples measure_samples(Sweep& sweep, const World& world, const Layout& layout, const SampledSchedule& schedule,
                        const std::filesystem::path& file);

}  // namespace measure::pairs
