// Whether a grid is solved, and its solution.
#pragma once
#include <optional>
#include <string>

#include "import/grid.hpp"

namespace emt {

struct Mismatch {
    double mva = 0;        // largest active or reactive power that is missing at a bus, beyond what rounded voltages explain
    std::size_t bus = 0;
    bool reactive = false;
};

/// From the voltages of the buses: active power where it is given, reactive power where no machine holds the voltage.
[[nodiscard]] Mismatch largest_mismatch(const Grid& grid);
/// "1.23 MW at bus 4".
[[nodiscard]] std::string told(const Grid& grid, const Mismatch& mismatch);

/// Newton's method in polar coordinates from the grid's voltages, then from 1 per unit; changes voltages, notes what has moved. With
/// limits, machines that would deliver more or less reactive power than they can deliver their limit, and their voltages move. Throws
/// CaseError.
void solve_grid(Grid& grid, bool limits, const std::string& origin);

/// Gives to each machine its part of what its bus delivers at the grid's voltages: reactive power by rating; at a slack bus the first
/// machine delivers what the others there do not.
void share_generation(Grid& grid);

/// Makes a bus with a machine between each machine that has a step-up transformer and its bus, after share_generation().
void insert_step_ups(Grid& grid);

/// Only machines hold a voltage or an angle: buses without any hold none. If no slack bus is left, the first bus that holds its voltage
/// is one. Throws CaseError if there is none.
void choose_slack(Grid& grid, const std::string& origin);

/// Throws CaseError with every bus that no branch connects with a slack bus.
void check_grid_islands(const Grid& grid, const std::string& origin);

enum class Solve { no, with_limits, without_limits };

/// Solves the grid, or refuses one in which more power than the tolerance is missing at a bus: without one, 10⁻⁴ of all loads, and at
/// most 1 MVA. Notes what was missing. Throws CaseError.
void settle_grid(Grid& grid, Solve solve, std::optional<double> tolerance_mva, const std::string& origin);

}  // namespace emt
