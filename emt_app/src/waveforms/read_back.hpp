// Reads a written file of waveforms back by MPI-IO, in the same way as it was written.
#pragma once
#include <mpi.h>

#include "base/fnv1a.hpp"
#include "waveforms/share.hpp"

namespace emt {

struct ReadBack {
    std::uint64_t bytes = 0;
    std::uint64_t digest = fnv1a(nullptr, 0);  // as RecordFile::digest()
    double read_s = 0;                         // in calls of MPI-IO that read
    std::string failure;                       // reason why less than expected was read
};

/// Reads the share of a number of records, `buffer` at a time. First drops the file from this node's page cache, as far
/// as the system follows the advice. Collective over `comm`.
[[nodiscard]] ReadBack read_back(MPI_Comm comm, const std::string& path, const RecordLayout& layout, std::uint64_t record_bytes, const Share& share,
                                 std::uint64_t records, std::uint64_t buffer, bool collective);

}  // namespace emt
