// A file of records that ranks write together through MPI-IO: each has columns of its own, which a file view spreads over the records.
//
// Records wait in memory until write(); then all ranks write theirs and agree that it went well, and the head of the file
// is amended to the records that it now has. So a run that is killed leaves a file that can be read up to the last buffer.
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
    /// Collective over `comm`, whose rank `rank` this is. `columns` are those of the file; a Column's rank that is `rank` is written
    /// here, the stamps by rank 0 of `comm`; it keeps up to `buffer` records. With `digests` what is read back can be held against
    /// digest(). failure() says what went wrong.
    RecordFile(MPI_Comm comm, int rank, std::string path, RecordLayout layout, const std::vector<Column>& columns, std::uint64_t buffer, bool collective,
               bool digests);
    RecordFile(const RecordFile&) = delete;
    RecordFile& operator=(const RecordFile&) = delete;

    /// The values of this rank's columns, in their order.
    void add(const std::vector<double>& values);
    /// Writes what waits. Collective if the file is; agree on failure() afterwards, then call look() or give_up().
    void write();
    /// After all ranks have written: failure() also says when the file is shorter than it should be. Agree again, then call keep() or give_up().
    void look();
    /// The head says what has been written.
    void keep();
    /// Makes it durable, and looks. Collective.
    void flush();
    /// Closes the file. Collective; a run that ends otherwise closes nothing, because the other ranks would not.
    void end();
    /// After a failure on any rank: finds the records that are whole, amends the head to them and closes the file, which goes if it has no
    /// whole head. Collective.
    void give_up();

    [[nodiscard]] const std::string& failure() const { return failure_; }
    [[nodiscard]] const std::string& path() const { return path_; }
    /// There is one that its readers can open.
    [[nodiscard]] bool there() const { return there_; }
    /// In the file, whole; after give_up() the same on all its ranks.
    [[nodiscard]] std::uint64_t records() const { return written_; }
    /// That this rank wrote, head and amendments not counted.
    [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
    /// FNV-1a of these bytes in their order.
    [[nodiscard]] std::uint64_t digest() const { return digest_; }
    [[nodiscard]] double write_s() const { return write_s_; }
    [[nodiscard]] double flush_s() const { return flush_s_; }

private:
    void open(bool create);
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
