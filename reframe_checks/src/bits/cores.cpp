#include "bits/cores.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <stdexcept>

#include "bits/cipher_map.hpp"
#include "bits/dense.hpp"
#include "bits/memory_walk.hpp"
#include "common/on_cores.hpp"

namespace measure::bits {

namespace {

using Clock = std::chrono::steady_clock;

json as_json(const Digests& digests) {
    json found = json::array();
    for (const auto& [digest, rounds] : digests) {
        char text[17];
        std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(digest));
        found.push_back({{"digest", text}, {"rounds", rounds}});
    }
    return found;
}

}  // namespace

std::vector<std::unique_ptr<Work>> make_works(const Dose& dose) {
    const DenseKernel* const kernel = find_dense_kernel(dose.isa);
    if (kernel == nullptr) {
        throw std::runtime_error("this processor has no '" + dose.isa + "' kernel");
    }
    const std::size_t blocks = std::max<std::size_t>(1, (dose.mib_per_core << 17U) / MemoryWalk::kBlockWords);
    std::vector<std::unique_ptr<Work>> works;
    for (const std::string& name : dose.works) {
        if (name == "dense") {
            works.push_back(std::make_unique<Dense>(*kernel, dose.variant));
        } else if (name == "map") {
            works.push_back(std::make_unique<CipherMap>(dose.variant));
        } else {
            works.push_back(std::make_unique<MemoryWalk>(dose.variant, blocks));
        }
    }
    return works;
}

json as_json(const std::string& node, const std::vector<int>& cores, const std::vector<std::unique_ptr<Work>>& works,
             const std::vector<std::vector<Digests>>& of_core) {
    json found = json::array();
    for (std::size_t work = 0; work < works.size(); ++work) {
        json of_work = json::array();
        for (const std::vector<Digests>& core : of_core) {
            of_work.push_back(as_json(core[work]));
        }
        found.push_back({{"work", works[work]->name()}, {"basis", works[work]->basis()}, {"cores", of_work}});
    }
    return {{"node", node}, {"cores", cores}, {"works", found}};
}

json sweep_node(const std::string& node, const Dose& dose) {
    const std::vector<int> cores = own_cores();
    const auto names = make_works({.isa = dose.isa, .variant = 0, .mib_per_core = 0, .works = dose.works});
    std::vector<std::vector<Digests>> of_core(cores.size(), std::vector<Digests>(dose.works.size()));
    on_cores(cores, [&](std::size_t core) {
        const auto works = make_works(dose);
        for (std::size_t work = 0; work < works.size(); ++work) {
            const auto end = Clock::now() + std::chrono::duration<double>(dose.seconds);
            do {
                ++of_core[core][work][round_of(*works[work], [] {})];
            } while (Clock::now() < end);
        }
    });
    return as_json(node, cores, names, of_core);
}

}  // namespace measure::bits
