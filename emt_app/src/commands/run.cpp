// `emt run`: load, map, simulate, measure, report.
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <iostream>

#include "case/case_file.hpp"
#include "commands/commands.hpp"
#include "commands/csv_cell.hpp"
#include "measure/block_times.hpp"
#include "measure/histogram.hpp"
#include "measure/metrics.hpp"
#include "measure/provenance.hpp"
#include "measure/replay.hpp"
#include "measure/timer.hpp"
#include "parallel/engine.hpp"

namespace emt {
namespace {

using nlohmann::json;

class Mpi {
public:
    Mpi(int argc, char** argv) {
        MPI_Init(&argc, &argv);
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &size);
    }
    Mpi(const Mpi&) = delete;
    Mpi& operator=(const Mpi&) = delete;
    ~Mpi() { MPI_Finalize(); }
    int rank = 0, size = 1;
};

/// Stops the run everywhere.
[[noreturn]] void abort_all(const Mpi& mpi, const std::string& message) {
    std::cerr << "emt: error: " << (mpi.size > 1 ? "rank " + std::to_string(mpi.rank) + ": " : "") << message << std::endl;
    MPI_Abort(MPI_COMM_WORLD, 1);
    std::abort();
}

/// The same failure may meet all ranks (a bad case) or one (a file missing on its node): the lowest that failed speaks.
void agree(const Mpi& mpi, const std::string& failure) {
    int mine = failure.empty() ? mpi.size : mpi.rank, first = 0;
    MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (first == mpi.size) return;
    if (first == mpi.rank) std::cerr << "emt: error: " << failure << std::endl;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    std::exit(1);
}

/// All ranks must have the hash of rank 0; `otherwise` says what the others do.
void agree_on(const Mpi& mpi, std::uint64_t mine, const std::string& otherwise) {
    std::uint64_t hash = mine;
    MPI_Bcast(&hash, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    agree(mpi, hash == mine ? "" : "rank " + std::to_string(mpi.rank) + " " + otherwise);
}

Case load_everywhere(const Mpi& mpi, const RunOptions& options) {
    Case c;
    std::string failure;
    try {
        c = load_case(options.case_path, options.dt_s);
    } catch (const std::exception& e) {
        failure = e.what();
        if (mpi.size > 1) failure = "rank " + std::to_string(mpi.rank) + ": " + failure;
    }
    agree(mpi, failure);
    agree_on(mpi, c.hash, "reads a different " + options.case_path + " than rank 0: give every node the same case file");
    return c;
}

/// One line that is written over on a terminal; elsewhere (`always`) whole lines, ever rarer, down to one a minute.
class Progress {
public:
    Progress(const std::string& when, std::uint64_t total)
        : terminal_(isatty(STDERR_FILENO) != 0), enabled_(when == "always" || (when == "auto" && terminal_)), total_(total) {}
    void operator()(std::uint64_t done) {
        if (!enabled_) return;
        const double now = MPI_Wtime();
        if (now < next_) return;
        next_ = now + (terminal_ ? 1 : std::min(now - start_, 60.0));
        const double rate = static_cast<double>(done) / (now - start_);
        std::fprintf(stderr, "%sstep %llu of %llu, %.0f steps/s, %.0f s left%s", terminal_ ? "\r" : "", static_cast<unsigned long long>(done),
                     static_cast<unsigned long long>(total_), rate, static_cast<double>(total_ - done) / rate, terminal_ ? " " : "\n");
        shown_ = true;
    }
    ~Progress() {
        if (shown_ && terminal_) std::fprintf(stderr, "\r%60s\r", "");
    }
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

private:
    bool terminal_, enabled_, shown_ = false;
    std::uint64_t total_;
    double start_ = MPI_Wtime(), next_ = start_ + 1;
};

/// Node voltages over time, from whichever rank has the node.
class Probes {
public:
    Probes(const Network& net, const Engine& engine, const RunOptions& o) : options_(o) {
        for (const std::string& name : o.probes) {
            const auto it = std::find(net.node_names.begin(), net.node_names.end(), name);
            if (it == net.node_names.end()) throw std::runtime_error("--probe: there is no node '" + name + "'");
            node_.push_back(static_cast<int>(it - net.node_names.begin()));
            owned_.push_back(engine.owns(node_.back()) ? 1 : 0);
        }
    }
    void record(const Engine& engine) {
        if (node_.empty() || engine.steps() % options_.csv_every != 0) return;
        for (std::size_t i = 0; i < node_.size(); ++i) values_.push_back(owned_[i] != 0 ? engine.voltage(node_[i]) : 0);
    }
    void write(const Mpi& mpi, double dt_s) {
        if (node_.empty()) return;
        MPI_Reduce(mpi.rank == 0 ? MPI_IN_PLACE : values_.data(), values_.data(), static_cast<int>(values_.size()), MPI_DOUBLE,
                   MPI_SUM, 0, MPI_COMM_WORLD);
        if (mpi.rank != 0) return;
        std::string text = "time";
        for (const std::string& name : options_.probes) text += "," + csv_cell(name);
        char number[40];
        for (std::size_t i = 0; i < values_.size(); ++i) {
            if (i % node_.size() == 0) {
                std::snprintf(number, sizeof number, "\n%.12g", static_cast<double>(i / node_.size() * options_.csv_every) * dt_s);
                text += number;
            }
            std::snprintf(number, sizeof number, ",%.17g", values_[i]);
            text += number;
        }
        write_file(options_.csv_path, text + "\n");
    }

private:
    const RunOptions& options_;
    std::vector<int> node_;
    std::vector<char> owned_;
    std::vector<double> values_;
};

/// One digest of the whole run, from the digests of all tasks in the order of the case.
std::string checksum(const Mpi& mpi, const Engine& engine, std::size_t tasks) {
    std::vector<std::uint64_t> digest(tasks);
    for (const auto& [task, value] : engine.digests()) digest[static_cast<std::size_t>(task)] = value;
    std::vector<std::uint64_t> all(tasks);
    MPI_Reduce(digest.data(), all.data(), static_cast<int>(tasks), MPI_UINT64_T, MPI_BXOR, 0, MPI_COMM_WORLD);
    if (mpi.rank != 0) return {};
    char text[24];
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(fnv1a(all.data(), tasks * sizeof all[0])));
    return text;
}

double rounded(double x) { return std::round(x * 1e4) / 1e4; }

struct Timing {
    Histogram histogram;
    BlockTimes blocks;
    double total_us = 0;
    double us_per_tick = 0;
};

Timing simulate(const Mpi& mpi, Engine& engine, Probes& probes, const RunOptions& o) {
    Timing t{.histogram = {}, .blocks = BlockTimes(o.steps)};
    for (std::uint64_t i = 0; i < o.warm_up; ++i) {
        probes.record(engine);
        engine.step();
    }
    MPI_Barrier(MPI_COMM_WORLD);
    const Ticks ticks;
    const double start = MPI_Wtime();
    {
        Progress progress(mpi.rank == 0 ? o.progress : "never", o.steps);
        std::uint64_t last = Ticks::now();
        for (std::uint64_t i = 0; i < o.steps; ++i) {
            probes.record(engine);
            engine.step();
            const std::uint64_t now = Ticks::now();
            t.histogram.add(now - last);
            t.blocks.add(now - last);
            last = now;
            if ((i & 1023U) == 1023U) progress(i + 1);
        }
    }
    t.total_us = (MPI_Wtime() - start) * 1e6;
    t.us_per_tick = ticks.microseconds_per_tick();
    probes.record(engine);
    return t;
}

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

/// Step times of all ranks in ticks of rank 0: the time-stamp counters of different nodes may have different rates.
std::array<std::uint64_t, Histogram::kBins> merged_bins(const Timing& t, double us_per_tick_of_rank_0) {
    auto bins = Histogram::rescaled(t.histogram.bins(), t.us_per_tick / us_per_tick_of_rank_0);
    MPI_Allreduce(MPI_IN_PLACE, bins.data(), static_cast<int>(bins.size()), MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    return bins;
}

/// Median over blocks of the mean step time of the rank that took longest for the block.
double block_median_us(const Timing& t) {
    std::vector<double> us = t.blocks.step_us(t.us_per_tick);
    MPI_Allreduce(MPI_IN_PLACE, us.data(), static_cast<int>(us.size()), MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return median(std::move(us));
}

json histogram_json(const std::array<std::uint64_t, Histogram::kBins>& bins, double us_per_tick) {
    json out = json::array();
    for (std::size_t i = 0; i < bins.size(); ++i)
        if (bins[i] > 0) out.push_back({rounded(Histogram::low(i) * us_per_tick), bins[i]});
    return out;
}

/// Everything that is measured; collective, complete at rank 0.
json measurements(const Mpi& mpi, Engine& engine, const Timing& t, const RunOptions& o, std::size_t tasks) {
    const double p = mpi.size;
    json r;
    r["checksum"] = checksum(mpi, engine, tasks);
    double us_per_tick = t.us_per_tick;
    MPI_Bcast(&us_per_tick, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    const auto bins = merged_bins(t, us_per_tick);
    const double mean = reduce(t.total_us, MPI_MAX) / static_cast<double>(o.steps);
    const double p50 = Histogram::quantile(bins, 0.5) * us_per_tick, block_p50 = block_median_us(t);
    r["step_us"] = {{"mean", rounded(mean)}, {"block_p50", rounded(block_p50)}, {"p50", rounded(p50)},
                    {"p99", rounded(Histogram::quantile(bins, 0.99) * us_per_tick)},
                    {"max", rounded(reduce(static_cast<double>(t.histogram.max()) * t.us_per_tick, MPI_MAX))}};
    r["block_steps"] = t.blocks.length();
    r["histogram"] = histogram_json(bins, us_per_tick);
    r["unsettled"] = static_cast<long>(reduce(static_cast<double>(engine.unsettled()), MPI_SUM));
    const ExchangeCounts& e = engine.exchange_counts();
    r["neighbours"] = {{"max", reduce(e.neighbours, MPI_MAX)}, {"mean", rounded(reduce(e.neighbours, MPI_SUM) / p)}, {"per_rank", gather(mpi, e.neighbours)}};
    r["shared_neighbours"] = reduce(e.shared_neighbours, MPI_SUM);
    r["bytes_per_step"] = {{"total", reduce(e.bytes_per_step, MPI_SUM)}, {"per_rank", gather(mpi, e.bytes_per_step)}};
    r["messages_per_step"] = rounded(reduce(e.messages_per_step, MPI_SUM));
    const double slack = reduce(e.min_slack > 0 ? e.min_slack : 1e9, MPI_MIN);
    r["slack_steps"] = slack < 1e9 ? json(slack) : json(nullptr);
    r["bytes_touched"] = reduce(static_cast<double>(engine.bytes_touched()), MPI_SUM);
    r["bytes_written"] = reduce(static_cast<double>(engine.bytes_written()), MPI_SUM);
    r["ring_bytes"] = reduce(static_cast<double>(engine.lines().ring_bytes()), MPI_SUM);
    for (const char* key : {"sigma_us", "phi_us", "kappa_us", "kappa_block_p50_us", "imbalance_us", "speedup", "efficiency", "karp_flatt", "phi_per_rank_us", "phi_cached_us", "exchange_us", "exchange_p50_us"}) r[key] = nullptr;
    if (!o.measure) return r;
    const Work w = measure_work(MPI_COMM_WORLD, engine);
    const double phi = reduce(w.phi_us, MPI_SUM), sigma = reduce(w.sigma_us, MPI_MAX);
    const Metrics m = metrics(sigma, phi, mean, mpi.size);
    r["sigma_us"] = rounded(sigma);
    r["phi_us"] = rounded(phi);
    r["phi_per_rank_us"] = gather(mpi, w.phi_us);
    r["kappa_us"] = rounded(m.kappa_us);
    r["kappa_block_p50_us"] = rounded(metrics(sigma, phi, block_p50, mpi.size).kappa_us);
    r["kappa_p50_us"] = rounded(p50 - sigma - phi / p);
    r["phi_cached_us"] = rounded(reduce(w.phi_cached_us, MPI_SUM));
    r["speedup"] = rounded(m.speedup);
    r["efficiency"] = rounded(m.efficiency);
    if (mpi.size > 1) r["karp_flatt"] = rounded(m.karp_flatt);
    // κ′ in parts: the slowest rank's surplus of work, and what the step takes beyond this rank.
    const double slowest = reduce(w.phi_us, MPI_MAX);
    r["imbalance_us"] = rounded(slowest - phi / p);
    r["exchange_us"] = rounded(mean - sigma - slowest);
    r["exchange_p50_us"] = rounded(p50 - sigma - slowest);
    r["replay_exact"] = reduce(w.exact ? 1 : 0, MPI_MIN) > 0;
    return r;
}

void print_summary(const json& r) {
    const auto number = [&](const char* key) { return r[key].is_number() ? r[key].get<double>() : std::nan(""); };
    std::printf("%s\n", r["title"].get<std::string>().c_str());
    std::printf("  ranks %d on %zu node(s), %d tasks in %d island(s), map %s, exchange %s, transport %s, kernels %s\n", r["ranks"].get<int>(),
                r["provenance"]["nodes"].size(), r["tasks"].get<int>(), r["islands"].get<int>(), r["map"].get<std::string>().c_str(),
                r["exchange"].get<std::string>().c_str(), r["transport"].get<std::string>().c_str(), r["isa"].get<std::string>().c_str());
    std::printf("  steps %llu of %g us; checksum %s\n", static_cast<unsigned long long>(r["steps"].get<std::uint64_t>()),
                r["dt_us"].get<double>(), r["checksum"].get<std::string>().c_str());
    const json& s = r["step_us"];
    std::printf("  step time      mean %.3f us, median block of %llu steps %.3f, p50 %.3f, p99 %.3f, max %.1f\n", s["mean"].get<double>(),
                static_cast<unsigned long long>(r["block_steps"].get<std::uint64_t>()), s["block_p50"].get<double>(), s["p50"].get<double>(),
                s["p99"].get<double>(), s["max"].get<double>());
    if (!r["phi_us"].is_null()) {
        std::printf("  work           sigma %.3f us, phi %.3f us (replay, sum over ranks; %.3f us with every batch in cache)\n",
                    number("sigma_us"), number("phi_us"), number("phi_cached_us"));
        std::printf("  overhead       kappa' %.3f us: imbalance %.3f us, beyond the slowest rank alone %.3f us; "
                    "from the median block %.3f us, from the median step %.3f us\n",
                    number("kappa_us"), number("imbalance_us"), number("exchange_us"), number("kappa_block_p50_us"), number("kappa_p50_us"));
        std::printf("  speed-up %.3f, efficiency %.3f", number("speedup"), number("efficiency"));
        if (r["karp_flatt"].is_number()) std::printf(", Karp-Flatt %.3f", number("karp_flatt"));
        std::printf("\n");
    }
    if (r["ranks"].get<int>() > 1)
        std::printf("  exchange       %.0f neighbours at most, %.0f bytes and %.2f messages per step, least slack %g steps\n",
                    r["neighbours"]["max"].get<double>(), r["bytes_per_step"]["total"].get<double>(),
                    r["messages_per_step"].get<double>(), number("slack_steps"));
    if (r["unsettled"].get<long>() > 0)
        std::printf("  warning: %ld task steps were accepted with a piecewise element outside its segment\n", r["unsettled"].get<long>());
    for (const auto& [type, what] : r["simplified"].items())
        std::printf("  simplified: %s is a %s\n", type.c_str(), what.get<std::string>().c_str());
}

void simulate_and_report(const Mpi& mpi, const RunOptions& o, int argc, char** argv) {
    const Kernels* kernels = find_kernels(o.isa.c_str());
    std::string failure;
    if (kernels == nullptr) failure = "this processor has no '" + o.isa + "' kernels";
    agree(mpi, failure);
    const Case c = load_everywhere(mpi, o);
    const Decomposition parts = decompose(c.network);
    Mapping mapping;
    try {
        mapping = o.map == "auto" ? map_tasks(c.network, parts, mpi.size)
                                  : load_mapping(o.map, static_cast<int>(parts.tasks.size()), mpi.size);
        for (const std::string& probe : o.probes)
            if (std::find(c.network.node_names.begin(), c.network.node_names.end(), probe) == c.network.node_names.end())
                throw std::runtime_error("--probe: there is no node '" + probe + "'");
    } catch (const std::exception& e) {
        failure = e.what();
    }
    agree(mpi, failure);
    agree_on(mpi, fnv1a(mapping.rank_of_task.data(), mapping.rank_of_task.size() * sizeof mapping.rank_of_task[0]),
             "maps the tasks otherwise than rank 0 (--map " + o.map + "): give every node the same file and program");
    EngineOptions eo;
    eo.exchange = o.exchange == "slack" ? ExchangeMode::slack : ExchangeMode::step;
    eo.transport = o.transport == "message" ? Transport::message : o.transport == "shared" ? Transport::shared : Transport::automatic;
    eo.kernels = kernels;
    Engine engine(MPI_COMM_WORLD, c.network, parts, mapping, eo);
    json result;
    try {
        Probes probes(c.network, engine, o);
        const Timing timing = simulate(mpi, engine, probes, o);
        result = measurements(mpi, engine, timing, o, parts.tasks.size());
        if (!o.measure) engine.drain();
        probes.write(mpi, c.network.dt_s);
    } catch (const std::exception& e) {
        // Here and not further out: the engine's destructor is collective and would wait for the other ranks.
        abort_all(mpi, e.what());
    }
    const json origin = provenance(MPI_COMM_WORLD);
    if (mpi.rank != 0) return;
    char hash[24];
    std::snprintf(hash, sizeof hash, "%016llx", static_cast<unsigned long long>(c.hash));
    result.update({{"format", "kappa-emt-result"}, {"version", 1}, {"title", c.title.empty() ? o.case_path : c.title}, {"case", o.case_path},
                   {"case_hash", hash}, {"steps", o.steps}, {"warm_up", o.warm_up}, {"dt_us", c.network.dt_s * 1e6}, {"ranks", mpi.size},
                   {"tasks", parts.tasks.size()}, {"islands", parts.islands}, {"nodes", c.census.nodes}, {"exchange", o.exchange},
                   {"transport", o.transport}, {"map", mapping.method}, {"modelled_step_us", rounded(mapping.modelled_step_us)},
                   {"isa", kernels->name}, {"simplified", c.simplified}, {"provenance", origin}});
    std::string command;
    for (int i = 0; i < argc; ++i) command += (i > 0 ? " " : "") + std::string(argv[i]);
    result["provenance"]["command"] = command;
    if (!o.result_path.empty()) write_file(o.result_path, result.dump(2) + "\n");
    print_summary(result);
}

}  // namespace

int run_command(const RunOptions& options, int argc, char** argv) {
    const Mpi mpi(argc, argv);
    try {
        simulate_and_report(mpi, options, argc, argv);
    } catch (const std::exception& e) {
        abort_all(mpi, e.what());
    }
    return 0;
}

}  // namespace emt
