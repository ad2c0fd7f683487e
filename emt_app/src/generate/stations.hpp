// The substations of the reference network, one per task, before they have buses: sizes, and transformers.
#pragma once
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace emt {

inline constexpr int kTasks = 172, kMain = 150, kBackbone = 60, kHubs = 12, kIslands = 11, kLoops735 = 6, kLoops315 = 4;
inline constexpr int kMachines = 37, kCondensers = 4, kSvcs = 7;

inline std::size_t at(int i) { return static_cast<std::size_t>(i); }

/// Uniform numbers that are the same with every standard library.
class Random {
public:
    explicit Random(std::uint64_t seed) : engine_(seed) {}
    double between(double low, double high) { return low + (high - low) * static_cast<double>(engine_() >> 11) * 0x1p-53; }
    int below(int n) { return static_cast<int>(engine_() % static_cast<std::uint64_t>(n)); }
    template <class T>
    void shuffle(std::vector<T>& v) {
        for (std::size_t i = v.size(); i > 1; --i) std::swap(v[i - 1], v[static_cast<std::size_t>(below(static_cast<int>(i)))]);
    }

private:
    std::mt19937_64 engine_;
};

enum class Low { none, load, machine, condenser, svc, hub };

struct Station {
    double kv = 0;                       // line to line
    std::vector<std::size_t> buses;      // [0] is the main bus
    std::vector<std::size_t> terminals;  // buses where lines may end
    std::vector<Low> low;                // role of each transformer's low side
    int extra_breakers = 0, extra_capacitors = 0;
};

inline bool island(int task) { return task >= kMain; }
inline bool backbone(int task) { return task < kBackbone; }
inline bool hub(int task) { return backbone(task) && task % (kBackbone / kHubs) == 2; }

/// Returns kTasks stations. Draws random numbers.
[[nodiscard]] std::vector<Station> plan_stations(Random& random);

}  // namespace emt
