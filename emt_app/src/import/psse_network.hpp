// The grid of a PSS/E file: its buses, and the data shared by the readers of its sections.
#pragma once
#include <cmath>
#include <cstddef>
#include <map>
#include <set>
#include <string>

#include "base/diagnostics.hpp"
#include "import/grid.hpp"
#include "import/psse_records.hpp"

namespace emt {

/// Fields of a branch, or of a switching device as a branch.
struct PsseBranch {
    long i, j;             // bus numbers
    std::string id;
    double r, x, b;        // per unit
    GridPhasor at_i, at_j; // line shunts, per unit
    bool on;
};

class PsseNetwork {
public:
    /// Reads the buses. Joins buses that lines of zero impedance connect, as PSS/E does.
    explicit PsseNetwork(PsseFile file);

    const PsseFile file;
    Grid grid;
    Diagnostics problems;

    PsseRow row(const PsseLine& line) { return {file, line, problems}; }
    /// Returns the place of bus `number` in the grid; nothing for an isolated bus, and for a missing bus, which is
    /// refused.
    const std::size_t* bus(PsseRow& row, long number);
    /// Returns true for the first device of its section with these buses (0: none) and identifier; refuses any other.
    bool first(PsseRow& row, const char* kind, std::set<long> buses, const std::string& id);
    [[nodiscard]] bool has_kv(std::size_t bus) const { return !no_kv_.contains(bus); }

    [[nodiscard]] PsseBranch branch(PsseRow& row) const;
    [[nodiscard]] PsseBranch switching_device(PsseRow& row) const;
    [[nodiscard]] bool is_zero_impedance(const PsseBranch& e) const { return e.r == 0 && (e.x == 0 || std::abs(e.x) <= threshold_); }

    void note(std::size_t count, const std::string& what) {
        if (count > 0) grid.notes.push_back(std::to_string(count) + " " + what);
    }

private:
    void read_threshold();
    void find_isolated();
    void join_buses();
    long joined(long number) const;
    void read_bus(const PsseRecord& record);

    double threshold_ = 1e-4;      // per unit, for lines of zero impedance
    std::map<long, long> joined_;  // number of a bus: number of a bus joined to it
    std::map<long, std::size_t> place_, place_of_joined_;  // by number
    std::set<long> isolated_, read_;
    std::set<std::size_t> no_kv_;
    std::set<std::string> devices_;
};

}  // namespace emt
