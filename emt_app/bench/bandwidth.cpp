// Bandwidth of one core over a buffer of the given bytes, repeated: the cache level that holds it decides. The loop
// updates a part of each sixteen kilobytes and reads the rest, as a time step does. Updated data also goes back to memory.
// Usage: emt_bandwidth BYTES [SHARE]; SHARE (0 to 1) is updated, rounded to sixteenths. Prints GB/s (bytes touched over
// time, each counted once), the median of 21 trials.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

using Vec = double __attribute__((vector_size(64), aligned(64), may_alias));
constexpr int kVectors = 16;  // of a kilobyte; as many sums hide the latency of the additions
constexpr std::size_t kDoubles = kVectors * 8;
constexpr std::size_t kCycle = 16;

#if defined(__x86_64__)
__attribute__((target_clones("avx512f", "avx2", "default")))
#endif
double pass(double* data, std::size_t blocks, std::size_t updated) {
    Vec s[kVectors] = {};
    for (std::size_t b = 0; b < blocks; ++b) {
        Vec* p = reinterpret_cast<Vec*>(data + b * kDoubles);
        if (b % kCycle < updated)
            for (int i = 0; i < kVectors; ++i) p[i] = p[i] * 0.5 + 1.0;
        else
            for (int i = 0; i < kVectors; ++i) s[i] += p[i];
    }
    double out = 0;
    for (const Vec& v : s) out += v[0];
    return out;
}

}  // namespace

int main(int argc, char** argv) {
    const long bytes = argc >= 2 ? std::atol(argv[1]) : 0;
    const double share = argc == 3 ? std::atof(argv[2]) : 0;
    if (argc > 3 || bytes < 1024 || !(share >= 0 && share <= 1)) {
        std::fprintf(stderr, "usage: emt_bandwidth BYTES [SHARE] (1024 or more; 0 to 1)\n");
        return 1;
    }
    const auto updated = static_cast<std::size_t>(std::lround(share * kCycle));
    const auto blocks = static_cast<std::size_t>(bytes) / 1024;
    std::vector<double> memory(blocks * kDoubles + 8, 1.0);
    const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
    double* data = memory.data() + (64 - address % 64) % 64 / 8;
    const std::size_t repeats = std::max<std::size_t>(2, (std::size_t{1} << 28) / (blocks * 1024));
    std::array<double, 21> gb_s{};
    double keep = 0;
    for (double& rate : gb_s) {
        const auto start = std::chrono::steady_clock::now();
        for (std::size_t r = 0; r < repeats; ++r) keep += pass(data, blocks, updated);
        const std::chrono::duration<double> t = std::chrono::steady_clock::now() - start;
        rate = static_cast<double>(repeats * blocks * 1024) / t.count() / 1e9;
    }
    volatile double sink = keep;
    (void)sink;
    std::sort(gb_s.begin(), gb_s.end());
    std::printf("%.2f\n", gb_s[gb_s.size() / 2]);
}
