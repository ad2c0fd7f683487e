// Origin of a result.
#pragma once
#include <mpi.h>

#include <nlohmann/json.hpp>

namespace emt {

/// Returns the version of this program.
[[nodiscard]] std::string program_version();
/// Returns compiler, flags, MPI library, host and processor of this rank, and the hosts of all ranks. Collective.
[[nodiscard]] nlohmann::json provenance(MPI_Comm comm);
}  // namespace emt
