// A barrier by puts of one word into the memory of partners, and polling: NSIM-ACE, sections 4.2.1 and 4.2.2.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "patterns/window.hpp"

namespace measure::patterns {

enum class BarrierKind { ring, recursive_doubling };

// Put a word to one rank, then wait for one of another; -1: nobody.
struct BarrierStep {
    int put_to;
    int wait_for;
    int slot;
};

// What a rank does, in this order.
//
// Ring: p - 1 steps, in each to rank + 1 and from rank - 1. Recursive doubling of p = 2^n + r: the last r ranks tell
// those 2^n before them that they are there; n steps, in step i with the rank whose number differs by 2^(i-1); then
// the first r ranks tell the last ones that all are there.
std::vector<BarrierStep> barrier_steps(BarrierKind kind, int rank, int size);

class PutBarrier {
  public:
    PutBarrier(const Run& run, BarrierKind kind);

    void wait();
    // The words of the last barrier have arrived. Belongs outside of what is timed.
    void complete() { words_.complete(); }

  private:
    const Run& run_;
    std::vector<BarrierStep> steps_;
    Words words_;
    std::uint64_t number_ = 0;
};

}  // namespace measure::patterns
