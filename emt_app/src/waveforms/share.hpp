// One rank's share of each record of a file of waveforms.
#pragma once
#include <mpi.h>

#include "waveforms/record_layout.hpp"

namespace emt {

class Share {
public:
    /// The share: values of the columns of this rank, with `stamps` after the stamp.
    Share(const RecordLayout& layout, const std::vector<Column>& columns, int rank, bool stamps);
    /// Returns the bytes per record.
    [[nodiscard]] std::size_t bytes() const { return bytes_; }
    /// Sets an open file's view to this share of its records only. Collective over its ranks; returns MPI's status.
    [[nodiscard]] int set_view(MPI_File file, const RecordLayout& layout, std::uint64_t record_bytes) const;

private:
    void take(std::size_t at, std::size_t bytes);

    std::vector<int> lengths_;
    std::vector<MPI_Aint> starts_;
    std::size_t bytes_ = 0;
};

}  // namespace emt
