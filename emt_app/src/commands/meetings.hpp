// Joint work of the ranks between two steps: they write snapshots, and end on request. All ranks know the step of the
// next meeting.
#pragma once
#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "commands/commands.hpp"
#include "commands/probes.hpp"
#include "commands/ranks.hpp"
#include "snapshot/snapshot.hpp"

namespace emt {

/// Parses "1000" or "30s". Throws std::runtime_error for any other text.
struct SnapshotEvery {
    explicit SnapshotEvery(const std::string& text);
    std::uint64_t steps = 0;  // 0: no interval in steps
    double seconds = 0;       // 0: no interval in time
};

class Meetings {
public:
    /// Once this exists, SIGINT and SIGTERM end the run after a step. The ranks of a simulated machine meet only if
    /// necessary, because a meeting takes simulated time.
    Meetings(const Mpi& mpi, const RunOptions& options, const StudyId& id);

    /// Returns the step of the next meeting.
    [[nodiscard]] std::uint64_t next() const { return next_; }
    /// Meets at that step; energies of `observed` go into snapshots. Returns false if the run must end. Collective.
    bool meet(Engine& engine, const std::vector<Observed*>& observed);
    /// Writes the snapshot after the last step, if wanted. Collective.
    void finish(Engine& engine, const std::vector<Observed*>& observed);
    /// Returns this rank's wall time in all meetings, s.
    [[nodiscard]] double seconds() const { return seconds_; }
    /// Adds the counts to the result of rank 0.
    void tell(nlohmann::json& result) const;

private:
    void write(Engine& engine, const std::vector<Observed*>& observed);

    const Mpi& mpi_;
    const RunOptions& options_;
    StudyId id_;
    SnapshotEvery every_;
    bool active_;
    std::uint64_t next_, last_meeting_ = 0, last_written_ = ~std::uint64_t{0};
    std::chrono::steady_clock::time_point met_at_, written_at_;
    std::uint64_t written_ = 0, bytes_ = 0;
    double seconds_ = 0, writing_s_ = 0;
    bool asked_to_end_ = false;
};

}  // namespace emt
