// Gives rows their places in the memory of a batch, one after the other. The first walk only counts.
#pragma once
#include "primitives/rows.hpp"

#include <cstddef>
#include <vector>

namespace emt {

class Layout {
public:
    Layout() = default;
    /// A walk that places the rows that another walk has counted.
    Layout(const Layout& counted, double* state, double* constants)
        : state_(state), constants_(constants),
          step_{constants + counted.constant_rows * kLanes, constants + (counted.constant_rows + counted.step_rows) * kLanes} {}

    /// State that an ordinary step writes.
    void written(double*& rows, int count) {
        if (runs.empty() || runs.back().first + runs.back().count != state_rows) runs.push_back({state_rows, 0});
        runs.back().count += static_cast<std::size_t>(count);
        state(rows, count);
    }
    /// State that only operations, sources and segments change.
    void state(double*& rows, int count) { rows = take(state_, state_rows, count); }
    void constant(const double*& rows, int count) { rows = take(constants_, constant_rows, count); }
    /// Coefficients of both kinds of step.
    void step(StepRows& rows, int count) {
        const std::size_t before = step_rows;
        for (int kind = 0; kind < 2; ++kind) {
            step_rows = before;
            rows.of[kind] = take(step_[kind], step_rows, count);
        }
    }

    std::size_t state_rows = 0, constant_rows = 0, step_rows = 0;
    /// Rows of the state that an ordinary step writes.
    struct Run {
        std::size_t first, count;
    };
    std::vector<Run> runs;

private:
    static double* take(double* base, std::size_t& used, int count) {
        double* const out = base == nullptr ? nullptr : base + used * kLanes;
        used += static_cast<std::size_t>(count);
        return out;
    }
    double *state_ = nullptr, *constants_ = nullptr;
    double* step_[2]{};
};

}  // namespace emt
