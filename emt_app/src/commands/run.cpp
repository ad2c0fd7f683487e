// `emt run`: load, map, simulate, measure, report.
#include <algorithm>
#include <cmath>
#include <optional>

#include "base/fnv1a.hpp"
#include "base/smpi.hpp"
#include "case/case_file.hpp"
#include "commands/measurements.hpp"
#include "commands/summary.hpp"
#include "measure/checksum.hpp"
#include "measure/provenance.hpp"

namespace emt {
namespace {

using nlohmann::json;

Case load_everywhere(const Mpi& mpi, const RunOptions& options) {
    Case c;
    std::string failure;
    try {
        c = load_case(options.case_path, options.dt_s, !options.probes.empty() || !options.live_path.empty() || !options.waveforms_path.empty());
    } catch (const CaseError& e) {
        failure = e.brief();
    } catch (const std::exception& e) {
        failure = e.what();
    }
    if (!failure.empty() && mpi.size > 1) failure = "rank " + std::to_string(mpi.rank) + ": " + failure;
    agree(mpi, failure);
    agree_on(mpi, c.hash, "reads a different " + options.case_path + " than rank 0: give every node the same case file");
    return c;
}

/// Returns the reason why the options define no work per step, or an empty text.
std::string no_work(const RunOptions& o) {
    if (!kSimulated && o.inject_phi_us > 0)
        return "--inject-phi-us is for simulated machines, but this program is built for a real MPI, which measures phi: build it with SimGrid's smpicxx";
    if (kSimulated && o.measure && o.inject_phi_us <= 0)
        return "a simulated machine cannot measure phi, because its computation takes no time: give --inject-phi-us, or --no-replay";
    return "";
}

/// Returns the reason why options contradict each other, or an empty text.
std::string contradiction(const RunOptions& o) {
    if (kSimulated && o.pace != "none") return "--pace needs wall time, which a simulated machine does not have: leave --pace out";
    if (kSimulated && !o.live_path.empty()) return "--live needs wall time, which a simulated machine does not have: leave --live out";
    if (o.unlimited && !o.waveforms_path.empty()) return "--waveforms needs the number of records at the beginning, but --steps unlimited has no end: use --live";
    try {
        static_cast<void>(SnapshotEvery(o.snapshot_every));
    } catch (const std::exception& e) {
        return e.what();
    }
    return "";
}

/// Names a result file that cannot be written, or returns an empty text: the user should know before hours of
/// computing.
std::string unwritable(const RunOptions& o) {
    try {
        for (const std::string* path : {&o.result_path, &o.csv_path, &o.snapshot_path}) check_writable(*path);
    } catch (const std::exception& e) {
        return e.what();
    }
    return "";
}

/// Sets the steps from --time if it is given; `failure` gets the reason if that is impossible.
void count_steps(RunOptions& o, double dt_s, std::string& failure) {
    if (o.time_s == 0) return;
    const double steps = std::ceil(o.time_s / dt_s - 1e-6);
    if (!(steps < 1e15)) failure = "--time is more than 1e15 steps: give --steps unlimited";
    else o.steps = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(steps));
}

/// Returns the options for the rest of the study after this step; `failure` gets the reason if there is no rest.
RunOptions left_of(RunOptions o, std::uint64_t step, std::string& failure) {
    const std::uint64_t end = o.unlimited ? o.steps : o.warm_up + o.steps;
    if (step >= end)
        failure = o.restart_path + " is the state after step " + std::to_string(step) + ", but this run ends with step " + std::to_string(end) +
                  ": give more --steps, which are counted from the beginning of the study";
    o.steps = end - std::max(step, std::min(o.warm_up, end));
    o.warm_up -= std::min(o.warm_up, step);
    return o;
}

void simulate_and_report(const Mpi& mpi, RunOptions given, int argc, char** argv) {
    RunOptions o = given;
    const Kernels* kernels = find_kernels(o.isa.c_str());
    std::string failure = no_work(o);
    if (failure.empty()) failure = contradiction(o);
    if (failure.empty() && mpi.rank == 0) failure = unwritable(o);
    if (kernels == nullptr) failure = "this processor has no '" + o.isa + "' kernels";
    agree(mpi, failure);
    const Case c = load_everywhere(mpi, o);
    count_steps(given, c.network.dt_s, failure);
    agree(mpi, failure);
    o = given;
    const Decomposition parts = decompose(c.network);
    const std::vector<double> injected_us = o.inject_phi_us > 0 ? shares_us(c.network, parts, o.inject_phi_us) : std::vector<double>{};
    Mapping mapping;
    try {
        mapping = o.map == "auto" ? map_tasks(c.network, parts, mpi.size, injected_us)
                                  : load_mapping(o.map, static_cast<int>(parts.tasks.size()), mpi.size);
        o.probes = given.probes = probe_names(c.network, o.probes);
        static_cast<void>(find_probes(c.network, o.probes));
        check_waveforms(c.network, o, mpi.rank == 0);
    } catch (const std::exception& e) {
        failure = e.what();
    }
    agree(mpi, failure);
    agree_on(mpi, fnv1a(mapping.rank_of_task.data(), mapping.rank_of_task.size() * sizeof mapping.rank_of_task[0]),
             "maps the tasks differently from rank 0 (--map " + o.map + "): give every node the same file and program");
    const StudyId id{c.hash, c.network.dt_s, parts.tasks.size(), c.network.lines.size()};
    std::optional<Snapshot> begin;
    if (!o.restart_path.empty()) {
        try {
            begin.emplace(MPI_COMM_WORLD, o.restart_path, id);
            o = left_of(given, begin->step(), failure);
        } catch (const std::exception& e) {
            failure = e.what();
        }
        agree(mpi, failure);
    }
    std::optional<LiveSignals> live;
    if (!o.live_path.empty()) live.emplace(mpi, c.network, parts, o.live_path);
    const auto resume = [&](Engine& engine) { begin->into(engine); };
    Engine engine(MPI_COMM_WORLD, c.network, parts, mapping,
                  {exchange_mode(o.exchange), transport(o.transport), kernels, message(o.message), injected_us,
                   begin ? std::function<void(Engine&)>(resume) : nullptr});
    json result;
    try {
        Probes probes(mpi, c.network, parts, engine, o);
        Waveforms waveforms(mpi, c, parts, engine, o);
        if (begin)
            for (Observed* observed : {probes.observed(), waveforms.observed()}) observed->resume(*begin);
        Meetings meetings(mpi, o, id);
        const Timing timing = simulate(mpi, engine, probes, waveforms, meetings, live ? &*live : nullptr, o);
        waveforms.finish();
        const std::uint64_t last_step = engine.steps();  // the replay advances it
        result = measurements(mpi, engine, timing, o, parts.tasks.size());
        result["steps"] = timing.steps;
        if (waveforms.wanted()) result["waveforms"] = waveforms.result();
        meetings.tell(result);
        if (live) live->end(result);
        if (begin)
            result["restart"] = {{"file", o.restart_path}, {"after_step", begin->step()}, {"last_step", last_step},
                                 {"measured", "times and counts cover the steps after the restart; the checksum covers all steps of the study"}};
        if (!o.measure) engine.drain();
        probes.finish();
    } catch (const std::exception& e) {
        // Catch here, not further out: the engine's destructor is collective and would wait for the other ranks.
        abort_all(mpi, e.what());
    }
    if (!injected_us.empty()) result["heaviest_task_us"] = rounded(*std::max_element(injected_us.begin(), injected_us.end()));
    const json origin = provenance(MPI_COMM_WORLD);
    if (mpi.rank != 0) return;
    result.update({{"format", "kappa-emt-result"}, {"version", 1}, {"title", c.title.empty() ? o.case_path : c.title}, {"case", o.case_path},
                   {"case_hash", sixteen_digits(c.hash)}, {"warm_up", o.warm_up}, {"dt_us", c.network.dt_s * 1e6}, {"ranks", mpi.size},
                   {"tasks", parts.tasks.size()}, {"islands", parts.islands}, {"nodes", c.census.nodes}, {"exchange", o.exchange},
                   {"transport", o.transport}, {"message", o.message}, {"simulated", kSimulated}, {"map", mapping.method}, {"modelled_step_us", rounded(mapping.modelled_step_us)},
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
