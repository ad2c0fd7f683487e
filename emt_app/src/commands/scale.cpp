// `emt scale`: runs a case with several rank counts and collects the paper's metrics.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>

#include "commands/commands.hpp"
#include "commands/scale_plot.hpp"

namespace emt {
namespace {

using nlohmann::json;

/// Runs a program without a shell, so that no part of a path becomes a command.
int spawn(const std::vector<std::string>& words) {
    std::vector<char*> argv;
    for (const std::string& w : words) argv.push_back(const_cast<char*>(w.c_str()));
    argv.push_back(nullptr);
    const pid_t child = fork();
    if (child < 0) throw std::runtime_error("cannot start " + words.front());
    if (child == 0) {
        execvp(argv[0], argv.data());
        std::perror(argv[0]);
        _exit(127);
    }
    int status = 0;
    if (waitpid(child, &status, 0) < 0) throw std::runtime_error("lost " + words.front());
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::vector<int> powers_of_two_up_to_all_cores() {
    const int cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
    std::vector<int> ranks;
    for (int p = 1; p < cores; p *= 2) ranks.push_back(p);
    ranks.push_back(cores);
    return ranks;
}

std::vector<std::string> launch_words(const ScaleOptions& o, int ranks, const std::string& result) {
    std::string text = o.launcher;
    const std::string key = "{ranks}";
    const std::size_t place = text.find(key);
    if (place == std::string::npos) throw std::runtime_error("--launcher: " + key + " is missing: put it in the place of the number of ranks");
    text.replace(place, key.size(), std::to_string(ranks));
    std::vector<std::string> words;
    for (std::size_t i = 0; i < text.size();) {
        const std::size_t end = std::min(text.find(' ', i), text.size());
        if (end > i) words.push_back(text.substr(i, end - i));
        i = end + 1;
    }
    const RunOptions& r = o.run;
    for (const std::string& w : {o.program, std::string("run"), r.case_path, std::string("--steps"), std::to_string(r.steps),
                                 std::string("--warm-up"), std::to_string(r.warm_up), std::string("--exchange"), r.exchange,
                                 std::string("--transport"), r.transport, std::string("--isa"), r.isa, std::string("--result"), result})
        words.push_back(w);
    return words;
}

}  // namespace

int scale_command(const ScaleOptions& o) {
    json points = json::array();
    json common;
    for (const int p : o.ranks.empty() ? powers_of_two_up_to_all_cores() : o.ranks) {
        // Beside the result: the launcher may start rank 0 on another node, which has its own /tmp.
        const std::filesystem::path result = std::filesystem::absolute(o.json_path + ".run" + std::to_string(getpid()));
        if (const int status = spawn(launch_words(o, p, result.string())); status != 0)
            throw std::runtime_error("the run with " + std::to_string(p) + " ranks failed with status " + std::to_string(status));
        std::ifstream file(result);
        if (!file)
            throw std::runtime_error("the run with " + std::to_string(p) + " ranks left no result at " + result.string() +
                                     ": give --result a folder that all nodes share");
        const json r = json::parse(file);
        std::filesystem::remove(result);
        if (common.is_null()) common = r;
        if (r["checksum"] != common["checksum"])
            throw std::runtime_error("the checksum with " + std::to_string(p) + " ranks differs from the first one: " + r["checksum"].get<std::string>() +
                                     " against " + common["checksum"].get<std::string>());
        json point{{"ranks", p}, {"nodes", r["provenance"]["nodes"].size()}};
        for (const char* key : {"speedup", "efficiency", "karp_flatt", "kappa_us", "kappa_block_p50_us", "kappa_p50_us", "sigma_us", "phi_us", "imbalance_us", "step_us",
                                "bytes_per_step", "neighbours", "map"})
            point[key] = r[key];
        points.push_back(std::move(point));
    }
    json out{{"format", "kappa-emt-scaling"}, {"version", 1}};
    for (const char* key : {"title", "case", "case_hash", "checksum", "steps", "dt_us", "exchange", "transport", "isa", "tasks", "simplified", "provenance"})
        out[key] = common[key];
    out["points"] = points;
    write_file(o.json_path, out.dump(2) + "\n");
    write_file(o.plot_path, scaling_plot(out));
    std::printf("ranks  step us   blocks   speed-up  efficiency  Karp-Flatt  kappa' us    blocks\n");
    for (const json& p : points)
        std::printf("%5d  %7.3f  %7.3f  %9.3f  %10.3f  %10s  %9.3f  %8.3f\n", p["ranks"].get<int>(), p["step_us"]["mean"].get<double>(), p["step_us"]["block_p50"].get<double>(), p["speedup"].get<double>(),
                    p["efficiency"].get<double>(), p["karp_flatt"].is_null() ? "-" : std::to_string(p["karp_flatt"].get<double>()).substr(0, 6).c_str(),
                    p["kappa_us"].get<double>(), p["kappa_block_p50_us"].get<double>());
    return 0;
}

}  // namespace emt
