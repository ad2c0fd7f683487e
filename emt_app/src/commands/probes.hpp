// Node voltages, signals and channels of elements over time, from whichever rank has them, as CSV.
#pragma once
#include <fstream>

#include "commands/commands.hpp"
#include "commands/ranks.hpp"
#include "parallel/outputs.hpp"
#include "snapshot/snapshot.hpp"

namespace emt {

struct Probe {
    enum class Of { node, signal, channel };
    Of of;
    int number;          // of a channel: its place in Outputs
    bool owned = false;  // its task is on this rank
};
/// All that can be asked for, by name and as what.
struct Known {
    std::string name, unit;
    Probe probe;
};
[[nodiscard]] std::vector<Known> known(const Network& net);
/// Those that a pattern of the shell matches (fnmatch), each once, in the order of `all`; without patterns all. Throws
/// std::runtime_error for a pattern that matches none, and names what is near it.
[[nodiscard]] std::vector<Known> matching(const std::vector<Known>& all, const std::vector<std::string>& patterns);
/// The names with each pattern of the shell replaced by what it matches. Throws as matching() does.
[[nodiscard]] std::vector<std::string> probe_names(const Network& net, const std::vector<std::string>& names);
/// Throws std::runtime_error when a name is neither a node nor a signal nor a channel of an element, and says what there is.
[[nodiscard]] std::vector<Probe> find_probes(const Network& net, const std::vector<std::string>& names);

/// Probes whose channels are observed, and their values on the rank that has them.
class Observed {
public:
    Observed(const Network& net, const Decomposition& parts, const Engine& engine, std::vector<Probe> probes);
    /// Call at every step: energies are sums.
    void observe(const Engine& engine) { outputs_.observe(engine); }
    /// 0 when another rank has it.
    [[nodiscard]] double value(const Engine& engine, const Probe& probe) const;
    [[nodiscard]] const std::vector<Probe>& probes() const { return probes_; }
    /// Takes energies up again. Throws std::runtime_error when one of this rank's was not observed in the run that wrote the snapshot.
    void resume(const Snapshot& snapshot);
    /// What a snapshot keeps of all of them, each channel once; they must outlive it.
    friend Keepsakes energies(const std::vector<Observed*>& all);

private:
    std::vector<Probe> probes_;
    std::vector<int> channels_;  // their numbers in the network, by their places in outputs_
    Outputs outputs_;
};
[[nodiscard]] Keepsakes energies(const std::vector<Observed*>& all);

class Probes {
public:
    /// The names are known to be good. `mpi`, `net`, `parts` and `options` must outlive this.
    Probes(const Mpi& mpi, const Network& net, const Decomposition& parts, const Engine& engine, const RunOptions& options);
    /// Collective. Whether rows have been written: a buffer of them is full. Throws std::runtime_error at rank 0 if they cannot be.
    bool record(const Engine& engine) { return !options_.probes.empty() && take(engine); }
    /// How long the last writing took, and all of them.
    [[nodiscard]] std::uint64_t last_write_ticks() const { return last_write_ticks_; }
    [[nodiscard]] double io_s() const { return io_s_; }
    [[nodiscard]] Observed* observed() { return &observed_; }
    /// Writes what waits and gives the file its name. Collective; fails like record().
    void finish();

private:
    static constexpr std::size_t kBuffered = 1 << 17;  // values

    bool take(const Engine& engine);
    void flush();
    [[nodiscard]] std::string unfinished() const;

    const Mpi& mpi_;
    const RunOptions& options_;
    double dt_s_;
    Observed observed_;
    std::ofstream file_;                 // at rank 0
    std::vector<double> values_;         // rows that wait
    std::vector<std::uint64_t> steps_;   // of these rows
    std::uint64_t last_write_ticks_ = 0;
    double io_s_ = 0;
};

}  // namespace emt
