// Where and how a result was made.
#pragma once
#include <mpi.h>

#include <nlohmann/json.hpp>

namespace emt {

/// Of this program.
[[nodiscard]] std::string program_version();
/// Compiler, flags, MPI library, host and processor of this rank; hosts of all ranks. Collective.
[[nodiscard]] nlohmann::json provenance(MPI_Comm comm);
}  // namespace emt
