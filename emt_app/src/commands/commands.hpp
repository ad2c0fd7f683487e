// The subcommands of `emt`.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace emt {

struct RunOptions {
    std::string case_path;
    std::uint64_t steps = 1000;
    double time_s = 0;                   // simulated, in place of steps; 0: steps
    std::uint64_t warm_up = 0;           // steps before timing starts
    std::string exchange = "step";
    std::string transport = "auto";
    std::string message = "pair";
    double inject_phi_us = 0;            // work per step on a simulated machine; 0: measured
    std::string map = "auto";
    std::string result_path;
    std::string isa = "auto";
    double dt_s = 0;
    std::vector<std::string> probes;     // names, or patterns of them
    std::string csv_path;
    std::uint64_t csv_every = 1;
    std::string progress = "auto";
    std::string waveforms_path;          // empty: none
    std::vector<std::string> channels;   // patterns of their names; none: all
    std::uint64_t decimate = 1;
    std::string waveform_files = "shared";
    std::string waveform_io = "collective";
    std::uint64_t waveform_buffer_mib = 8;
    std::string verify_waveforms = "none";
    bool measure = true;
    bool profile = false;                // time of each part of a step
    bool unlimited = false;              // steps until a signal ends the run
    std::string pace = "none";
    std::string snapshot_path;
    std::string snapshot_every;          // steps, or seconds with an s; empty: at the end only
    std::string restart_path;
    std::string live_path;
};

struct ScaleOptions {
    RunOptions run;
    std::vector<int> ranks;
    std::string launcher = "mpirun -n {ranks}";
    std::string program;                 // this executable
    std::string json_path = "emt_scale.json";
    std::string plot_path = "emt_scale.svg";
};

struct GenerateOptions {
    int scale = 1;
    std::uint64_t seed = 1;
    bool network_only = false;
    std::string fault_bus;
    std::string path;
};

struct ImportOptions {
    std::string format;                  // "matpower" or "psse"; "": by the file
    std::string path;
    std::string output;
    std::string lines = "waves";
    std::string generators = "machine";
    double dt_s = 50e-6;
    double frequency_hz = 60;
    bool frequency_given = false;
    bool solve = false;                  // the power flow of a case that is not solved
    std::string reactive_limits = "keep";
    double tolerance_mva = -1;           // below zero: of the case's loads
};

struct AlikeOptions {
    std::string case_path;
    std::uint64_t steps = 1000;          // of a round
    double seconds = 1;
    std::uint64_t variant = 0;           // goes into the result
    std::string isa = "auto";
    std::string result_path = "emt_alike.json";
};

struct CachesOptions {
    std::vector<std::string> case_paths; // of growing size
    std::uint64_t steps = 200;           // timed, of each case
    int at_once = 0;                     // ranks that measure at the same time; 0: all
    std::string result_path = "emt_caches.json";
};

struct WatchOptions {
    std::string socket_path;
    std::vector<std::string> signals;    // patterns of the shell
    std::uint64_t decimate = 1;
    std::uint64_t rows = 0;              // 0: until the run ends
    std::string csv_path;                // empty: standard output
};

int alike_command(const AlikeOptions& options, int argc, char** argv);
int caches_command(const CachesOptions& options, int argc, char** argv);
/// Prints name and unit of all that a case can show, or of what the patterns match.
int channels_command(const std::string& path, const std::vector<std::string>& patterns);
int check_command(const std::string& path, bool as_json);
/// Becomes the program `emt-plot`, found beside this one or on PATH, with these words. Returns only by std::runtime_error.
[[noreturn]] void plot_command(const std::vector<std::string>& words);
/// Prints which of so many ranks exchange waves with each other.
int graph_command(const std::string& path, int ranks);
int schema_command();
int generate_command(const GenerateOptions& options);
int import_command(const ImportOptions& options);
int run_command(const RunOptions& options, int argc, char** argv);
int watch_command(const WatchOptions& options);
int scale_command(const ScaleOptions& options);

/// Whether a file can be written at this path; it is left as it is. Throws std::runtime_error that names it. An empty path is none.
void check_writable(const std::string& path);
/// Writes a file completely or not at all. Throws std::runtime_error that names it.
void write_file(const std::string& path, const std::string& text);

}  // namespace emt
