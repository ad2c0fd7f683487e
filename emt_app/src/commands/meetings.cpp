#include "commands/meetings.hpp"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cmath>
#include <csignal>
#include <limits>
#include <stdexcept>

#include "base/heartbeat.hpp"
#include "base/smpi.hpp"
#include "commands/measurements.hpp"

namespace emt {
namespace {

constexpr double kMeet_s = 0.1;  // between two meetings: short, because a user may wait for the end
constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

std::atomic<bool> end_wanted{false};
static_assert(std::atomic<bool>::is_always_lock_free);

void end_after_this_step(int) { end_wanted.store(true); }

double since_s(std::chrono::steady_clock::time_point then) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - then).count();
}

}  // namespace

SnapshotEvery::SnapshotEvery(const std::string& text) {
    if (text.empty()) return;
    const char *first = text.data(), *last = first + text.size();
    if (last[-1] == 's') {
        const auto [end, wrong] = std::from_chars(first, last - 1, seconds);
        if (wrong == std::errc() && end == last - 1 && std::isfinite(seconds) && seconds > 0) return;
    } else {
        const auto [end, wrong] = std::from_chars(first, last, steps);
        if (wrong == std::errc() && end == last && steps > 0) return;
    }
    throw std::runtime_error("--snapshot-every '" + text + "': give steps (10000) or seconds of wall time (30s)");
}

Meetings::Meetings(const Mpi& mpi, const RunOptions& o, const StudyId& id)
    : mpi_(mpi), options_(o), id_(id), every_(o.snapshot_every), active_(!kSimulated || !o.snapshot_path.empty() || o.unlimited),
      next_(active_ ? 0 : kNever), met_at_(std::chrono::steady_clock::now()), written_at_(met_at_) {
    if (!active_) return;
    struct sigaction act {};
    act.sa_handler = end_after_this_step;
    act.sa_flags = SA_RESTART;
    for (const int number : {SIGINT, SIGTERM}) sigaction(number, &act, nullptr);
}

bool Meetings::meet(Engine& engine, const std::vector<Observed*>& observed) {
    const auto begun = std::chrono::steady_clock::now();
    const std::uint64_t now = engine.steps();
    // Rank 0's clock decides for all ranks: whether a snapshot is due, and the number of steps to the next meeting.
    std::array<std::uint64_t, 3> word{end_wanted.load() ? 1U : 0U, 0, 0};
    if (mpi_.rank == 0) {
        word[1] = every_.seconds > 0 && since_s(written_at_) >= every_.seconds ? 1 : 0;
        const double rate = static_cast<double>(now - last_meeting_) / std::max(since_s(met_at_), 1e-9);
        word[2] = last_meeting_ == 0 ? 16 : static_cast<std::uint64_t>(std::clamp(rate * kMeet_s, 1.0, 1e6));
    }
    MPI_Allreduce(MPI_IN_PLACE, word.data(), static_cast<int>(word.size()), MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
    asked_to_end_ = word[0] != 0;
    if (word[1] != 0 || (every_.steps > 0 && now % every_.steps == 0)) write(engine, observed);
    last_meeting_ = now;
    next_ = now + word[2];
    if (every_.steps > 0) next_ = std::min(next_, (now / every_.steps + 1) * every_.steps);
    met_at_ = std::chrono::steady_clock::now();
    seconds_ += std::chrono::duration<double>(met_at_ - begun).count();
    return !asked_to_end_;
}

void Meetings::finish(Engine& engine, const std::vector<Observed*>& observed) {
    if (!options_.snapshot_path.empty() && last_written_ != engine.steps()) write(engine, observed);
}

void Meetings::write(Engine& engine, const std::vector<Observed*>& observed) {
    const auto begun = std::chrono::steady_clock::now();
    bytes_ = write_snapshot(MPI_COMM_WORLD, options_.snapshot_path, id_, engine, energies(observed));
    heartbeat::beat();
    written_at_ = std::chrono::steady_clock::now();
    writing_s_ += std::chrono::duration<double>(written_at_ - begun).count();
    last_written_ = engine.steps();
    ++written_;
}

void Meetings::tell(nlohmann::json& result) const {
    if (active_) result["ended_by"] = asked_to_end_ ? "signal" : "steps";
    if (options_.snapshot_path.empty()) return;
    result["snapshot"] = {{"file", options_.snapshot_path}, {"written", written_}, {"bytes", bytes_}, {"seconds", rounded(writing_s_)}, {"step", last_written_}};
}

}  // namespace emt
