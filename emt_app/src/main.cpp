// emt: offline simulation of electromagnetic transients, in parallel. See README.md.
#undef exit  // a macro of SimGrid's smpicxx; CLI11 has a member function of the name
#include <CLI/CLI.hpp>

#include <charconv>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <limits>
#include <string>
#include <vector>

#include "commands/commands.hpp"
#include "commands/nearest.hpp"
#include "measure/provenance.hpp"

namespace {

/// Returns a message unless the text is a count above zero.
struct WholeNumber : CLI::Validator {
    WholeNumber() : Validator("NUMBER") {
        func_ = [](std::string& text) -> std::string {
            std::uint64_t count = 0;
            const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), count);
            if (problem == std::errc() && end == text.data() + text.size()) return count > 0 ? "" : "must be at least 1";
            double number = 0;
            const auto [end_of_number, no_number] = std::from_chars(text.data(), text.data() + text.size(), number);
            if (no_number == std::errc() && end_of_number == text.data() + text.size() && number >= 1 && number < 1e15 && number == std::floor(number))
                return "'" + text + "' must be written as " + std::to_string(static_cast<std::uint64_t>(number));
            return "'" + text + "' is not a whole number";
        };
    }
};

void add_steps(CLI::App& app, std::uint64_t& steps) {
    app.add_option("--steps", steps, "time steps to simulate and time")->check(WholeNumber())->capture_default_str();
}

/// Returns a message for an unknown command, or an empty text.
std::string unknown_command(const CLI::App& app, int argc, char** argv) {
    const CLI::App* at = &app;
    std::string path = at->get_name();
    for (int i = 1; i < argc && at->get_require_subcommand_min() > 0; ++i) {
        const std::string word = argv[i];
        if (word.starts_with("-")) return "";
        std::vector<std::string> names;
        const CLI::App* found = nullptr;
        for (const CLI::App* command : at->get_subcommands([](const CLI::App*) { return true; })) {
            names.push_back(command->get_name());
            if (word == names.back()) found = command;
        }
        if (found == nullptr) return "'" + word + "' is no command of '" + path + "': did you mean '" + emt::nearest(word, names, 1).at(0) + "'?";
        at = found;
        path += " " + word;
    }
    return "";
}

