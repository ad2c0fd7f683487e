#include "waveforms/record_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/fnv1a.hpp"
#include "base/smpi.hpp"
#include "base/whole_file.hpp"
#include "waveforms/mpi_text.hpp"
#include "waveforms/share.hpp"

namespace emt {

constexpr const char* kLess = "the file has less data than was written: check for a full disk or a quota";

RecordFile::RecordFile(MPI_Comm comm, int rank, std::string path, RecordLayout layout, const std::vector<Column>& columns,
                       std::uint64_t buffer, bool collective, bool digests)
    : comm_(comm), collective_(collective), digests_(digests), path_(std::move(path)), layout_(std::move(layout)),
      record_bytes_(layout_.record_bytes(columns.size())), buffer_records_(buffer) {
    int place = 0;
    MPI_Comm_rank(comm_, &place);
    leads_ = place == 0;
    if (leads_) {
        make();
        if (failure_.empty()) write_head();
    }
    int ready = failure_.empty() ? 1 : 0;
    MPI_Bcast(&ready, 1, MPI_INT, 0, comm_);
    if (ready == 0) return;
    there_ = true;
    open(comm_, data_);
    if (failure_.empty()) set_view(columns, rank);
}

void RecordFile::write_head() {
    const int bytes = static_cast<int>(layout_.head.size());
    check(MPI_File_write_at(head_, 0, layout_.head.data(), bytes, MPI_CHAR, MPI_STATUS_IGNORE), "write the head of");
    std::string found(layout_.head.size(), '\0');
    if (failure_.empty()) check(MPI_File_read_at(head_, 0, found.data(), bytes, MPI_CHAR, MPI_STATUS_IGNORE), "read the head of");
    if (failure_.empty() && found != layout_.head) failure_ = kLess;
    if (failure_.empty()) return;
    MPI_File_close(&head_);
    unlink(path_.c_str());  // readers cannot know its format
}

/// MPI would follow a link. It opens the name again, so links are out only where no other user can rename the file.
void RecordFile::make() {
    std::string why;
    const int file = open_in_place(path_, why);
    if (file >= 0) ::close(file), open(MPI_COMM_SELF, head_);
    else failure_ = "cannot open the file: " + why;
}

void RecordFile::open(MPI_Comm comm, MPI_File& file) { check(MPI_File_open(comm, path_.c_str(), MPI_MODE_RDWR, MPI_INFO_NULL, &file), "open"); }

void RecordFile::set_view(const std::vector<Column>& columns, int rank) {
    const Share share(layout_, columns, rank, leads_);
    own_bytes_ = share.bytes();
    buffer_.resize(own_bytes_ * buffer_records_);
    check(share.set_view(data_, layout_, record_bytes_), "lay out");
}

void RecordFile::add(const std::vector<double>& values) {
    char* to = buffer_.data() + waiting_ * own_bytes_;
    if (leads_ && layout_.stamp_bytes > 0) {
        const std::string stamp = layout_.stamp(written_ + waiting_);
        std::memcpy(to, stamp.data(), stamp.size());
        to += stamp.size();
    }
    for (const double value : values) {
        const auto single = static_cast<float>(value);
        std::memcpy(to, layout_.value_bytes == sizeof single ? static_cast<const void*>(&single) : &value, layout_.value_bytes);
        to += layout_.value_bytes;
    }
    ++waiting_;
}

void RecordFile::write() {
    const double start = clock_s();
    const std::size_t bytes = waiting_ * own_bytes_;
    const auto at = static_cast<MPI_Offset>(written_ * own_bytes_);
    MPI_Status status;
    if (collective_) {
        check(MPI_File_write_at_all(data_, at, buffer_.data(), static_cast<int>(bytes), MPI_BYTE, &status), "write");
    } else if (bytes > 0) {
        check(MPI_File_write_at(data_, at, buffer_.data(), static_cast<int>(bytes), MPI_BYTE, &status), "write");
        int done = 0;
        if (failure_.empty() && MPI_Get_count(&status, MPI_BYTE, &done) == MPI_SUCCESS && done < static_cast<int>(bytes))
            failure_ = std::to_string(done) + " of " + std::to_string(bytes) + " bytes were written";
    }
    write_s_ += clock_s() - start;
    if (failure_.empty()) bytes_ += bytes;
    if (digests_) digest_ = fnv1a(buffer_.data(), bytes, digest_);
}

void RecordFile::keep() {
    written_ += waiting_;
    waiting_ = 0;
    const double start = clock_s();
    amend();
    write_s_ += clock_s() - start;
}

void RecordFile::amend() {
    if (!leads_ || head_ == MPI_FILE_NULL) return;
    for (const Amendment& a : layout_.amend(written_))
        check(MPI_File_write_at(head_, static_cast<MPI_Offset>(a.at), a.bytes.data(), static_cast<int>(a.bytes.size()), MPI_CHAR, MPI_STATUS_IGNORE),
              "write the count of records of");
}

void RecordFile::flush() {
    const double start = clock_s();
    check(MPI_File_sync(data_), "flush");
    if (leads_) check(MPI_File_sync(head_), "flush");
    MPI_Barrier(comm_);
    flush_s_ += clock_s() - start;
    look();
}

/// MPI libraries may report success for a short write, and say nothing of a full disk.
void RecordFile::look() {
    if (leads_ && failure_.empty() && whole_records() < written_ + waiting_) failure_ = kLess;
}

void RecordFile::end() {
    const double start = clock_s();
    if (head_ != MPI_FILE_NULL) MPI_File_close(&head_);
    if (data_ != MPI_FILE_NULL) MPI_File_close(&data_);
    flush_s_ += clock_s() - start;
}

void RecordFile::give_up() {
    // Independent ranks may have written different records; a collective write completes them in order, as far as
    // possible.
    if (waiting_ > 0 && !collective_)
        MPI_File_write_at_all(data_, static_cast<MPI_Offset>(written_ * own_bytes_), buffer_.data(), static_cast<int>(waiting_ * own_bytes_), MPI_BYTE,
                              MPI_STATUS_IGNORE);
    MPI_Barrier(comm_);
    if (leads_) {
        written_ = std::min(written_ + waiting_, whole_records());
        amend();
    }
    MPI_Bcast(&written_, 1, MPI_UINT64_T, 0, comm_);
    end();
}

/// Counts records up to the first hole or the end of the file, where writing failed.
std::uint64_t RecordFile::whole_records() const {
    const int file = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    off_t until = lseek(file, static_cast<off_t>(layout_.data_at), SEEK_HOLE);
    if (until < 0) until = lseek(file, 0, SEEK_END);  // a file system without holes, or no record
    ::close(file);
    const auto size = static_cast<std::uint64_t>(std::max<off_t>(until, 0));
    return size < layout_.data_at ? 0 : (size - layout_.data_at) / record_bytes_;
}

void RecordFile::check(int status, const char* what) {
    if (status == MPI_SUCCESS || !failure_.empty()) return;
    failure_ = std::string("cannot ") + what + " the file: " + mpi_text(status);
}

}  // namespace emt
