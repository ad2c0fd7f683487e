// The parts of a step of a batch, and the time of each: for `emt run --profile`.
#pragma once
#include <cstdint>

#include "solver/batch_view.hpp"

namespace emt {

/// Parts in the order of a step's first visit.
enum class StepPart : int {
    lines,       // rings, histories and waves
    sources,     // except sines of the case's frequency
    reactances,  // merged L and C to ground
#define EMT_PRIMITIVE(Type, list) list,
#include "primitives/table.inc"
    blocks,
    piecewise,   // also the search for segments
    solve,
    digest,
    instants,    // poles that move inside the step
    count
};
inline constexpr int kStepParts = static_cast<int>(StepPart::count);
inline constexpr const char* kStepPartNames[kStepParts] = {"lines", "sources", "reactances",
#define EMT_PRIMITIVE(Type, list) #list,
#include "primitives/table.inc"
                                                           "blocks", "piecewise", "solve", "digest", "instants"};

/// A stop-watch that goes from part to part.
struct StopWatch {
    std::uint64_t (*now)();
    std::uint64_t last = 0;
    std::uint64_t ticks[kStepParts] = {};
    std::uint64_t marks[kStepParts] = {};

    void begin() { last = now(); }
    /// Adds the time since the last mark to this part. Inlined: the program must not use code of a kernel.
    [[gnu::always_inline]] void mark(StepPart part) {
        const std::uint64_t t = now();
        ticks[static_cast<int>(part)] += t - last;
        ++marks[static_cast<int>(part)];
        last = t;
    }
};

}  // namespace emt
