// Node voltages and signals over time, from whichever rank has the node, as CSV.
#pragma once
#include "commands/commands.hpp"
#include "commands/ranks.hpp"
#include "parallel/engine.hpp"

namespace emt {

class Probes {
public:
    /// Throws std::runtime_error when a probe names neither a node nor a signal. `options` must outlive this.
    Probes(const Network& net, const Engine& engine, const RunOptions& options);
    void record(const Engine& engine);
    /// Collective; rank 0 writes.
    void write(const Mpi& mpi, double dt_s);

private:
    const RunOptions& options_;
    struct Probe {
        bool signal;
        int number;
        bool owned;
    };
    std::vector<Probe> probes_;
    std::vector<double> values_;
};

}  // namespace emt
