#include "waveforms/share.hpp"

namespace emt {

Share::Share(const RecordLayout& layout, const std::vector<Column>& columns, int rank, bool stamps) {
    if (stamps && layout.stamp_bytes > 0) take(0, layout.stamp_bytes);
    for (std::size_t i = 0; i < columns.size(); ++i)
        if (columns[i].rank == rank) take(layout.stamp_bytes + i * layout.value_bytes, layout.value_bytes);
    if (bytes_ == 0) take(0, 1), bytes_ = 0;  // a view must hold something; nothing is moved through this one
}

void Share::take(std::size_t at, std::size_t bytes) {
    if (!starts_.empty() && starts_.back() + lengths_.back() == static_cast<MPI_Aint>(at)) {
        lengths_.back() += static_cast<int>(bytes);
    } else {
        starts_.push_back(static_cast<MPI_Aint>(at));
        lengths_.push_back(static_cast<int>(bytes));
    }
    bytes_ += bytes;
}

int Share::set_view(MPI_File file, const RecordLayout& layout, std::uint64_t record_bytes) const {
    MPI_Datatype pieces = MPI_DATATYPE_NULL, record = MPI_DATATYPE_NULL;
    MPI_Type_create_hindexed(static_cast<int>(starts_.size()), lengths_.data(), starts_.data(), MPI_BYTE, &pieces);
    MPI_Type_create_resized(pieces, 0, static_cast<MPI_Aint>(record_bytes), &record);
    MPI_Type_commit(&record);
    const int status = MPI_File_set_view(file, static_cast<MPI_Offset>(layout.data_at), MPI_BYTE, record, "native", MPI_INFO_NULL);
    MPI_Type_free(&record);
    MPI_Type_free(&pieces);
    return status;
}

}  // namespace emt
