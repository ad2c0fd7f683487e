// What lies in a file of waveforms after it was written, read by MPI-IO as it was written.
#pragma once
#include <mpi.h>

#include "base/fnv1a.hpp"
#include "waveforms/share.hpp"

namespace emt {

struct ReadBack {
    std::uint64_t bytes = 0;
    std::uint64_t digest = fnv1a(nullptr, 0);  // as RecordFile::digest()
    double read_s = 0;                         // in calls of MPI-IO that read
    std::string failure;                       // why nothing, or less than there should be, was read
};

/// Reads the share of so many records, `buffer` at a time. What this node keeps of the file in memory is dropped before, as far as its system
/// does so on advice. Collective over `comm`.
[[nodiscard]] ReadBack read_back(MPI_Comm comm, const std::string& path, const RecordLayout& layout, std::uint64_t record_bytes, const Share& share,
                                 std::uint64_t records, std::uint64_t buffer, bool collective);

}  // namespace emt
