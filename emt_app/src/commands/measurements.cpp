#include "commands/measurements.hpp"

#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <sstream>

#include "base/heartbeat.hpp"
#include "base/smpi.hpp"
#include "commands/progress.hpp"
#include "commands/ranks.hpp"
#include "measure/checksum.hpp"
#include "measure/metrics.hpp"
#include "measure/replay.hpp"
#include "measure/timer.hpp"

namespace emt {

using nlohmann::json;

namespace {

json gather(const Mpi& mpi, double value) {
    std::vector<double> all(static_cast<std::size_t>(mpi.size));
    MPI_Gather(&value, 1, MPI_DOUBLE, all.data(), 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    for (double& x : all) x = rounded(x);
    return all;
}

double reduce(double value, MPI_Op op) {
    double out = 0;
    MPI_Allreduce(&value, &out, 1, MPI_DOUBLE, op, MPI_COMM_WORLD);
    return out;
}

/// Merges the step times of all ranks, in ticks of rank 0: time-stamp counters of different nodes may have different
/// rates.
std::array<std::uint64_t, Histogram::kBins> merged_bins(const Timing& t, double us_per_tick_of_rank_0) {
    auto bins = Histogram::rescaled(t.histogram.bins(), t.us_per_tick / us_per_tick_of_rank_0);
    MPI_Allreduce(MPI_IN_PLACE, bins.data(), static_cast<int>(bins.size()), MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    return bins;
}

/// Returns the median over the blocks; each block counts with its slowest rank's mean step time.
double block_median_us(const Timing& t) {
    std::vector<double> us = t.blocks.step_us(t.us_per_tick);
    MPI_Allreduce(MPI_IN_PLACE, us.data(), static_cast<int>(us.size()), MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return median(std::move(us));
}

/// Names the transport between the ranks of this run.
std::string exchange_by(double neighbours, double shared) {
    if (neighbours == 0) return "nothing";
    return shared == 0 ? "messages" : shared == neighbours ? "shared-memory" : "both";
}

json histogram_json(const std::array<std::uint64_t, Histogram::kBins>& bins, double us_per_tick) {
    json out = json::array();
    for (std::size_t i = 0; i < bins.size(); ++i)
        if (bins[i] > 0) out.push_back({rounded(Histogram::low(i) * us_per_tick), bins[i]});
    return out;
}

/// Adds up the times of all ranks; the longest part comes first.
json profile(std::vector<PartTime> parts) {
    for (PartTime& part : parts) {
        part.us = reduce(part.us, MPI_SUM);
        part.count = static_cast<long>(reduce(static_cast<double>(part.count), MPI_SUM));
    }
    std::erase_if(parts, [](const PartTime& part) { return part.count == 0; });
    std::stable_sort(parts.begin(), parts.end(), [](const PartTime& a, const PartTime& b) { return a.us > b.us; });
    const double sum = std::accumulate(parts.begin(), parts.end(), 0.0, [](double s, const PartTime& part) { return s + part.us; });
    json out = json::array();
    for (const PartTime& part : parts)
        out.push_back({{"part", part.part}, {"count", part.count}, {"us", rounded(part.us)}, {"share", rounded(part.us / sum)}});
    return out;
}

/// Returns the figures of each rank, and the rank with the largest value of each; at rank 0.
json pace_json(const Mpi& mpi, const Pace& pace) {
    char name[MPI_MAX_PROCESSOR_NAME];
    int length = 0;
    MPI_Get_processor_name(name, &length);
    const json own{{"rank", mpi.rank}, {"node", std::string(name, static_cast<std::size_t>(length))}, {"overruns", pace.overruns()},
                   {"in_time", pace.steps() - pace.overruns()}, {"episodes", pace.episodes()},
                   {"late_p999_us", rounded(pace.late_p999_us())}, {"late_worst_us", rounded(pace.worst_us())}};
    std::istringstream lines(gathered(mpi, own.dump() + "\n"));
    if (mpi.rank != 0) return {};
    json out{{"steps", pace.steps()}, {"per_rank", json::array()}};
    for (std::string line; std::getline(lines, line);) out["per_rank"].push_back(json::parse(line));
    for (const char* key : {"overruns", "episodes", "late_p999_us", "late_worst_us"})
        for (const json& rank : out["per_rank"])
            if (!out.contains(key) || rank[key] > out[key]) out[key] = rank[key];
    return out;
}

}  // namespace

double rounded(double x) { return std::round(x * 1e4) / 1e4 + 0.0; }  // avoids -0

Timing simulate(const Mpi& mpi, Engine& engine, Probes& probes, Waveforms& waveforms, Meetings& meetings, LiveSignals* live, const RunOptions& o) {
    Timing t{.histogram = {}, .blocks = BlockTimes(o.steps), .pace = {}};
    const std::vector<Observed*> observed = {probes.observed(), waveforms.observed()};
    heartbeat::phase(kPatience_s, "steps before the timed ones");
    for (std::uint64_t i = 0; i < o.warm_up; ++i) {
        probes.record(engine);
        waveforms.record(engine);
        engine.step();
        heartbeat::beat();
    }
    MPI_Barrier(MPI_COMM_WORLD);
    heartbeat::phase(kPatience_s, "steps");
    const Ticks ticks;
    const double start = clock_s(), written_before_s = waveforms.io_s() + probes.io_s();
    if (o.pace == "real-time") t.pace.emplace(engine.dt_s());
    {
        Progress progress(mpi.rank == 0 ? o.progress : "never", o.steps);
        std::uint64_t last = Ticks::now();
        for (std::uint64_t i = 0; i < o.steps; ++i) {
            if (probes.record(engine)) last += probes.last_write_ticks();
            if (waveforms.record(engine)) last += waveforms.last_write_ticks();
            engine.step();
            heartbeat::beat();
            if (live != nullptr) live->publish(engine);
            const std::uint64_t now = Ticks::now();
            t.histogram.add(now - last);
            t.blocks.add(now - last);
            last = now;
            ++t.steps;
            const bool meets = engine.steps() >= meetings.next();
            if (meets && !meetings.meet(engine, observed)) break;
            if (t.pace) t.pace->hold();
            if (meets || t.pace) last = Ticks::now();
            if ((i & 1023U) == 1023U) progress(i + 1);
        }
    }
    t.total_us = (clock_s() - start - (t.pace ? 0 : meetings.seconds() + waveforms.io_s() + probes.io_s() - written_before_s)) * 1e6;
    meetings.finish(engine, observed);
    heartbeat::phase(120, "measures the work, gathers the figures");
    t.us_per_tick = ticks.microseconds_per_tick();
    probes.record(engine);
    waveforms.record(engine);
    return t;
}

json measurements(const Mpi& mpi, Engine& engine, const Timing& t, const RunOptions& o, std::size_t tasks) {
    const double p = mpi.size;
    json r;
    r["checksum"] = checksum(task_digests(MPI_COMM_WORLD, engine, tasks));
    double us_per_tick = t.us_per_tick;
    MPI_Bcast(&us_per_tick, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    const auto bins = merged_bins(t, us_per_tick);
    const double mean = reduce(t.total_us, MPI_MAX) / static_cast<double>(t.steps);
    const double p50 = Histogram::quantile(bins, 0.5) * us_per_tick, block_p50 = block_median_us(t);
    r["step_us"] = {{"mean", rounded(mean)}, {"block_p50", rounded(block_p50)}, {"p50", rounded(p50)},
                    {"p99", rounded(Histogram::quantile(bins, 0.99) * us_per_tick)},
                    {"max", rounded(reduce(static_cast<double>(t.histogram.max()) * t.us_per_tick, MPI_MAX))}};
    r["block_steps"] = t.blocks.length();
    r["histogram"] = histogram_json(bins, us_per_tick);
    r["unsettled"] = static_cast<long>(reduce(static_cast<double>(engine.unsettled()), MPI_SUM));
    const ExchangeCounts& e = engine.exchange_counts();
    const double neighbours = reduce(e.neighbours, MPI_SUM), shared = reduce(e.shared_neighbours, MPI_SUM);
    r["neighbours"] = {{"max", reduce(e.neighbours, MPI_MAX)}, {"mean", rounded(neighbours / p)}, {"per_rank", gather(mpi, e.neighbours)}};
    r["shared_neighbours"] = shared;
    r["exchange_by"] = exchange_by(neighbours, shared);
    r["bytes_per_step"] = {{"total", reduce(e.bytes_per_step, MPI_SUM)}, {"per_rank", gather(mpi, e.bytes_per_step)}};
    r["messages_per_step"] = rounded(reduce(e.messages_per_step, MPI_SUM));
    const double slack = reduce(e.min_slack > 0 ? e.min_slack : 1e9, MPI_MIN);
    r["slack_steps"] = slack < 1e9 ? json(slack) : json(nullptr);
    r["bytes_touched"] = reduce(static_cast<double>(engine.bytes_touched()), MPI_SUM);
    r["bytes_written"] = reduce(static_cast<double>(engine.bytes_written()), MPI_SUM);
    r["ring_bytes"] = reduce(static_cast<double>(engine.lines().ring_bytes()), MPI_SUM);
    if (t.pace) r["pace"] = pace_json(mpi, *t.pace);
    for (const char* key : {"sigma_us", "phi_us", "phi_by", "kappa_us", "kappa_block_p50_us", "imbalance_us", "speedup", "efficiency", "karp_flatt", "phi_per_rank_us", "phi_cached_us", "exchange_us", "exchange_p50_us"}) r[key] = nullptr;
    if (!o.measure) return r;
    const bool injected = o.inject_phi_us > 0;
    const Work w = injected ? Work{.phi_us = engine.injected_us(), .parts = {}} : measure_work(MPI_COMM_WORLD, engine, o.profile);
    const double phi = reduce(w.phi_us, MPI_SUM), sigma = reduce(w.sigma_us, MPI_MAX);
    const Metrics m = metrics(sigma, phi, mean, mpi.size);
    r["sigma_us"] = rounded(sigma);
    r["phi_us"] = rounded(phi);
    r["phi_by"] = injected ? "injected" : "replay";
    r["phi_per_rank_us"] = gather(mpi, w.phi_us);
    r["kappa_us"] = rounded(m.kappa_us);
    r["kappa_block_p50_us"] = rounded(metrics(sigma, phi, block_p50, mpi.size).kappa_us);
    r["kappa_p50_us"] = rounded(p50 - sigma - phi / p);
    if (!injected) r["phi_cached_us"] = rounded(reduce(w.phi_cached_us, MPI_SUM));
    r["speedup"] = rounded(m.speedup);
    r["efficiency"] = rounded(m.efficiency);
    if (mpi.size > 1) r["karp_flatt"] = rounded(m.karp_flatt);
    // κ′ in parts: the slowest rank's surplus of work, and the time of a step beyond the slowest rank's work.
    const double slowest = reduce(w.phi_us, MPI_MAX);
    r["imbalance_us"] = rounded(slowest - phi / p);
    r["exchange_us"] = rounded(mean - sigma - slowest);
    r["exchange_p50_us"] = rounded(p50 - sigma - slowest);
    if (o.profile) r["profile"] = profile(w.parts);
    if (!injected) r["replay_exact"] = reduce(w.exact ? 1 : 0, MPI_MIN) > 0;
    return r;
}

}  // namespace emt
