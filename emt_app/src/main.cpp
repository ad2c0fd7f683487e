// emt: offline simulation of electromagnetic transients, in parallel. See README.md.
#undef exit  // a macro of SimGrid's smpicxx; CLI11 has a member function of the name
#include <CLI/CLI.hpp>

#include <filesystem>
#include <iostream>

#include "commands/commands.hpp"

namespace {

void add_run_options(CLI::App& app, emt::RunOptions& o) {
    app.add_option("CASE", o.case_path, "case file (JSON)")->required();
    app.add_option("--steps", o.steps, "time steps to simulate and time")->check(CLI::PositiveNumber)->capture_default_str();
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

    std::string path;
    bool as_json = false;
    auto* check = app.add_subcommand("check", "validate a case file and show what it holds");
    check->add_option("CASE", path, "case file (JSON)")->required();
    check->add_flag("--json", as_json, "print JSON");

    int graph_ranks = 2;
    auto* graph = app.add_subcommand("graph", "print which ranks exchange how much in a step: RANK RANK LINES BYTES");
    graph->add_option("CASE", path, "case file (JSON)")->required();
    graph->add_option("--ranks", graph_ranks, "to which the tasks are mapped")->check(CLI::Range(1, 100'000))->capture_default_str();

    auto* schema = app.add_subcommand("schema", "print the JSON Schema of case files");

    auto* generate = app.add_subcommand("generate", "write a synthetic case");
    generate->require_subcommand(1);
    emt::GenerateOptions generate_options;
    auto* hq = generate->add_subcommand("hq", "network with the counts of the Hydro-Quebec system of the IPST 2023 paper");
    hq->add_option("--scale", generate_options.scale, "copies, tied together by lines")->check(CLI::Range(1, 10000))->capture_default_str();
    hq->add_option("--seed", generate_options.seed, "of all random choices")->capture_default_str();
    hq->add_flag("--network-only", generate_options.network_only, "constant EMFs behind impedances in place of machines and their controllers");
    hq->add_option("--fault", generate_options.fault_bus, "bus whose phases are shorted to ground from 1 s to 1.1 s");
    hq->add_option("-o,--output", generate_options.path, "case file to write")->required();

    auto* import_from = app.add_subcommand("import", "make a case of another program's data");
    import_from->require_subcommand(1);
    emt::ImportOptions import_options;
    auto* matpower = import_from->add_subcommand("matpower", "a solved MATPOWER case, version 2");
    matpower->add_option("CASE", import_options.path, "case file (.m)")->required();
    matpower->add_option("-o,--output", import_options.output, "case file to write")->required();
    matpower->add_option("--dt", import_options.dt_s, "time step in seconds, at which reactances are those of the case")->check(CLI::PositiveNumber)->capture_default_str();
    matpower->add_option("--frequency", import_options.frequency_hz, "Hz")->check(CLI::PositiveNumber)->capture_default_str();
    matpower->add_option("--lines", import_options.lines, "waves: travelling waves where they take at least a step; pi: pi sections")
        ->check(CLI::IsMember({"waves", "pi"}))->capture_default_str();
    matpower->add_option("--generators", import_options.generators, "machine: synchronous machines with typical parameters; emf: constant EMFs")
        ->check(CLI::IsMember({"machine", "emf"}))->capture_default_str();

    emt::RunOptions run_options;
    auto* run = app.add_subcommand("run", "simulate a case; launch with mpirun or srun for several ranks");
    add_run_options(*run, run_options);
    run->add_option("--map", run_options.map, "auto, or a JSON file with rank_of_task")->capture_default_str();
    run->add_option("--result", run_options.result_path, "write the result as JSON");
    run->add_option("--dt", run_options.dt_s, "time step in seconds instead of the case's")->check(CLI::PositiveNumber);
    auto* csv = run->add_option("--csv", run_options.csv_path, "write what is probed as CSV");
    auto* probe = run->add_option("--probe", run_options.probes, "what goes to --csv; repeat for more: a node (V), a signal, or of an element NAME.i (A), of three phases NAME.a.i; also "
                    "NAME.energy of an arrester (J), NAME.flux of a saturable inductor (Wb), NAME.from.a.i and NAME.to.a.i of a line, "
                    "NAME.a.i1, .i2, .im and .flux of a transformer, NAME.ab.i of a fault between phases")->needs(csv);
    csv->needs(probe);
    run->add_option("--every", run_options.csv_every, "steps between rows of --csv")->check(CLI::PositiveNumber)->capture_default_str();
    run->add_option("--progress", run_options.progress, "auto: on a terminal; always: also as lines, for instance under mpirun")
        ->check(CLI::IsMember({"auto", "always", "never"}))->capture_default_str();
    run->add_option("--message", run_options.message, "what a message holds: all lines between two ranks (pair), or each line its own (line)")
        ->check(CLI::IsMember({"pair", "line"}))->capture_default_str();
    auto* inject = run->add_option("--inject-phi-us", run_options.inject_phi_us, "on a machine simulated with SimGrid's SMPI: microseconds that a step's work of all tasks takes, "
                    "as it was measured elsewhere")->check(CLI::PositiveNumber);
    bool no_replay = false;
    auto* skip = run->add_flag("--no-replay", no_replay, "skip the replay that measures phi")->excludes(inject);
    run->add_flag("--profile", run_options.profile, "show how phi divides among kinds of element and parts of the solution")->excludes(skip)->excludes(inject);

    emt::ScaleOptions scale_options;
    auto* scaling = app.add_subcommand("scale", "run a case with 1, 2, ... ranks; speed-up, efficiency, Karp-Flatt and kappa' as JSON and SVG");
    add_run_options(*scaling, scale_options.run);
    scaling->add_option("--ranks", scale_options.ranks, "rank counts (default: 1, 2, 4, ... and all cores of this machine)")->delimiter(',')->check(CLI::PositiveNumber);
    scaling->add_option("--launcher", scale_options.launcher, "command that starts {ranks} ranks")->capture_default_str();
    scaling->add_option("--result", scale_options.json_path, "JSON to write")->capture_default_str();
    scaling->add_option("--plot", scale_options.plot_path, "SVG to write")->capture_default_str();

    emt::AlikeOptions alike_options;
    auto* alike = app.add_subcommand("alike", "every rank runs the whole case by itself, again and again; which bits came out on which core, as JSON");
    alike->add_option("CASE", alike_options.case_path, "case file (JSON)")->required();
    alike->add_option("--steps", alike_options.steps, "time steps of a round")->check(CLI::PositiveNumber)->capture_default_str();
    alike->add_option("--seconds", alike_options.seconds, "a round that has begun is completed")->check(CLI::NonNegativeNumber)->capture_default_str();
    alike->add_option("--variant", alike_options.variant, "number of the case, for the result")->capture_default_str();
    alike->add_option("--isa", alike_options.isa, "kernels to use")->check(CLI::IsMember({"auto", "avx512", "avx2", "portable"}))->capture_default_str();
    alike->add_option("--result", alike_options.result_path, "JSON to write")->capture_default_str();

    emt::CachesOptions caches_options;
    auto* caches = app.add_subcommand("caches", "every rank runs each case by itself: what a step takes over the memory that it touches, as JSON");
    caches->add_option("CASES", caches_options.case_paths, "case files (JSON), from small to large")->required();
    caches->add_option("--steps", caches_options.steps, "time steps of each case")->check(CLI::PositiveNumber)->capture_default_str();
    caches->add_option("--at-once", caches_options.at_once, "ranks that measure at the same time; 0: all")->check(CLI::NonNegativeNumber)->capture_default_str();
    caches->add_option("--result", caches_options.result_path, "JSON to write")->capture_default_str();

    CLI11_PARSE(app, argc, argv);
    try {
        if (check->parsed()) return emt::check_command(path, as_json);
        if (graph->parsed()) return emt::graph_command(path, graph_ranks);
        if (alike->parsed()) return emt::alike_command(alike_options, argc, argv);
        if (caches->parsed()) return emt::caches_command(caches_options, argc, argv);
        if (schema->parsed()) return emt::schema_command();
        if (hq->parsed()) return emt::generate_command(generate_options);
        if (matpower->parsed()) return emt::import_command(import_options);
        if (scaling->parsed()) {
            scale_options.program = std::filesystem::read_symlink("/proc/self/exe").string();
            return emt::scale_command(scale_options);
        }
        run_options.measure = !no_replay;
        return emt::run_command(run_options, argc, argv);
    } catch (const std::exception& e) {
        std::cerr << "emt: error: " << e.what() << std::endl;
        return 1;
    }
}
