// Node voltages, signals and channels of elements over time, from whichever rank has them, as CSV.
#pragma once
#include "commands/commands.hpp"
#include "commands/ranks.hpp"
#include "parallel/outputs.hpp"

namespace emt {

struct Probe {
    enum class Of { node, signal, channel };
    Of of;
    int number;          // of a channel: its place in Outputs
    bool owned = false;  // its task is on this rank
};
/// Throws std::runtime_error when a name is neither a node nor a signal nor a channel of an element, and says what there is.
[[nodiscard]] std::vector<Probe> find_probes(const Network& net, const std::vector<std::string>& names);

class Probes {
public:
    /// The names are known to be good. `net`, `parts` and `options` must outlive this.
    Probes(const Network& net, const Decomposition& parts, const Engine& engine, const RunOptions& options);
    void record(const Engine& engine);
    /// Collective; rank 0 writes.
    void write(const Mpi& mpi, double dt_s);

private:
    [[nodiscard]] double value(const Engine& engine, const Probe& probe) const;

    const RunOptions& options_;
    std::vector<Probe> probes_;
    Outputs outputs_;
    std::vector<double> values_;
};

}  // namespace emt
