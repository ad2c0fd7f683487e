// emt_planted TRIALS SEED: trials of one round on every rank, a bit of one rank's memory flipped after a random step.
//
// It flips histories of elements, voltages, inverses, coefficients and waves under way, never digests. A word is dead if even
// 1e300 in its place changes nothing: values recomputed before they are read, lanes that no task fills, waves that have arrived,
// factors of zero. No program can detect a flip there, so another word is drawn.
#include <bit>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <random>
#include <stdexcept>

#include "commands/commands.hpp"
#include "generate/hq.hpp"
#include "measure/alike.hpp"
#include "measure/checksum.hpp"

namespace emt {
namespace {

using nlohmann::json;

struct Place {
    double* word;
    const char* what;
};

bool is_digest(const Batch& batch, const double* word) {
    const auto* first = reinterpret_cast<const double*>(batch.view().digest);
    return word >= first && word < first + static_cast<long>(batch.view().n) * kLanes;
}

/// The word with this number among all of a simulation; without a name where it is a digest.
Place place_of(Engine& engine, std::size_t at) {
    const AlignedDoubles& rings = engine.lines().rings();
    if (at < rings.size()) return {rings.data() + at, "wave"};
    at -= rings.size();
    for (Batch& b : engine.batches()) {
        if (at < b.constants().size()) return {b.constants().data() + at, "operand"};
        at -= b.constants().size();
        if (at < b.state().size()) {
            double* const word = b.state().data() + at;
            return {word, is_digest(b, word) ? nullptr : "state"};
        }
        at -= b.state().size();
    }
    throw std::out_of_range("no such word");
}

std::size_t words_of(Engine& engine) {
    std::size_t words = engine.lines().rings().size();
    for (Batch& b : engine.batches()) words += b.state().size() + b.constants().size();
    return words;
}

struct Trial {
    std::uint64_t step;
    std::size_t word;
    unsigned bit;
};

json digests_as_json(std::uint64_t digest) {
    return json::array({json{{"digest", sixteen_digits(digest)}, {"rounds", 1}}});
}

void run(int trials, std::uint64_t seed) {
    constexpr int kNodes = 3, kCores = 2;
    constexpr std::uint64_t kSteps = 300;
    const Case study = parse_case(generate_hq(1, 1, HqModel::network).dump(), "hq");
    const Alike alike(study, find_kernels("auto"));
    std::size_t words = 0;
    const std::uint64_t right = alike.round(kSteps, [&](Engine& engine) { words = words_of(engine); });
    std::mt19937_64 random(seed);
    json documents = json::array();
    for (int trial = 0; trial < trials;) {
        const Trial t{random() % (kSteps - 1) + 1, random() % words, static_cast<unsigned>(random() % 64)};
        const char* what = nullptr;
        const auto with = [&](auto&& change) {
            return alike.round(kSteps, [&](Engine& engine) {
                if (engine.steps() != t.step) return;
                const Place place = place_of(engine, t.word);
                what = place.what;
                if (what != nullptr) change(*place.word);
            });
        };
        if (with([](double& word) { word = 1e300; }) == right) continue;
        const std::uint64_t wrong = with([&](double& word) { word = std::bit_cast<double>(std::bit_cast<std::uint64_t>(word) ^ std::uint64_t{1} << t.bit); });
        ++trial;
        const std::size_t node = random() % kNodes, core = random() % kCores;
        json nodes = json::array();
        for (std::size_t n = 0; n < kNodes; ++n) {
            json cores = json::array();
            for (std::size_t c = 0; c < kCores; ++c) cores.push_back(digests_as_json(n == node && c == core ? wrong : right));
            nodes.push_back({{"node", "node" + std::to_string(n)}, {"cores", {0, 1}},
                             {"works", {{{"work", "emt"}, {"basis", basis_of_bits()}, {"cores", cores}}}}});
        }
        documents.push_back({{"planted", {{"work", "emt"}, {"what", what}, {"bit", t.bit}, {"slice", t.step},
                                          {"node", "node" + std::to_string(node)}, {"core", core}}},
                             {"result", {{"format", "kappa-bit-sweep"}, {"version", 1}, {"ranks", kNodes}, {"variant", 0}, {"nodes", nodes}}}});
    }
    write_file("planted.json", json{{"trials", documents}}.dump() + "\n");
}

}  // namespace
}  // namespace emt

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    emt::run(argc > 1 ? std::atoi(argv[1]) : 10, argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1);
    MPI_Finalize();
}
