// Node voltages, signals and channels of elements over time as CSV; each value comes from the rank that owns it.
#pragma once
#include <optional>

#include "base/whole_file.hpp"
#include "commands/commands.hpp"
#include "commands/ranks.hpp"
#include "parallel/outputs.hpp"
#include "snapshot/snapshot.hpp"

namespace emt {

struct Probe {
    enum class Of { node, signal, channel };
    Of of;
    int number;          // for a channel: its place in Outputs
    bool owned = false;  // its task is on this rank
};
/// A name that a user may ask for.
struct Known {
    std::string name, unit;
    Probe probe;
};
[[nodiscard]] std::vector<Known> known(const Network& net);
/// Returns the entries that match a shell pattern (fnmatch), each once, in the order of `all`; all entries if there are
/// no patterns. Throws std::runtime_error, with similar names, for a pattern without a match.
[[nodiscard]] std::vector<Known> matching(const std::vector<Known>& all, const std::vector<std::string>& patterns);
/// Replaces each shell pattern by the names that match it. Throws as matching() does.
[[nodiscard]] std::vector<std::string> probe_names(const Network& net, const std::vector<std::string>& names);
/// Throws std::runtime_error, with similar names, if a name is no node, no signal and no channel of an element.
[[nodiscard]] std::vector<Probe> find_probes(const Network& net, const std::vector<std::string>& names);

/// Probes and the values of those on this rank.
class Observed {
public:
    Observed(const Network& net, const Decomposition& parts, const Engine& engine, std::vector<Probe> probes);
    /// Call at every step, because energies are sums.
    void observe(const Engine& engine) { outputs_.observe(engine); }
    /// Returns 0 if another rank owns the probe.
    [[nodiscard]] double value(const Engine& engine, const Probe& probe) const;
    [[nodiscard]] const std::vector<Probe>& probes() const { return probes_; }
    /// Restores the energies. Throws std::runtime_error if the run that wrote the snapshot did not observe one of this
    /// rank's energies.
    void resume(const Snapshot& snapshot);
    /// Returns the content of a snapshot for all of them, each channel once; they must outlive it.
    friend Keepsakes energies(const std::vector<Observed*>& all);

private:
    std::vector<Probe> probes_;
    std::vector<int> channels_;  // network numbers, by place in outputs_
    Outputs outputs_;
};
[[nodiscard]] Keepsakes energies(const std::vector<Observed*>& all);

class Probes {
public:
    /// The names must be valid. `mpi`, `net`, `parts` and `options` must outlive this.
    Probes(const Mpi& mpi, const Network& net, const Decomposition& parts, const Engine& engine, const RunOptions& options);
    /// Records a step. Returns true if it wrote rows, because the buffer was full. Collective; throws
    /// std::runtime_error at rank 0 if it cannot write.
    bool record(const Engine& engine) { return !options_.probes.empty() && take(engine); }
    /// Return the duration of the last write, and the total of all.
    [[nodiscard]] std::uint64_t last_write_ticks() const { return last_write_ticks_; }
    [[nodiscard]] double io_s() const { return io_s_; }
    [[nodiscard]] Observed* observed() { return &observed_; }
    /// Writes the remaining rows and gives the file its final name. Collective; fails like record().
    void finish();

private:
    static constexpr std::size_t kBuffered = 1 << 17;  // values

    bool take(const Engine& engine);
    void flush();

    const Mpi& mpi_;
    const RunOptions& options_;
    double dt_s_;
    Observed observed_;
    std::optional<WholeFile> file_;      // at rank 0
    std::vector<double> values_;         // unwritten rows
    std::vector<std::uint64_t> steps_;   // steps of these rows
    std::uint64_t last_write_ticks_ = 0;
    double io_s_ = 0;
};

}  // namespace emt