void add_run_options(CLI::App& app, emt::RunOptions& o) {
    app.add_option("CASE", o.case_path, "case file (JSON)")->required();
    app.add_option("--warm-up", o.warm_up, "steps before the timed ones")->capture_default_str();
    app.add_option("--exchange", o.exchange, "step: exchange at every step; slack: only when a wave is needed, in batches")
        ->check(CLI::IsMember({"step", "slack"}))->capture_default_str();
    app.add_option("--transport", o.transport, "how ranks of a node exchange")->check(CLI::IsMember({"auto", "message", "shared"}))->capture_default_str();
    app.add_option("--isa", o.isa, "kernels to use")->check(CLI::IsMember({"auto", "avx512", "avx2", "portable"}))->capture_default_str();
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app{"Electromagnetic-transient simulation of power networks, serial or with MPI.\n"
                 "Example: emt generate hq -o hq.json && mpirun -n 4 emt run hq.json --steps 100000 --result result.json"};
    app.require_subcommand(1);
    app.name("emt");
    app.set_version_flag("--version", "emt " + emt::program_version());

    std::string path;
    bool as_json = false;
    auto* check = app.add_subcommand("check", "validate a case file and show its content");
    check->add_option("CASE", path, "case file (JSON)")->required();
    check->add_flag("--json", as_json, "print JSON");

    std::vector<std::string> patterns;
    auto* channels = app.add_subcommand("channels", "print names and units of all channels that --probe, --channels and --signal can show");
    channels->add_option("CASE", path, "case file (JSON)")->required();
    channels->add_option("PATTERN", patterns, "print only names that match, with *, ? and [...] as in the shell");

    int graph_ranks = 2;
    auto* graph = app.add_subcommand("graph", "print the data that ranks exchange in a step: RANK RANK LINES BYTES");
    graph->add_option("CASE", path, "case file (JSON)")->required();
    graph->add_option("--ranks", graph_ranks, "number of ranks to which the tasks are mapped")->check(CLI::Range(1, 100'000))->capture_default_str();

    auto* schema = app.add_subcommand("schema", "print the JSON Schema of case files");

    auto* generate = app.add_subcommand("generate", "write a synthetic case");
    generate->require_subcommand(1);
    emt::GenerateOptions generate_options;
    auto* hq = generate->add_subcommand("hq", "network with the element counts of the Hydro-Quebec system in the IPST 2023 paper");
    hq->add_option("--scale", generate_options.scale, "number of copies, connected by lines")->check(CLI::Range(1, 10000))->capture_default_str();
    hq->add_option("--seed", generate_options.seed, "seed of all random choices")->capture_default_str();
    hq->add_flag("--network-only", generate_options.network_only, "use constant EMFs behind impedances instead of machines and their controllers");
    hq->add_option("--fault", generate_options.fault_bus, "bus whose phases are shorted to ground from 1 s to 1.1 s");
    hq->add_option("-o,--output", generate_options.path, "case file to write")->required();

    auto* import_from = app.add_subcommand("import", "make a case from another program's data: a solved case of MATPOWER, version 2, or of PSS/E, version 33 or 34");
    emt::ImportOptions import_options;
    std::vector<std::string> source;
    import_from->add_option("CASE", source, "case file; before it matpower or psse, if neither the file's name (.m, .raw) nor its first line tells")
        ->required()->expected(1, 2);
    import_from->add_option("-o,--output", import_options.output, "case file to write")->required();
    import_from->add_option("--dt", import_options.dt_s, "time step in seconds; reactances are exact for this step")->check(CLI::PositiveNumber)->capture_default_str();
    auto* frequency = import_from->add_option("--frequency", import_options.frequency_hz, "frequency in Hz; default: of the case, or 60 if it states none")->check(CLI::PositiveNumber);
    import_from->add_flag("--solve", import_options.solve, "solve the power flow of the case; without it, the case must be solved");
    import_from->add_option("--reactive-limits", import_options.reactive_limits, "with --solve: keep or ignore the reactive limits of machines")
        ->check(CLI::IsMember({"keep", "ignore"}))->capture_default_str();
    import_from->add_option("--tolerance", import_options.tolerance_mva, "largest mismatch at a bus in MVA without --solve; default: 1e-4 of the loads, at most 1 MVA")
        ->check(CLI::NonNegativeNumber);
    import_from->add_option("--lines", import_options.lines, "waves: travelling waves if they take at least a step, else pi sections; pi: only pi sections")
        ->check(CLI::IsMember({"waves", "pi"}))->capture_default_str();
    import_from->add_option("--generators", import_options.generators, "machine: synchronous machines with typical parameters; emf: constant EMFs")
        ->check(CLI::IsMember({"machine", "emf"}))->capture_default_str();

    emt::RunOptions run_options;
    auto* run = app.add_subcommand("run", "simulate a case; launch with mpirun or srun for several ranks");
    add_run_options(*run, run_options);
    std::string steps = std::to_string(run_options.steps);
    auto* count = run->add_option("--steps", steps, "number of time steps to simulate and time, or `unlimited`: until SIGINT or SIGTERM, which end any run normally")
        ->check([](const std::string& text) { return text == "unlimited" ? std::string() : WholeNumber()(text); })->capture_default_str();
    run->add_option("--time", run_options.time_s, "simulated time in seconds, instead of --steps")->check(CLI::PositiveNumber)->excludes(count);
    run->add_option("--pace", run_options.pace, "real-time: start each step at its wall time and count late steps; skips the replay")
        ->check(CLI::IsMember({"none", "real-time"}))->capture_default_str();
    auto* snapshot = run->add_option("--snapshot", run_options.snapshot_path, "write the state to this file at the end and at each --snapshot-every");
    run->add_option("--snapshot-every", run_options.snapshot_every, "interval between snapshots: steps (10000) or seconds of wall time (30s)")->needs(snapshot);
    run->add_option("--restart", run_options.restart_path, "continue from this snapshot of the same case; steps count from the beginning of the study");
    run->add_option("--map", run_options.map, "auto, or a JSON file with rank_of_task")->capture_default_str();
    run->add_option("--result", run_options.result_path, "write the result as JSON");
    run->add_option("--dt", run_options.dt_s, "time step in seconds instead of the case's")->check(CLI::PositiveNumber);
    auto* csv = run->add_option("--csv", run_options.csv_path, "write the channels of --probe as CSV");
    auto* probe = run->add_option("--probe", run_options.probes, "channel for --csv, with *, ? and [...] as in the shell; repeat for more: a node (V), a signal, or of an element NAME.i (A), of three phases NAME.a.i; also "
                    "NAME.u, the voltage (V) of an element with two terminals, "
                    "NAME.energy of an arrester (J), NAME.flux of a saturable inductor (Wb), NAME.from.a.i and NAME.to.a.i of a line, "
                    "NAME.a.i1, .i2, .im and .flux of a transformer, NAME.ab.i of a fault between phases")->needs(csv);
    csv->needs(probe);
    run->add_option("--every", run_options.csv_every, "steps between rows of --csv")->check(CLI::PositiveNumber)->capture_default_str();
    auto* waveforms = run->add_option("--waveforms", run_options.waveforms_path, "write channels as COMTRADE (FILE.cff) or HDF5 (FILE.h5); all ranks write in parallel");
    run->add_option("--channels", run_options.channels, "channels for --waveforms, with *, ? and [...] as in the shell; repeat for more. "
                    "Default: all channels of the case (see emt channels)")->needs(waveforms);
    run->add_option("--decimate", run_options.decimate, "steps between records of --waveforms")->check(CLI::PositiveNumber)->capture_default_str()->needs(waveforms);
    run->add_option("--waveform-files", run_options.waveform_files, "shared: one file for all ranks; rank: one file for each rank, FILE.rank0000 and so on")
        ->check(CLI::IsMember({"shared", "rank"}))->capture_default_str()->needs(waveforms);
    run->add_option("--waveform-io", run_options.waveform_io, "how ranks write a shared file: together (collective) or separately (independent)")
        ->check(CLI::IsMember({"collective", "independent"}))->capture_default_str()->needs(waveforms);
    run->add_option("--waveform-buffer", run_options.waveform_buffer_mib, "size of the buffers of all ranks together between two writes, in MiB")
        ->check(CLI::Range(1, 1 << 24))->capture_default_str()->needs(waveforms);
    run->add_option("--verify-waveforms", run_options.verify_waveforms, "read the files back at the end and compare; each rank reads its own data (own) or data of another rank, "
                    "if possible on another node (other)")
        ->check(CLI::IsMember({"none", "own", "other"}))->capture_default_str()->needs(waveforms);
    run->add_option("--progress", run_options.progress, "auto: on a terminal; always: also as lines, for instance under mpirun")
        ->check(CLI::IsMember({"auto", "always", "never"}))->capture_default_str();
    run->add_option("--message", run_options.message, "content of a message: all lines between two ranks (pair), or one line (line)")
        ->check(CLI::IsMember({"pair", "line"}))->capture_default_str();
    auto* inject = run->add_option("--inject-phi-us", run_options.inject_phi_us, "on a machine simulated with SimGrid's SMPI: work of all tasks in a step, in microseconds, "
                    "measured elsewhere")->check(CLI::PositiveNumber);
    bool no_replay = false;
    auto* skip = run->add_flag("--no-replay", no_replay, "skip the replay that measures phi")->excludes(inject);
    run->add_flag("--profile", run_options.profile, "show the shares of element kinds and solution parts in phi")->excludes(skip)->excludes(inject);

    run->add_option("--live", run_options.live_path, "Unix socket where `emt watch` and other programs read signals during the run");

    emt::WatchOptions watch_options;
    auto* watch = app.add_subcommand("watch", "show signals of a running `emt run --live` as CSV");
    watch->add_option("SOCKET", watch_options.socket_path, "socket of the run")->required();
    watch->add_option("--signal", watch_options.signals, "names as in --probe, or shell patterns; repeat for more")->required();
    watch->add_option("--decimate", watch_options.decimate, "steps between rows")->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 40))->capture_default_str();
    watch->add_option("--rows", watch_options.rows, "end after this number of rows; 0: at the end of the run")->capture_default_str();
    watch->add_option("--csv", watch_options.csv_path, "file to write, instead of standard output");

    emt::ScaleOptions scale_options;
    auto* scaling = app.add_subcommand("scale", "run a case with 1, 2, ... ranks; speed-up, efficiency, Karp-Flatt and kappa' as JSON and SVG");
    add_run_options(*scaling, scale_options.run);
    add_steps(*scaling, scale_options.run.steps);
    scaling->add_option("--ranks", scale_options.ranks, "rank counts (default: 1, 2, 4, ... and all cores of this machine)")->delimiter(',')->check(CLI::PositiveNumber);
    scaling->add_option("--launcher", scale_options.launcher, "command that starts {ranks} ranks")->capture_default_str();
    scaling->add_option("--result", scale_options.json_path, "JSON to write")->capture_default_str();
    scaling->add_option("--plot", scale_options.plot_path, "SVG to write")->capture_default_str();

    emt::AlikeOptions alike_options;
    auto* alike = app.add_subcommand("alike", "run the whole case repeatedly on every rank alone; write the bits of each core as JSON");
    alike->add_option("CASE", alike_options.case_path, "case file (JSON)")->required();
    alike->add_option("--steps", alike_options.steps, "time steps of a round")->check(CLI::PositiveNumber)->capture_default_str();
    alike->add_option("--seconds", alike_options.seconds, "time of the rounds; a round that has begun is completed")->check(CLI::NonNegativeNumber)->capture_default_str();
    alike->add_option("--variant", alike_options.variant, "number of the case, for the result")->capture_default_str();
    alike->add_option("--isa", alike_options.isa, "kernels to use")->check(CLI::IsMember({"auto", "avx512", "avx2", "portable"}))->capture_default_str();
    alike->add_option("--result", alike_options.result_path, "JSON to write")->capture_default_str();

    emt::CachesOptions caches_options;
    auto* caches = app.add_subcommand("caches", "run each case on every rank alone; write the time of a step over the memory that it touches as JSON");
    caches->add_option("CASES", caches_options.case_paths, "case files (JSON), from small to large")->required();
    caches->add_option("--steps", caches_options.steps, "time steps of each case")->check(CLI::PositiveNumber)->capture_default_str();
    caches->add_option("--at-once", caches_options.at_once, "ranks that measure at the same time; 0: all")->check(CLI::NonNegativeNumber)->capture_default_str();
    caches->add_option("--result", caches_options.result_path, "JSON to write")->capture_default_str();

    auto* plot = app.add_subcommand("plot", "draw waveforms to PNG or HTML with the program emt-plot; see emt plot --help");
    plot->prefix_command();
    plot->set_help_flag();

    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& e) {
        const std::string unknown = unknown_command(app, argc, argv);
        if (unknown.empty()) return app.exit(e);
        std::cerr << "emt: error: " << unknown << std::endl;
        return 1;
    }
    try {
        if (check->parsed()) return emt::check_command(path, as_json);
        if (channels->parsed()) return emt::channels_command(path, patterns);
        if (graph->parsed()) return emt::graph_command(path, graph_ranks);
        if (alike->parsed()) return emt::alike_command(alike_options, argc, argv);
        if (caches->parsed()) return emt::caches_command(caches_options, argc, argv);
        if (watch->parsed()) return emt::watch_command(watch_options);
        if (plot->parsed()) emt::plot_command(plot->remaining());
        if (schema->parsed()) return emt::schema_command();
        if (hq->parsed()) return emt::generate_command(generate_options);
        if (import_from->parsed()) {
            import_options.path = source.back();
            if (source.size() == 2) import_options.format = source.front();
            import_options.frequency_given = frequency->count() > 0;
            return emt::import_command(import_options);
        }
        if (scaling->parsed()) {
            scale_options.program = std::filesystem::read_symlink("/proc/self/exe").string();
            return emt::scale_command(scale_options);
        }
        run_options.measure = !no_replay && run_options.pace == "none";
        run_options.unlimited = steps == "unlimited";
        if (run_options.unlimited)
            run_options.steps = std::numeric_limits<std::uint64_t>::max() / 2;
        else if (!CLI::detail::lexical_cast(steps, run_options.steps))
            throw std::runtime_error("--steps: '" + steps + "' is neither a whole number nor 'unlimited'");
        return emt::run_command(run_options, argc, argv);
    } catch (const std::exception& e) {
        std::cerr << "emt: error: " << e.what() << std::endl;
        return 1;
    }
}
