#include "snapshot/snapshot.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "base/fnv1a.hpp"

namespace emt {
namespace {

constexpr std::uint64_t kVersion = 2;
constexpr char kMagic[8] = {'E', 'M', 'T', 'S', 'N', 'A', 'P', '\n'};
constexpr int kTag = 75;
constexpr std::size_t kPiece = std::size_t{1} << 30;  // MPI counts in int

struct Head {
    char magic[8];
    std::uint64_t version, case_digest;
    double dt_s;
    std::uint64_t step, unsettled, tasks, lines, body_bytes, body_digest, digest;
    [[nodiscard]] std::uint64_t own_digest() const { return fnv1a(this, offsetof(Head, digest)); }
};
static_assert(sizeof(Head) == 88);

/// A file that gets its name only when it is complete and on the disk.
class WholeFile {
public:
    explicit WholeFile(const std::string& path)
        : path_(path), part_(path + ".part"), file_(open(part_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {
        if (file_ < 0) refuse();
    }
    ~WholeFile() {
        if (file_ >= 0) close(file_);
    }
    WholeFile(const WholeFile&) = delete;
    WholeFile& operator=(const WholeFile&) = delete;

    void write(const void* data, std::size_t bytes, off_t at) {
        const char* from = static_cast<const char*>(data);
        while (bytes > 0) {
            const ssize_t done = pwrite(file_, from, bytes, at);
            if (done < 0 && errno == EINTR) continue;
            if (done <= 0) refuse();
            from += done;
            at += done;
            bytes -= static_cast<std::size_t>(done);
        }
    }
    void appear() {
        if (fsync(file_) != 0 || std::rename(part_.c_str(), path_.c_str()) != 0) refuse();
        const std::size_t slash = path_.rfind('/');
        const int folder = open(slash == std::string::npos ? "." : path_.substr(0, slash + 1).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        // Best effort: some file systems cannot flush a folder.
        if (folder >= 0) static_cast<void>(fsync(folder)), close(folder);
    }

private:
    [[noreturn]] void refuse() const {
        const std::string why = std::strerror(errno);
        unlink(part_.c_str());
        throw std::runtime_error(path_ + ": the snapshot cannot be written: " + why + "; an older snapshot with this name is intact");
    }
    std::string path_, part_;
    int file_;
};

void send_bytes(MPI_Comm comm, const std::string& bytes) {
    std::uint64_t size = bytes.size();
    MPI_Send(&size, 1, MPI_UINT64_T, 0, kTag, comm);
    for (std::size_t at = 0; at < bytes.size(); at += kPiece)
        MPI_Send(bytes.data() + at, static_cast<int>(std::min(kPiece, bytes.size() - at)), MPI_BYTE, 0, kTag, comm);
}

std::string receive_bytes(MPI_Comm comm, int from) {
    std::uint64_t size = 0;
    MPI_Recv(&size, 1, MPI_UINT64_T, from, kTag, comm, MPI_STATUS_IGNORE);
    std::string bytes(size, '\0');
    for (std::size_t at = 0; at < bytes.size(); at += kPiece)
        MPI_Recv(bytes.data() + at, static_cast<int>(std::min(kPiece, bytes.size() - at)), MPI_BYTE, from, kTag, comm, MPI_STATUS_IGNORE);
    return bytes;
}

void broadcast(MPI_Comm comm, std::string& bytes) {
    std::uint64_t size = bytes.size();
    MPI_Bcast(&size, 1, MPI_UINT64_T, 0, comm);
    bytes.resize(size);
    for (std::size_t at = 0; at < bytes.size(); at += kPiece)
        MPI_Bcast(bytes.data() + at, static_cast<int>(std::min(kPiece, bytes.size() - at)), MPI_BYTE, 0, comm);
}

constexpr const char* kOther = "; give another snapshot, or none to start from the beginning";

/// Returns the fault of a snapshot, or an empty text.
std::string fault(const std::string& path, const std::string& file, const StudyId& id) {
    Head head{};
    if (file.size() < sizeof kMagic || std::memcmp(file.data(), kMagic, sizeof kMagic) != 0) return path + " is no snapshot of emt" + kOther;
    std::memcpy(&head, file.data(), std::min(file.size(), sizeof head));
    // Check first: another version may have another head.
    if (file.size() >= sizeof kMagic + sizeof head.version && head.version != kVersion)
        return path + " is a snapshot of format version " + std::to_string(head.version) + ", but this program reads version " +
               std::to_string(kVersion) + ": continue with the program that wrote it, or start from the beginning";
    if (file.size() < sizeof head || head.digest != head.own_digest()) return path + " is damaged: the checksum of its head is wrong" + kOther;
    if (file.size() - sizeof head != head.body_bytes)
        return path + " is damaged: " + std::to_string(file.size() - sizeof head) + " bytes follow its head, which states " + std::to_string(head.body_bytes) + kOther;
    if (fnv1a(file.data() + sizeof head, head.body_bytes) != head.body_digest) return path + " is damaged: the checksum of its content is wrong" + kOther;
    if (head.case_digest != id.case_digest) return path + " is a snapshot of another case: give the case file of the run that wrote it, unchanged";
    if (head.dt_s != id.dt_s) {
        std::ostringstream text;
        text.precision(17);
        text << path << " was written with a time step of " << head.dt_s << " s, but this run has " << id.dt_s << " s: give --dt " << head.dt_s;
        return text.str();
    }
    if (head.tasks != id.tasks || head.lines != id.lines) return path + " divides the case into other tasks: continue with the program that wrote it";
    return "";
}

/// Returns the file's bytes; `failure` gets the reason if it cannot be read.
std::string read_file(const std::string& path, std::string& failure) {
    errno = 0;
    std::ifstream in(path, std::ios::binary);
    std::ostringstream all;
    if (in && in.peek() != std::ifstream::traits_type::eof()) all << in.rdbuf();
    if (!in.is_open() || in.bad() || !all) failure = path + ": the snapshot cannot be read: " + std::strerror(errno);
    return failure.empty() ? all.str() : "";
}

}  // namespace

/// A rank's records.
class SnapshotBody {
public:
    using Kind = Snapshot::Kind;
    /// Adds the record if `visit` returns true: this rank owns it.
    template <class Visit>
    void add(Kind kind, int number, Visit&& visit) {
        Archive state, head;
        if (!visit(state)) return;
        std::uint64_t size = state.bytes().size();
        head(kind);
        head(number);
        head(size);
        bytes += head.bytes();
        bytes += state.bytes();
    }
    std::string bytes;
};

std::uint64_t write_snapshot(MPI_Comm comm, const std::string& path, const StudyId& id, Engine& engine, const Keepsakes& more) {
    using Kind = SnapshotBody::Kind;
    int rank = 0, size = 1;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    SnapshotBody own;
    for (int t = 0; t < static_cast<int>(id.tasks); ++t) own.add(Kind::task, t, [&](Archive& a) { return engine.visit_task(t, a); });
    for (int i = 0; i < 2 * static_cast<int>(id.lines); ++i) own.add(Kind::line_end, i, [&](Archive& a) { return engine.visit_line(i / 2, i % 2, a); });
    for (const int n : more.numbers) own.add(Kind::keepsake, n, [&](Archive& a) { return more.keep(n, a), true; });
    long mine = engine.unsettled(), unsettled = 0;
    MPI_Reduce(&mine, &unsettled, 1, MPI_LONG, MPI_SUM, 0, comm);
    if (rank != 0) {
        send_bytes(comm, own.bytes);
        return 0;
    }
    // Writes each rank's part before the next one arrives, so that no rank must hold all parts.
    WholeFile file(path);
    Head head{{}, kVersion, id.case_digest, id.dt_s, engine.steps(), static_cast<std::uint64_t>(unsettled), id.tasks, id.lines, 0, fnv1a(nullptr, 0), 0};
    std::memcpy(head.magic, kMagic, sizeof kMagic);
    for (int from = 0; from < size; ++from) {
        const std::string part = from == 0 ? std::move(own.bytes) : receive_bytes(comm, from);
        file.write(part.data(), part.size(), static_cast<off_t>(sizeof head + head.body_bytes));
        head.body_bytes += part.size();
        head.body_digest = fnv1a(part.data(), part.size(), head.body_digest);
    }
    head.digest = head.own_digest();
    file.write(&head, sizeof head, 0);
    file.appear();
    return sizeof head + head.body_bytes;
}

Snapshot::Snapshot(MPI_Comm comm, const std::string& path, const StudyId& id) : path_(path), tasks_(id.tasks), lines_(id.lines) {
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    std::string failure;
    if (rank == 0) {
        body_ = read_file(path, failure);
        if (failure.empty()) failure = fault(path, body_, id);
    }
    broadcast(comm, failure);
    if (!failure.empty()) throw std::runtime_error(failure);
    broadcast(comm, body_);
    Head head{};
    std::memcpy(&head, body_.data(), sizeof head);
    body_.erase(0, sizeof head);
    step_ = head.step;
    unsettled_ = head.unsettled;
}

void Snapshot::records(const std::function<void(Kind, int, std::string_view)>& visit) const {
    for (std::string_view rest(body_); !rest.empty();) {
        Archive head(rest);
        Kind kind{};
        int number = 0;
        std::uint64_t size = 0;
        head(kind);
        head(number);
        head(size);
        rest.remove_prefix(rest.size() - head.left());
        if (size > rest.size()) throw std::runtime_error("ends inside a record");
        visit(kind, number, rest.substr(0, size));
        rest.remove_prefix(size);
    }
}

void Snapshot::into(Engine& engine, bool first_rank) const {
    engine.resume_at(step_, first_rank ? static_cast<long>(unsettled_) : 0);
    std::vector<int> task(tasks_), end(2 * lines_);
    try {
        records([&](Kind kind, int number, std::string_view bytes) {
            if (kind == Kind::keepsake) return;
            std::vector<int>& seen = kind == Kind::task ? task : end;
            if (number < 0 || static_cast<std::size_t>(number) >= seen.size()) throw std::runtime_error("has a record that does not belong to the case");
            ++seen[static_cast<std::size_t>(number)];
            Archive archive(bytes);
            const bool here = kind == Kind::task ? engine.visit_task(number, archive) : engine.visit_line(number / 2, number % 2, archive);
            if (here && archive.left() != 0) throw std::runtime_error("has a record of another size");
        });
        for (const auto* seen : {&task, &end})
            if (std::any_of(seen->begin(), seen->end(), [](int times) { return times != 1; })) throw std::runtime_error("lacks a record, or has one twice");
    } catch (const std::runtime_error& e) {
        throw std::runtime_error(path_ + " is not damaged, but does not fit this program: it " + e.what() + "; continue with the program that wrote it");
    }
}

bool Snapshot::recall(int wanted, const std::function<void(Archive&)>& visit) const {
    bool found = false;
    records([&](Kind kind, int number, std::string_view bytes) {
        if (kind != Kind::keepsake || number != wanted) return;
        Archive archive(bytes);
        visit(archive);
        found = true;
    });
    return found;
}

}  // namespace emt
