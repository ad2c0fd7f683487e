// kappa-measure-planted-kernels TRIALS SEED: both kernels on every core, with a bit of one core flipped after a random
// pass. One line per trial: kernel, faulty core, and the cores that report a wrong result.

#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "common/on_cores.hpp"
#include "tests/planted_kernels.hpp"

using namespace measure;
using namespace measure::node;

namespace {

constexpr std::size_t kBytes = std::size_t{1} << 20U;
constexpr std::uint64_t kPasses = 6;

struct Plan {
    std::size_t core;
    std::uint64_t before, draw;
    unsigned bit;
};

template <typename Kernel>
bool correct(Kernel kernel, const Plan& plan, bool flips) {
    for (std::uint64_t pass = 0; pass < kPasses; ++pass) {
        if (flips && pass == plan.before) {
            Planted::flip(Planted::live(kernel, plan.draw), plan.bit);
        }
        kernel.pass();
    }
    return kernel.correct();
}

}  // namespace

int main(int argc, char** argv) {
    const int trials = argc > 1 ? std::atoi(argv[1]) : 10;
    std::mt19937_64 random(argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1);
    const std::vector<int> cores = own_cores();
    for (int trial = 0; trial < trials; ++trial) {
        const bool of_triad = random() % 2 == 0;
        const Plan plan{random() % cores.size(), random() % kPasses, random(), static_cast<unsigned>(random() % 64)};
        std::vector<char> right(cores.size());
        on_cores(cores, [&](std::size_t i) {
            const bool flips = i == plan.core;
            right[i] = correct(Triad(kBytes), plan, flips && of_triad) && correct(MultiplyAdd(), plan, flips && !of_triad);
        });
        std::printf("%s %d :", of_triad ? "triad" : "multiply-add", cores[plan.core]);
        for (std::size_t i = 0; i < cores.size(); ++i) {
            if (right[i] == 0) std::printf(" %d", cores[i]);
        }
        std::printf("\n");
    }
    return 0;
}
