// One digest of a whole run: what must be the same however the run is spread.
#pragma once
#include <mpi.h>

#include <cstdint>
#include <string>
#include <vector>

#include "parallel/engine.hpp"

namespace emt {

/// Digests of all voltages at all steps of each task, in the order of the case, at rank 0. Collective over `comm`.
[[nodiscard]] std::vector<std::uint64_t> task_digests(MPI_Comm comm, const Engine& engine, std::size_t tasks);
/// Of these digests.
[[nodiscard]] std::string checksum(const std::vector<std::uint64_t>& digests);
/// Sixteen hexadecimal digits.
[[nodiscard]] std::string sixteen_digits(std::uint64_t digest);

}  // namespace emt
