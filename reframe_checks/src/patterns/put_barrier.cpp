#include "patterns/put_barrier.hpp"

#include <algorithm>

namespace measure::patterns {
namespace {

// 20 bits of the sender, 20 of the slot, 24 of the barrier; never 0.
std::uint64_t word_of(int sender, int slot, std::uint64_t barrier) {
    return (static_cast<std::uint64_t>(sender + 1) << 44U) | (static_cast<std::uint64_t>(slot) << 24U) | (barrier & 0xffffffU);
}

std::vector<int> receivers(const std::vector<BarrierStep>& steps) {
    std::vector<int> found;
    for (const BarrierStep& step : steps) {
        if (step.put_to >= 0) {
            found.push_back(step.put_to);
        }
    }
    return found;
}

}  // namespace

std::vector<BarrierStep> barrier_steps(BarrierKind kind, int rank, int size) {
    std::vector<BarrierStep> steps;
    if (kind == BarrierKind::ring) {
        for (int step = 0; step + 1 < size; ++step) {
            steps.push_back({(rank + 1) % size, (rank + size - 1) % size, step});
        }
        return steps;
    }
    int power = 1;
    while (2 * power <= size) {
        power *= 2;
    }
    if (rank >= power) {
        return {{rank - power, rank - power, 0}};
    }
    const int extra = rank + power < size ? rank + power : -1;
    if (extra >= 0) {
        steps.push_back({-1, extra, 0});
    }
    int slot = 1;
    for (int distance = 1; distance < power; distance *= 2) {
        steps.push_back({rank ^ distance, rank ^ distance, slot++});
    }
    if (extra >= 0) {
        steps.push_back({extra, -1, 0});
    }
    return steps;
}

PutBarrier::PutBarrier(const Run& run, BarrierKind kind)
    : run_(run),
      steps_(barrier_steps(kind, run.rank(), run.size())),
      words_(run, kind == BarrierKind::ring ? at(run.size()) : 32, receivers(steps_)) {
    if constexpr (kSimulated) {
        run_.start_together();
        const auto puts = [](const BarrierStep& step) { return step.put_to >= 0; };
        const auto step = std::find_if(steps_.begin(), steps_.end(), puts);  // always found
        words_.learn_to_flush(word_of(run_.rank(), step->slot, 0), step->put_to, at(step->slot));  // number 0: no barrier
        run_.start_together();
    }
}

void PutBarrier::wait() {
    ++number_;
    for (const BarrierStep& step : steps_) {
        if (step.put_to >= 0) {
            words_.put(word_of(run_.rank(), step.slot, number_), step.put_to, at(step.slot));
        }
        if (step.wait_for >= 0) {
            // The sender may already be in the next barrier, if all have reached this one.
            const auto expected = [&](std::uint64_t number) { return word_of(step.wait_for, step.slot, number); };
            words_.wait(at(step.slot), step.wait_for, expected(number_), expected(number_ + 1));
        }
    }
}

}  // namespace measure::patterns
