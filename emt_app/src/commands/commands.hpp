// The subcommands of `emt`.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace emt {

struct RunOptions {
    std::string case_path;
    std::uint64_t steps = 1000;
    double time_s = 0;                   // simulated time, replaces `steps`; 0: use `steps`
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
    bool solve = false;                  // compute the power flow of an unsolved case
    std::string reactive_limits = "keep";
    double tolerance_mva = -1;           // below zero: from the case's loads
};

struct AlikeOptions {
    std::string case_path;
    std::uint64_t steps = 1000;          // per round
    double seconds = 1;
    std::uint64_t variant = 0;           // copied into the result
    std::string isa = "auto";
    std::string result_path = "emt_alike.json";
};

struct CachesOptions {
    std::vector<std::string> case_paths; // of growing size
    std::uint64_t steps = 200;           // timed steps of each case
    int at_once = 0;                     // ranks that measure at the same time; 0: all
    std::string result_path = "emt_caches.json";
};

struct WatchOptions {
    std::string socket_path;
    std::vector<std::string> signals;    // shell patterns
    std::uint64_t decimate = 1;
    std::uint64_t rows = 0;              // 0: until the run ends
    std::string csv_path;                // empty: standard output
};

int alike_command(const AlikeOptions& options, int argc, char** argv);
int caches_command(const CachesOptions& options, int argc, char** argv);
/// Prints name and unit of every channel of a case, or of those that match a pattern.
int channels_command(const std::string& path, const std::vector<std::string>& patterns);
int check_command(const std::string& path, bool as_json);
/// Replaces this process by the program `emt-plot`, from this program's folder or PATH, with these arguments. Throws
/// std::runtime_error if it cannot.
[[noreturn]] void plot_command(const std::vector<std::string>& words);
/// Prints which ranks, out of this number, exchange waves with each other.
int graph_command(const std::string& path, int ranks);
int schema_command();
int generate_command(const GenerateOptions& options);
int import_command(const ImportOptions& options);
int run_command(const RunOptions& options, int argc, char** argv);
int watch_command(const WatchOptions& options);
int scale_command(const ScaleOptions& options);

/// Throws std::runtime_error, naming the file, if it cannot be written; does not change it. Accepts an empty path.
void check_writable(const std::string& path);
/// Writes a file completely or not at all. Throws std::runtime_error, naming the file.
void write_file(const std::string& path, const std::string& text);

}  // namespace emt
