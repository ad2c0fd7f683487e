// What ranks do together between two steps: write snapshots, and end when they are asked to. They meet at steps that all know.
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

/// From "1000" or "30s". Throws std::runtime_error for anything else.
struct SnapshotEvery {
    explicit SnapshotEvery(const std::string& text);
    std::uint64_t steps = 0;  // 0: not by steps
    double seconds = 0;       // 0: not by time
};

class Meetings {
public:
    /// SIGINT and SIGTERM end the run after a step from now on. A simulated machine's ranks meet only where they have to, because
    /// meeting takes its time.
    Meetings(const Mpi& mpi, const RunOptions& options, const StudyId& id);

    /// Step at which the ranks meet next.
    [[nodiscard]] std::uint64_t next() const { return next_; }
    /// Collective, at that step; energies of `observed` go into snapshots. False when the run shall end.
    bool meet(Engine& engine, const std::vector<Observed*>& observed);
    /// Collective, after the last step: a snapshot of the end.
    void finish(Engine& engine, const std::vector<Observed*>& observed);
    /// Wall time of this rank in all of this, s.
    [[nodiscard]] double seconds() const { return seconds_; }
    /// Into a result; of rank 0.
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
