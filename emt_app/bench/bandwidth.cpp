// Read bandwidth of one core over a buffer of the given bytes, repeated: the cache level that holds it decides.
// Usage: emt_bandwidth BYTES; prints GB/s, the best of 20 trials.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

using Vec = double __attribute__((vector_size(64), aligned(64), may_alias));

// Sixteen sums hide the latency of the additions.
#if defined(__x86_64__)
__attribute__((target_clones("avx512f", "avx2", "default")))
#endif
double sum(const double* data, std::size_t blocks) {
    Vec s[16] = {};
    for (std::size_t b = 0; b < blocks; ++b) {
        const Vec* p = reinterpret_cast<const Vec*>(data + b * 128);
        for (int i = 0; i < 16; ++i) s[i] += p[i];
    }
    double out = 0;
    for (const Vec& v : s) out += v[0];
    return out;
}

}  // namespace

int main(int argc, char** argv) {
    const long bytes = argc == 2 ? std::atol(argv[1]) : 0;
    if (bytes < 1024) {
        std::fprintf(stderr, "usage: emt_bandwidth BYTES (1024 or more)\n");
        return 1;
    }
    const auto blocks = static_cast<std::size_t>(bytes) / 1024;
    std::vector<double> memory(blocks * 128 + 8, 1.0);
    auto address = reinterpret_cast<std::uintptr_t>(memory.data());
    const double* data = memory.data() + (64 - address % 64) % 64 / 8;
    const std::size_t repeats = std::max<std::size_t>(2, (std::size_t{1} << 28) / (blocks * 1024));
    double best = 0, keep = 0;
    for (int trial = 0; trial < 20; ++trial) {
        const auto start = std::chrono::steady_clock::now();
        for (std::size_t r = 0; r < repeats; ++r) keep += sum(data, blocks);
        const std::chrono::duration<double> t = std::chrono::steady_clock::now() - start;
        best = std::max(best, static_cast<double>(repeats * blocks * 1024) / t.count() / 1e9);
    }
    volatile double sink = keep;
    (void)sink;
    std::printf("%.2f\n", best);
}
