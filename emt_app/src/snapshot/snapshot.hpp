// A study at one instant as a file, from which it goes on with the same bits on any number of ranks.
//
// FILE    head: the eight characters "EMTSNAP\n" and, of 8 bytes each in the order of x86-64, format version, digest of the case,
//         dt (s, a double), step, unsettled solutions so far, tasks, lines, bytes of the body, digest of the body, digest of all this
// BODY    records: kind and number (4 bytes each), bytes (8), and as many bytes; of each task, of each end of each line, and of energies
//         that are probed, as the archives of the engine have them
#pragma once
#include <mpi.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/archive.hpp"
#include "parallel/engine.hpp"

namespace emt {

/// What a snapshot must agree with.
struct StudyId {
    std::uint64_t case_digest;
    double dt_s;
    std::uint64_t tasks, lines;
};

/// What else is kept: `keep` is called once per number of this rank.
struct Keepsakes {
    std::vector<int> numbers;
    std::function<void(int number, Archive&)> keep;
};

/// Writes the state between two steps to `path`, at rank 0, whole or not at all: to `path`.part first, flushed to the disk. Collective.
/// Returns the bytes at rank 0, throws std::runtime_error there.
std::uint64_t write_snapshot(MPI_Comm comm, const std::string& path, const StudyId& id, Engine& engine, const Keepsakes& more);

class Snapshot {
public:
    /// Reads it at rank 0 for all. Collective; throws the same std::runtime_error on all: what is wrong with it, and how to mend it.
    Snapshot(MPI_Comm comm, const std::string& path, const StudyId& id);

    [[nodiscard]] std::uint64_t step() const { return step_; }
    /// For EngineOptions::resume.
    void into(Engine& engine, bool first_rank) const;
    /// Whether it was kept; then `visit` has read it.
    bool recall(int number, const std::function<void(Archive&)>& visit) const;

private:
    enum class Kind : std::uint32_t { task, line_end, keepsake };
    friend class SnapshotBody;

    void records(const std::function<void(Kind, int number, std::string_view)>& visit) const;

    std::string path_, body_;
    std::uint64_t step_ = 0, unsettled_ = 0, tasks_ = 0, lines_ = 0;
};

}  // namespace emt
