// Digests of all voltages, for tests that bits depend neither on the instruction set nor on a task's neighbours.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "simulation.hpp"

namespace emt::test {

using Digests = std::vector<std::pair<int, std::uint64_t>>;

/// Returns the digests after some steps of rank 0, which has only the tasks that are mapped to it, in ascending order.
inline Digests digests_after(int steps, const Case& c, const Decomposition& parts, const std::vector<int>& rank_of_task, const char* isa) {
    EngineOptions options;
    options.kernels = find_kernels(isa);
    Mapping mapping = map_tasks(c.network, parts, 1);
    mapping.rank_of_task = rank_of_task;
    Engine engine(MPI_COMM_SELF, c.network, parts, mapping, options);
    for (int n = 0; n < steps; ++n) engine.step();
    auto out = engine.digests();
    std::sort(out.begin(), out.end());
    return out;
}

/// Expects the same bits from all instruction sets of this machine. Returns the digests.
inline Digests expect_same_bits(const std::string& text, int steps) {
    const Case c = parse_case(text, "test");
    const Decomposition parts = decompose(c.network);
    const std::vector<int> one_rank(parts.tasks.size(), 0);
    const Digests portable = digests_after(steps, c, parts, one_rank, "portable");
    for (const char* isa : {"avx2", "avx512"})
        if (find_kernels(isa) != nullptr) {
            EXPECT_EQ(digests_after(steps, c, parts, one_rank, isa), portable) << isa;
        }
    return portable;
}

/// Expects of each task alone on its rank the bits that it has beside the others. Returns the digests.
inline Digests expect_same_bits_alone(const std::string& text, int steps) {
    const Digests together = expect_same_bits(text, steps);
    const Case c = parse_case(text, "test");
    const Decomposition parts = decompose(c.network);
    for (std::size_t t = 0; t < parts.tasks.size(); ++t) {
        std::vector<int> rank_of_task(parts.tasks.size(), 1);
        rank_of_task[t] = 0;
        EXPECT_EQ(digests_after(steps, c, parts, rank_of_task, "auto"), Digests{together.at(t)}) << t;
    }
    return together;
}

}  // namespace emt::test
