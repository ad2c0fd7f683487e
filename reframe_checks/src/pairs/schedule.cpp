#include "pairs/schedule.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include "common/split_mix.hpp"

namespace measure::pairs {
namespace {

// With an odd number, one place is a bye: its partner is idle.
int seats(int nodes) {
    return nodes + nodes % 2;
}

constexpr int kWithinShare = 4;  // at most one round in this many is within leaves

class Random {
  public:
    explicit Random(std::uint64_t seed) : state_(mixed(seed)) {}
    // Returns a number below `bound`; the modulo's bias is at most one in 2^32.
    std::size_t below(std::size_t bound) {
        state_ += kStride;
        return static_cast<std::size_t>(mixed(state_) % bound);
    }
    // Fisher and Yates.
    template <typename T>
    void shuffle(std::vector<T>& values) {
        for (std::size_t left = values.size(); left > 1; --left) {
            std::swap(values[left - 1], values[below(left)]);
        }
    }

  private:
    std::uint64_t state_;
};

}  // namespace

int tournament_rounds(int nodes) {
    return nodes < 2 ? 0 : seats(nodes) - 1;
}

Round tournament_round(int nodes, int number) {
    Round round;
    const auto meet = [&round, nodes](int a, int b) {
        const auto [first, second] = std::minmax(a, b);
        if (second == nodes) {
            round.idle = first;
        } else {
            round.pairs.push_back({first, second});
        }
    };
    const int ring = seats(nodes) - 1;
    meet(number, ring);
    for (int step = 1; step < seats(nodes) / 2; ++step) {
        meet((number + step) % ring, (number - step + ring) % ring);
    }
    return round;
}

std::vector<Round> tournament(int nodes) {
    std::vector<Round> rounds;
    for (int number = 0; number < tournament_rounds(nodes); ++number) {
        rounds.push_back(tournament_round(nodes, number));
    }
    return rounds;
}

SampledSchedule::SampledSchedule(const std::vector<int>& leaf_of, int rounds, std::uint64_t seed) : rounds_(rounds), seed_(seed) {
    std::unordered_map<int, std::size_t> places;
    for (std::size_t node = 0; node < leaf_of.size(); ++node) {
        const auto [known, is_new] = places.emplace(leaf_of[node], leaves_.size());
        if (is_new || leaf_of[node] == kNoLeaf) {
            leaves_.push_back({static_cast<int>(node)});
        } else {
            leaves_[known->second].push_back(static_cast<int>(node));
        }
    }
    for (const std::vector<int>& leaf : leaves_) {
        within_ = std::max(within_, tournament_rounds(static_cast<int>(leaf.size())));
    }
    within_ = std::min(within_, rounds_ / kWithinShare);
}

std::vector<Pair> SampledSchedule::round(int number) const {
    return number < within_ ? within_leaves(number) : between_leaves(number);
}

std::vector<Pair> SampledSchedule::within_leaves(int number) const {
    std::vector<Pair> pairs;
    for (const std::vector<int>& leaf : leaves_) {
        const int size = static_cast<int>(leaf.size());
        if (number >= tournament_rounds(size)) {
            continue;
        }
        for (const Pair& places : tournament_round(size, number).pairs) {
            pairs.push_back({leaf[static_cast<std::size_t>(places.first)], leaf[static_cast<std::size_t>(places.second)]});
        }
    }
    return pairs;
}

std::vector<Pair> SampledSchedule::between_leaves(int number) const {
    Random random(seed_ ^ mixed(static_cast<std::uint64_t>(number)));
    std::vector<std::vector<int>> leaves = leaves_;
    random.shuffle(leaves);
    std::vector<Pair> pairs;
    const auto meet = [&pairs](int a, int b) { pairs.push_back({std::min(a, b), std::max(a, b)}); };
    for (std::size_t i = 0; i < leaves.size(); i += 2) {
        random.shuffle(leaves[i]);
        std::vector<int> none, &one = leaves[i], &other = i + 1 < leaves.size() ? leaves[i + 1] : none;
        random.shuffle(other);
        const std::size_t both = std::min(one.size(), other.size());
        for (std::size_t place = 0; place < both; ++place) {
            meet(one[place], other[place]);
        }
        // A node without a partner stays on its leaf and does not disturb the others; with an odd number, one node is
        // idle.
        const std::vector<int>& larger = one.size() > both ? one : other;
        const std::size_t half = (larger.size() - both) / 2;
        for (std::size_t place = both; place < both + half; ++place) {
            meet(larger[place], larger[place + half]);
        }
    }
    return pairs;
}

std::vector<int> read_leaves(const std::filesystem::path& path, const std::vector<std::string>& nodes) {
    std::ifstream file(path);
    if (!file) {
        throw std::runtime_error("cannot read " + path.string());
    }
    std::unordered_map<std::string, std::string> leaf_of;
    std::string line;
    for (int number = 1; std::getline(file, line); ++number) {
        std::istringstream words(line);
        std::string node, leaf, more;
        if (!(words >> node >> leaf) || words >> more || !leaf_of.emplace(node, leaf).second) {
            throw std::runtime_error(path.string() + ", line " + std::to_string(number) + ": expected NODE LEAF, each node once");
        }
    }
    std::unordered_map<std::string, int> numbers;
    std::vector<int> leaves;
    for (const std::string& node : nodes) {
        const auto known = leaf_of.find(node);
        leaves.push_back(known == leaf_of.end() ? kNoLeaf
                                                : numbers.emplace(known->second, static_cast<int>(numbers.size())).first->second);
    }
    return leaves;
}

}  // namespace measure::pairs
