// The measurements of a run: step times during the simulation, then the paper's metrics (README.md, "Measuring").
#pragma once
#include <nlohmann/json.hpp>
#include <optional>

#include "commands/commands.hpp"
#include "commands/live_signals.hpp"
#include "commands/meetings.hpp"
#include "commands/probes.hpp"
#include "commands/ranks.hpp"
#include "commands/waveforms.hpp"
#include "measure/block_times.hpp"
#include "measure/histogram.hpp"
#include "measure/pace.hpp"
#include "parallel/engine.hpp"

namespace emt {

struct Timing {
    Histogram histogram;
    BlockTimes blocks;
    double total_us = 0;
    double us_per_tick = 0;
    std::uint64_t steps = 0;
    std::optional<Pace> pace;
};

/// Runs the warm-up steps and the timed steps. `meetings` and `waveforms` work between steps; their time counts only in
/// a run paced by wall time. Collective.
[[nodiscard]] Timing simulate(const Mpi& mpi, Engine& engine, Probes& probes, Waveforms& waveforms, Meetings& meetings, LiveSignals* live,
                              const RunOptions& options);
/// Returns all measurements, as in schema/result.schema.json. Collective, complete at rank 0.
[[nodiscard]] nlohmann::json measurements(const Mpi& mpi, Engine& engine, const Timing& timing, const RunOptions& options, std::size_t tasks);
/// Rounds to four decimals.
[[nodiscard]] double rounded(double x);

}  // namespace emt
