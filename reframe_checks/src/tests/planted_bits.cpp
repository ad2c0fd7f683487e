// kappa-measure-planted-bits TRIALS SEED: trials of one round of each work on every core, with a bit of one core
// flipped at a random slice.
//
// It flips only bits that the rest of the round still reads: operands and elements of the matrices, state and factors
// of the map, words of memory. It does not flip memory that is overwritten unread (not yet filled, or read for the last
// time), which no program can detect, nor digests and compared values. The right result of every trial is known: the
// result of all other cores.

#include <algorithm>
#include <cstdlib>
#include <random>

#include "bits/cipher_map.hpp"
#include "bits/cores.hpp"
#include "bits/dense.hpp"
#include "bits/memory_walk.hpp"
#include "common/files.hpp"
#include "common/on_cores.hpp"
#include "common/run.hpp"

namespace measure::bits {

struct Planted {
    struct Place {
        void* word;
        const char* what;
    };
    static Place live(Dense& dense, std::uint64_t draw) {
        const std::uint64_t size = dense.c_.size();
        const std::uint64_t at = draw % size;
        switch (draw / size % 3) {
            case 0: return {&dense.a_[at], "operand"};
            case 1: return {&dense.b_[at], "operand"};
            default: return {&dense.c_[at], "state"};
        }
    }
    static Place live(CipherMap& map, std::uint64_t draw) {
        const std::uint64_t at = draw % (2 * CipherMap::kHalf + map.factors_.size());
        if (at < 2 * CipherMap::kHalf) {
            return {&(at < CipherMap::kHalf ? map.left_ : map.right_)[at % CipherMap::kHalf], "state"};
        }
        return {&map.factors_[at - 2 * CipherMap::kHalf], "operand"};
    }
    static Place live(MemoryWalk& walk, std::uint64_t draw) {
        const std::size_t done = walk.slice_ * MemoryWalk::kSliceWords;
        const std::size_t first = walk.walk_ == MemoryWalk::kRead ? done : 0;
        const std::size_t end = walk.walk_ == MemoryWalk::kFill ? done : walk.block_words_;
        return {&walk.memory_[walk.block_ + first + draw % (end - first)], "memory pattern"};
    }
    static Place live(Work& work, std::uint64_t draw) {
        if (auto* dense = dynamic_cast<Dense*>(&work)) return live(*dense, draw);
        if (auto* map = dynamic_cast<CipherMap*>(&work)) return live(*map, draw);
        return live(dynamic_cast<MemoryWalk&>(work), draw);
    }
};

namespace {

// A tenth of a block makes many trials affordable; the bits belong to this size.
constexpr std::size_t kBlockWords = std::size_t{1} << 16U;

std::vector<std::unique_ptr<Work>> works_of_trial() {
    std::vector<std::unique_ptr<Work>> works;
    works.push_back(std::make_unique<Dense>(*find_dense_kernel("auto"), 0));
    works.push_back(std::make_unique<CipherMap>(0));
    works.push_back(std::make_unique<MemoryWalk>(0, 1, kBlockWords));
    return works;
}

std::uint64_t slices_of(Work& work) {
    std::uint64_t slices = 0;
    round_of(work, [&slices] { ++slices; });
    return slices;
}

struct Plan {
    std::size_t rank, core, work;
    std::uint64_t slice, draw;
    unsigned bit;
};

void run_trials(const World& world, int trials, std::uint64_t seed) {
    const Run run(world, {.subcommand = "bits"});
    const std::vector<std::string>& names = run.node_names();
    const std::vector<int> cores = own_cores();
    std::vector<std::vector<std::unique_ptr<Work>>> works(cores.size());
    std::generate(works.begin(), works.end(), works_of_trial);
    std::vector<std::uint64_t> slices;
    for (const auto& work : works.front()) {
        slices.push_back(slices_of(*work));
    }
    std::mt19937_64 random(seed);
    json documents = json::array();
    for (int trial = 0; trial < trials; ++trial) {
        // Equal on every rank: the nodes here have equally many cores.
        Plan plan{random() % names.size(), random() % cores.size(), random() % slices.size(), 0, random(),
                  static_cast<unsigned>(random() % 64)};
        plan.slice = random() % slices[plan.work];
        const bool here = plan.rank == static_cast<std::size_t>(world.rank());
        std::vector<std::vector<Digests>> of_core(cores.size(), std::vector<Digests>(slices.size()));
        json planted;
        on_cores(cores, [&](std::size_t core) {
            for (std::size_t work = 0; work < slices.size(); ++work) {
                Work& own = *works[core][work];
                std::uint64_t slice = 0;
                const bool flips = here && core == plan.core && work == plan.work;
                ++of_core[core][work][round_of(own, [&] {
                    if (flips && slice++ == plan.slice) {
                        const Planted::Place place = Planted::live(own, plan.draw);
                        *static_cast<std::uint64_t*>(place.word) ^= std::uint64_t{1} << plan.bit;
                        planted = {{"what", place.what}, {"work", own.name()}, {"bit", plan.bit},
                                   {"slice", plan.slice}, {"node", names[plan.rank]}, {"core", cores[core]}};
                    }
                })];
            }
        });
        const json own{{"planted", planted}, {"node", as_json(names[static_cast<std::size_t>(world.rank())], cores, works.front(), of_core)}};
        json nodes = json::array();
        json done;
        for (const json& node : run.gathered(own)) {
            nodes.push_back(node["node"]);
            done = node["planted"].is_null() ? done : node["planted"];
        }
        documents.push_back({{"planted", done}, {"result", run.document({{"variant", 0}, {"nodes", nodes}}, run.size())}});
    }
    if (world.rank() == 0) {
        write_file("planted.json", json{{"trials", documents}}.dump() + "\n");
    }
}

}  // namespace
}  // namespace measure::bits

int main(int argc, char** argv) {
    const int trials = argc > 1 ? std::atoi(argv[1]) : 10;
    const std::uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
    measure::in_world("kappa-measure-planted-bits", &argc, &argv, MPI_THREAD_SINGLE,
                      [=](const measure::World& world) { measure::bits::run_trials(world, trials, seed); });
    return 0;
}
