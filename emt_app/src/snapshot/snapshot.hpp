// A study at one instant as a file, from which it continues with the same bits on any number of ranks.
//
// FILE    head: the eight characters "EMTSNAP\n" and, of 8 bytes each in the order of x86-64, format version, digest of the case,
//         dt (s, a double), step, unsettled solutions so far, tasks, lines, bytes of the body, digest of the body, digest of all this
// BODY    records: kind and number (4 bytes each), bytes (8), and as many bytes; of each task, of each end of each line, and of energies
//         that are probed, as the archives of the engine have them
#pragma once
#include <mpi.h>

#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include "base/archive.hpp"
#include "parallel/engine.hpp"

namespace emt {

/// The identity of a study, which a snapshot must match.
struct StudyId {
    std::uint64_t case_digest;
    double dt_s;
    std::uint64_t tasks, lines;
};

/// Additional content: `keep` is called once per number of this rank.
struct Keepsakes {
    std::vector<int> numbers;
    std::function<void(int number, Archive&)> keep;
};

/// Writes the state between two steps to `path` atomically, at rank 0: first to `path`.part, flushed to the disk.
/// Collective. Returns the number of bytes at rank 0, throws std::runtime_error there.
std::uint64_t write_snapshot(MPI_Comm comm, const std::string& path, const StudyId& id, Engine& engine, const Keepsakes& more);

class Snapshot {
public:
    /// Reads the file's head at rank 0 for all ranks. Collective; throws the same std::runtime_error on all.
    Snapshot(MPI_Comm comm, const std::string& path, const StudyId& id);

    [[nodiscard]] std::uint64_t step() const { return step_; }
    /// For EngineOptions::resume. Reads the rest of the file, and believes none of it before it is checked: the
    /// checksums tell an accident only. Collective; throws std::runtime_error.
    void into(Engine& engine);
    /// Reads a keepsake by `visit`; returns false if the snapshot does not have it.
    bool recall(int number, const std::function<void(Archive&)>& visit) const;

private:
    enum class Kind : std::uint32_t { task, line_end, keepsake };
    friend class SnapshotBody;

    void read_body(Engine& engine);
    [[noreturn]] void misfit(const std::runtime_error& e) const;
    void records(const std::function<void(Kind, int number, std::string_view)>& visit) const;

    MPI_Comm comm_;
    std::string path_, body_;
    StudyId id_;
    std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;  // at rank 0
    std::uint64_t step_ = 0, unsettled_ = 0, body_bytes_ = 0, body_digest_ = 0;
};

}  // namespace emt
