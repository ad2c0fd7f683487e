// A file of records that ranks write together through MPI-IO; a file view spreads each rank's columns over the records.
//
// Records wait in memory until write(). Then all ranks write theirs and agree on the success, and the head of the file
// is amended to the new number of records. So a killed run leaves a file that is readable up to the last buffer.
#pragma once
#include <mpi.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/fnv1a.hpp"
#include "waveforms/record_layout.hpp"

namespace emt {

class RecordFile {
public:
    /// Collective over `comm`; `rank`: this rank in it. `columns`: the file's columns; this rank writes the columns of
    /// `rank`, rank 0 of `comm` the stamps. Keeps up to `buffer` records. With `digests`, data that is read back can be
    /// compared with digest(). failure() gives the reason of a failure.
    RecordFile(MPI_Comm comm, int rank, std::string path, RecordLayout layout, const std::vector<Column>& columns, std::uint64_t buffer, bool collective,
               bool digests);
    RecordFile(const RecordFile&) = delete;
    RecordFile& operator=(const RecordFile&) = delete;

    /// Adds the values of this rank's columns, in their order.
    void add(const std::vector<double>& values);
    /// Writes the waiting records. Collective if the file is. Afterwards agree on failure(), and look() or give_up().
    void write();
    /// After all ranks have written: failure() then also reports a short file. Agree again, and keep() or give_up().
    void look();
    /// Amends the head to the written records.
    void keep();
    /// Makes the file durable, and calls look(). Collective.
    void flush();
    /// Closes the file. Collective; a run that ends otherwise closes nothing, because the other ranks would not.
    void end();
    /// After a failure on any rank: finds the complete records, amends the head to them, and closes the file. Removes a
    /// file without a complete head. Collective.
    void give_up();

    [[nodiscard]] const std::string& failure() const { return failure_; }
    [[nodiscard]] const std::string& path() const { return path_; }
    /// Returns true if the file exists and its readers can open it.
    [[nodiscard]] bool there() const { return there_; }
    /// Returns the number of complete records in the file; after give_up(), the same on all its ranks.
    [[nodiscard]] std::uint64_t records() const { return written_; }
    /// Returns the bytes that this rank wrote, without head and amendments.
    [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
    /// Returns FNV-1a of these bytes in their order.
    [[nodiscard]] std::uint64_t digest() const { return digest_; }
    [[nodiscard]] double write_s() const { return write_s_; }
    [[nodiscard]] double flush_s() const { return flush_s_; }

private:
    void make();
    void open(MPI_Comm comm, MPI_File& file);
    void set_view(const std::vector<Column>& columns, int rank);
    void write_head();
    void amend();
    void check(int status, const char* what);
    [[nodiscard]] std::uint64_t whole_records() const;

    MPI_Comm comm_;
    bool leads_, collective_, digests_, there_ = false;
    std::string path_, failure_;
    RecordLayout layout_;
    std::uint64_t record_bytes_, buffer_records_;
    std::size_t own_bytes_ = 0;          // of a record
    MPI_File head_ = MPI_FILE_NULL, data_ = MPI_FILE_NULL;
    std::vector<char> buffer_;
    std::uint64_t waiting_ = 0, written_ = 0, bytes_ = 0, digest_ = fnv1a(nullptr, 0);
    double write_s_ = 0, flush_s_ = 0;
};

}  // namespace emt
