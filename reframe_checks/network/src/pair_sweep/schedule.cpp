#include "schedule.hpp"

#include <algorithm>

std::vector<Round> tournament(int nodes) {
    if (nodes < 2) {
        return {};
    }
    // An odd number gets a bye: who meets it is idle.
    const int seats = nodes + nodes % 2;
    const int ring = seats - 1;
    std::vector<Round> rounds(static_cast<std::size_t>(ring));
    for (int turn = 0; turn < ring; ++turn) {
        Round& round = rounds[static_cast<std::size_t>(turn)];
        const auto meet = [&round, nodes](int a, int b) {
            const auto [first, second] = std::minmax(a, b);
            if (second == nodes) {
                round.idle = first;
            } else {
                round.pairs.push_back({first, second});
            }
        };
        meet(turn, ring);
        for (int step = 1; step < seats / 2; ++step) {
            meet((turn + step) % ring, (turn - step + ring) % ring);
        }
    }
    return rounds;
}
