#include "node/cores.hpp"

#include <algorithm>
#include <barrier>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>

#include "common/heartbeat.hpp"
#include "common/on_cores.hpp"
#include "common/world.hpp"

namespace measure::node {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

struct Speed {
    double best;    // amount of work per second in the best window
    double steady;  // the mean of all windows over the best
};

// Measures several windows of time. A single pass would not show a core that sometimes stops, and a mean would blame
// the core for a single disturbance.
template <typename Kernel>
Speed speed(Kernel& kernel, double work_per_pass, double seconds) {
    constexpr int kWindows = 5;
    kernel.pass();
    double best = 0;
    double all = 0;
    for (int window = 0; window < kWindows; ++window) {
        int passes = 0;
        double took = 0;
        const auto start = Clock::now();
        do {
            kernel.pass();
            ++passes;
            took = seconds_since(start);
        } while (took < seconds / kWindows);
        const double rate = passes * work_per_pass / took;
        best = std::max(best, rate);
        all += rate;
    }
    return {best, all / kWindows / best};
}

// /sys/devices/system/cpu/cpuN has a link nodeM.
int domain_of(int core) {
    const std::filesystem::path folder = "/sys/devices/system/cpu/cpu" + std::to_string(core);
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator(folder, none)) {
        const std::string name = entry.path().filename();
        if (name.starts_with("node") && name.find_first_not_of("0123456789", 4) == std::string::npos && name.size() > 4) {
            return std::stoi(name.substr(4));
        }
    }
    return 0;
}

}  // namespace

double triad_mbps(Triad& triad, double seconds) { return speed(triad, triad.bytes_per_pass(), seconds).best / 1e6; }

std::vector<CoreSpeeds> measure_cores(const std::vector<int>& cores, std::size_t bytes_per_core, double seconds) {
    std::vector<CoreSpeeds> found(cores.size());
    std::barrier together(static_cast<std::ptrdiff_t>(cores.size()));
    on_cores(cores, [&](std::size_t i) {
        Triad triad(bytes_per_core);
        MultiplyAdd multiply_add;
        together.arrive_and_wait();
        const Speed bytes = speed(triad, triad.bytes_per_pass(), seconds);
        together.arrive_and_wait();
        const Speed flop = speed(multiply_add, MultiplyAdd::flop_per_pass(), seconds);
        found[i].triad_mbps = bytes.best / 1e6;
        found[i].gflops = flop.best / 1e9;
        found[i].steady = std::min(bytes.steady, flop.steady);
        found[i].correct = triad.correct() && multiply_add.correct();
    });
    return found;
}

std::vector<Core> in_order(std::vector<Core> cores) {
    std::sort(cores.begin(), cores.end(), [](const Core& one, const Core& other) {
        return std::tie(one.domain, one.number) < std::tie(other.domain, other.number);
    });
    return cores;
}

std::vector<int> chosen(const std::vector<Core>& cores, std::size_t active, bool spread) {
    std::vector<int> found;
    for (std::size_t i = 0; i < active; ++i) {
        found.push_back(cores[spread ? i * cores.size() / active : i].number);
    }
    return found;
}

std::vector<Core> cores_by_domain() {
    std::vector<Core> cores;
    for (const int core : own_cores()) {
        cores.push_back({core, domain_of(core)});
    }
    return in_order(std::move(cores));
}

std::vector<Fill> measure_fills(const std::vector<Core>& cores, std::size_t bytes_per_core, double seconds) {
    const std::size_t all = cores.size();
    std::vector<Fill> found;
    for (const bool spread : {true, false}) {
        const std::set<std::size_t> counts = spread ? std::set{all, all / 2, all / 4, std::size_t{1}} : std::set{all / 2, all / 4};
        for (const std::size_t active : counts) {
            if (active == 0 || (!spread && active == all)) {
                continue;
            }
            const std::vector<int> numbers = chosen(cores, active, spread);
            heartbeat::phase(kPatience_s + 10 * seconds, std::to_string(active) + " of " + std::to_string(all) + " cores");
            found.push_back({spread, numbers, measure_cores(numbers, bytes_per_core, seconds)});
        }
    }
    return found;
}

long available_mib() {
    std::ifstream file("/proc/meminfo");
    for (std::string key, rest; file >> key && std::getline(file, rest);) {
        if (key == "MemAvailable:") {
            return std::stol(rest) / 1024;
        }
    }
    throw std::runtime_error("/proc/meminfo has no MemAvailable");
}

}  // namespace measure::node
