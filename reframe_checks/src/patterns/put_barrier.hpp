// A barrier that puts one word into the memory of partners, and polls: NSIM-ACE, sections 4.2.1 and 4.2.2.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "patterns/window.hpp"

namespace measure::patterns {

enum class BarrierKind { ring, recursive_doubling };

// Put a word to one rank, then wait for a word of another rank; -1: no rank.
struct BarrierStep {
    int put_to;
    int wait_for;
    int slot;
};

// Returns the steps of a rank, in order.
//
// Ring: p - 1 steps, each to rank + 1 and from rank - 1. Recursive doubling of p = 2^n + r: the last r ranks report to
// the ranks 2^n before them; then n steps, step i with the rank whose number differs by 2^(i-1); then the first r ranks
// report to the last r ranks that all have arrived.
std::vector<BarrierStep> barrier_steps(BarrierKind kind, int rank, int size);

class PutBarrier {
  public:
    PutBarrier(const Run& run, BarrierKind kind);

    void wait();
    // Waits until the words of the last barrier have arrived. Call it outside of the timed part.
    void complete() { words_.complete(); }

  private:
    const Run& run_;
    std::vector<BarrierStep> steps_;
    Words words_;
    std::uint64_t number_ = 0;
};

}  // namespace measure::patterns
