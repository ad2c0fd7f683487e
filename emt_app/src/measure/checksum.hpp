// One digest of a whole run, which must not depend on the distribution over ranks.
#pragma once
#include <mpi.h>

#include <cstdint>
#include <string>
#include <vector>

#include "parallel/engine.hpp"

namespace emt {

/// Returns at rank 0, for each task of the case, the digest of all voltages at all steps. Collective over `comm`.
[[nodiscard]] std::vector<std::uint64_t> task_digests(MPI_Comm comm, const Engine& engine, std::size_t tasks);
/// Returns the checksum of these digests.
[[nodiscard]] std::string checksum(const std::vector<std::uint64_t>& digests);
/// Returns sixteen hexadecimal digits.
[[nodiscard]] std::string sixteen_digits(std::uint64_t digest);

}  // namespace emt
