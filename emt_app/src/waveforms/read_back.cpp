#include "waveforms/read_back.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/smpi.hpp"
#include "waveforms/mpi_text.hpp"

namespace emt {
namespace {

void forget(const std::string& path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    ::close(file);
}

}  // namespace

ReadBack read_back(MPI_Comm comm, const std::string& path, const RecordLayout& layout, std::uint64_t record_bytes, const Share& share,
                   std::uint64_t records, std::uint64_t buffer, bool collective) {
    ReadBack out;
    std::error_code error;
    const std::uint64_t there = std::filesystem::file_size(path, error), due = layout.data_at + records * record_bytes;
    if (error) out.failure = "cannot read its size: " + error.message();
    else if (there != due) out.failure = "it has " + std::to_string(there) + " bytes, but " + std::to_string(due) + " were written";
    forget(path);
    MPI_Barrier(comm);  // no rank drops pages that another is reading
    MPI_File file = MPI_FILE_NULL;
    int status = MPI_File_open(comm, path.c_str(), MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
    if (status != MPI_SUCCESS) {
        if (out.failure.empty()) out.failure = "cannot open it to read it back: " + mpi_text(status);
        return out;
    }
    status = share.set_view(file, layout, record_bytes);
    std::vector<char> bytes(share.bytes() * std::min(buffer, records));
    for (std::uint64_t at = 0; at < records && status == MPI_SUCCESS; at += buffer) {
        const auto count = static_cast<int>(share.bytes() * std::min(buffer, records - at));
        const auto offset = static_cast<MPI_Offset>(at * share.bytes());
        const double start = clock_s();
        MPI_Status done;
        if (collective) status = MPI_File_read_at_all(file, offset, bytes.data(), count, MPI_BYTE, &done);
        else if (count > 0) status = MPI_File_read_at(file, offset, bytes.data(), count, MPI_BYTE, &done);
        out.read_s += clock_s() - start;
        if (status != MPI_SUCCESS) break;
        out.bytes += static_cast<std::uint64_t>(count);
        out.digest = fnv1a(bytes.data(), static_cast<std::size_t>(count), out.digest);
    }
    if (status != MPI_SUCCESS && out.failure.empty()) out.failure = "cannot read it back: " + mpi_text(status);
    MPI_File_close(&file);
    return out;
}

}  // namespace emt
