#include "pairs/schedule.hpp"

#include <algorithm>

namespace measure::pairs {

namespace {

// An odd number gets a bye: who meets it is idle.
int seats(int nodes) {
    return nodes + nodes % 2;
}

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

}  // namespace measure::pairs
