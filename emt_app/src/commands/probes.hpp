// Node voltages and signals over time, from whichever rank has the node, as CSV.
#pragma once
#include "commands/commands.hpp"
#include "commands/ranks.hpp"
#include "parallel/engine.hpp"

namespace emt {

struct Probe {
    bool signal;
    int number;
    bool owned = false;  // its task is on this rank
};
/// Throws std::runtime_error when a name is neither a node nor a signal.
[[nodiscard]] std::vector<Probe> find_probes(const Network& net, const std::vector<std::string>& names);

class Probes {
public:
    /// The names are known to be good. `options` must outlive this.
    Probes(const Network& net, const Engine& engine, const RunOptions& options);
    void record(const Engine& engine);
    /// Collective; rank 0 writes.
    void write(const Mpi& mpi, double dt_s);

private:
    const RunOptions& options_;
    std::vector<Probe> probes_;
    std::vector<double> values_;
};

}  // namespace emt
