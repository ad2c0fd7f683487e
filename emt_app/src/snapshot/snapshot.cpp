#include "snapshot/snapshot.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sstream>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/fnv1a.hpp"
#include "base/whole_file.hpp"

namespace emt {
namespace {

constexpr std::uint64_t kVersion = 2;
constexpr char kMagic[8] = {'E', 'M', 'T', 'S', 'N', 'A', 'P', '\n'};
constexpr int kTag = 75;
constexpr std::size_t kPiece = std::size_t{1} << 30;  // MPI counts in int
constexpr std::uint64_t kMost = 1'000'000'000'000'000;  // of steps and of unsettled solutions: beyond it, counters could overflow
constexpr std::uint64_t kMostOfKeepsakes = std::uint64_t{1} << 26;  // bytes: energies of a million channels

struct Head {
    char magic[8];
    std::uint64_t version, case_digest;
    double dt_s;
    std::uint64_t step, unsettled, tasks, lines, body_bytes, body_digest, digest;
    [[nodiscard]] std::uint64_t own_digest() const { return fnv1a(this, offsetof(Head, digest)); }
};
static_assert(sizeof(Head) == 88);

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

/// Returns the fault of a snapshot's head, with `there` bytes before the end of a file of `size` bytes, or an empty text.
std::string fault(const std::string& path, const Head& head, std::size_t there, std::uint64_t size, const StudyId& id) {
    if (there < sizeof kMagic || std::memcmp(head.magic, kMagic, sizeof kMagic) != 0) return path + " is no snapshot of emt" + kOther;
    // Check first: another version may have another head.
    if (there >= sizeof kMagic + sizeof head.version && head.version != kVersion)
        return path + " is a snapshot of format version " + std::to_string(head.version) + ", but this program reads version " +
               std::to_string(kVersion) + ": continue with the program that wrote it, or start from the beginning";
    if (there < sizeof head || head.digest != head.own_digest()) return path + " is damaged: the checksum of its head is wrong" + kOther;
    if (size - sizeof head != head.body_bytes)
        return path + " is damaged: " + std::to_string(size - sizeof head) + " bytes follow its head, which states " + std::to_string(head.body_bytes) + kOther;
    if (head.case_digest != id.case_digest) return path + " is a snapshot of another case: give the case file of the run that wrote it, unchanged";
    if (head.dt_s != id.dt_s) {
        std::ostringstream text;
        text.precision(17);
        text << path << " was written with a time step of " << head.dt_s << " s, but this run has " << id.dt_s << " s: give --dt " << head.dt_s;
        return text.str();
    }
    if (head.tasks != id.tasks || head.lines != id.lines) return path + " divides the case into other tasks: continue with the program that wrote it";
    if (head.step > kMost || head.unsettled > kMost)
        return path + " states " + std::to_string(head.step) + " steps and " + std::to_string(head.unsettled) + " unsettled solutions, more than " +
               std::to_string(kMost) + ", which no run reaches" + kOther;
    return "";
}

/// Opens a regular file, and returns its size; `failure` gets the reason if that is impossible. A pipe might never end.
int open_to_read(const std::string& path, std::uint64_t& size, std::string& failure) {
    const int file = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    struct stat about {};
    const bool known = file >= 0 && fstat(file, &about) == 0;
    size = static_cast<std::uint64_t>(about.st_size);
    if (known && S_ISREG(about.st_mode)) return file;
    failure = path + ": the snapshot cannot be read: " + (!known ? std::strerror(errno) : S_ISDIR(about.st_mode) ? std::strerror(EISDIR) : "it is no regular file");
    if (file >= 0) close(file);
    return -1;
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
    /// Adds the tasks and line ends of this rank.
    void add(const StudyId& id, Engine& engine) {
        for (int t = 0; t < static_cast<int>(id.tasks); ++t) add(Kind::task, t, [&](Archive& a) { return engine.visit_task(t, a); });
        for (int i = 0; i < 2 * static_cast<int>(id.lines); ++i) add(Kind::line_end, i, [&](Archive& a) { return engine.visit_line(i / 2, i % 2, a); });
    }
    std::string bytes;
};

std::uint64_t write_snapshot(MPI_Comm comm, const std::string& path, const StudyId& id, Engine& engine, const Keepsakes& more) {
    using Kind = SnapshotBody::Kind;
    int rank = 0, size = 1;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    SnapshotBody own;
    own.add(id, engine);
    for (const int n : more.numbers) own.add(Kind::keepsake, n, [&](Archive& a) { return more.keep(n, a), true; });
    long mine = engine.unsettled(), unsettled = 0;
    MPI_Reduce(&mine, &unsettled, 1, MPI_LONG, MPI_SUM, 0, comm);
    if (rank != 0) {
        send_bytes(comm, own.bytes);
        return 0;
    }
    // Writes each rank's part before the next one arrives, so that no rank must hold all parts.
    WholeFile file(path, ".part");  // without a number: one snapshot after the other replaces that of a killed run
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
    file.appear(true);
    return sizeof head + head.body_bytes;
}

Snapshot::Snapshot(MPI_Comm comm, const std::string& path, const StudyId& id) : comm_(comm), path_(path), id_(id), file_(nullptr, std::fclose) {
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    Head head{};
    std::string failure;
    if (rank == 0) {
        std::uint64_t size = 0;
        if (const int file = open_to_read(path, size, failure); file >= 0) {
            file_.reset(fdopen(file, "rb"));
            failure = fault(path, head, std::fread(&head, 1, sizeof head, file_.get()), size, id);
        }
    }
    broadcast(comm, failure);
    if (!failure.empty()) throw std::runtime_error(failure);
    MPI_Bcast(&head, sizeof head, MPI_BYTE, 0, comm);
    step_ = head.step;
    unsettled_ = head.unsettled;
    body_bytes_ = head.body_bytes;
    body_digest_ = head.body_digest;
}

void Snapshot::read_body(Engine& engine) {
    SnapshotBody own;
    own.add(id_, engine);
    std::uint64_t most = own.bytes.size();
    MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_UINT64_T, MPI_SUM, comm_);
    std::string failure;
    if (body_bytes_ > most + kMostOfKeepsakes) {
        failure = path_ + " states " + std::to_string(body_bytes_) + " bytes of content, but the state of this case has " + std::to_string(most) + kOther;
    } else if (file_ != nullptr) {
        body_.resize(body_bytes_);
        if (std::fread(body_.data(), 1, body_.size(), file_.get()) != body_.size()) failure = path_ + ": the snapshot cannot be read to its end" + kOther;
        else if (fnv1a(body_.data(), body_.size()) != body_digest_) failure = path_ + " is damaged: the checksum of its content is wrong" + kOther;
    }
    broadcast(comm_, failure);
    if (!failure.empty()) throw std::runtime_error(failure);
    broadcast(comm_, body_);
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

void Snapshot::into(Engine& engine) {
    read_body(engine);
    engine.resume_at(step_, file_ != nullptr ? static_cast<long>(unsettled_) : 0);
    std::vector<int> task(id_.tasks), end(2 * id_.lines);
    try {
        records([&](Kind kind, int number, std::string_view bytes) {
            if (kind == Kind::keepsake) return;
            if (kind != Kind::task && kind != Kind::line_end) throw std::runtime_error("has a record of an unknown kind");
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
        misfit(e);
    }
}

void Snapshot::misfit(const std::runtime_error& e) const {
    throw std::runtime_error(path_ + " is not damaged, but does not fit this program: it " + e.what() + "; continue with the program that wrote it");
}

bool Snapshot::recall(int wanted, const std::function<void(Archive&)>& visit) const {
    bool found = false;
    try {
        records([&](Kind kind, int number, std::string_view bytes) {
            if (kind != Kind::keepsake || number != wanted) return;
            Archive archive(bytes);
            visit(archive);
            if (archive.left() != 0 || std::exchange(found, true)) throw std::runtime_error("has a sum of another size, or twice");
        });
    } catch (const std::runtime_error& e) {
        misfit(e);
    }
    return found;
}

}  // namespace emt
