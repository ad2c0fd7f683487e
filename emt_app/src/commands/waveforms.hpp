// `emt run --waveforms`: chosen channels, each from the rank that owns it, in files that all ranks write.
#pragma once
#include <nlohmann/json.hpp>

#include <memory>

#include "case/case_file.hpp"
#include "commands/commands.hpp"
#include "commands/probes.hpp"
#include "commands/ranks.hpp"
#include "waveforms/read_back.hpp"
#include "waveforms/record_file.hpp"

namespace emt {

/// Throws std::runtime_error if the options are impossible. With `say`, prints the number of channels if none is named.
void check_waveforms(const Network& net, const RunOptions& options, bool say);

class Waveforms {
public:
    /// The options must be valid. Does nothing without a path. Collective; throws std::runtime_error.
    Waveforms(const Mpi& mpi, const Case& study, const Decomposition& parts, const Engine& engine, const RunOptions& options);
    /// Call after every step, and once before the first. Returns true if it wrote buffers, on all ranks at the same
    /// step. If writing fails on any rank, all ranks end their files with the complete records. Then one rank throws
    /// std::runtime_error, and the others wait for the end of the run.
    bool record(const Engine& engine) { return wanted() && take(engine); }
    /// Returns the ticks of the last write (measure/timer.hpp).
    [[nodiscard]] std::uint64_t last_write_ticks() const { return last_write_ticks_; }
    /// Returns the seconds that this rank has spent on writes and agreement with the others.
    [[nodiscard]] double io_s() const { return io_s_; }
    /// Writes the remaining records, closes the files and, if requested, reads them back. Collective; fails like
    /// record().
    void finish();
    [[nodiscard]] Observed* observed() { return &observed_; }
    [[nodiscard]] bool wanted() const { return !columns_.empty(); }
    /// Returns the result as in schema/result.schema.json. Collective, complete at rank 0.
    [[nodiscard]] nlohmann::json result() const;

private:
    bool take(const Engine& engine);
    void write();
    void agree_or_end();
    /// Throws on the first rank with a failure; the other ranks wait for the end of the run.
    void end_if(const std::string& failure);
    void verify();
    [[nodiscard]] bool shared() const { return options_.waveform_files == "shared"; }
    [[nodiscard]] bool together() const { return shared() && options_.waveform_io == "collective"; }
    /// Returns the columns of a rank's file: all, or the rank's own.
    [[nodiscard]] std::vector<Column> columns_of_file(int rank) const;
    [[nodiscard]] std::string path_of_file(int rank) const;
    /// Returns the number of records in memory.
    [[nodiscard]] std::uint64_t buffered(const RecordLayout& layout) const;

    const Mpi& mpi_;
    const RunOptions& options_;
    std::vector<Column> columns_;        // of all ranks
    Observed observed_;
    std::vector<Probe> own_;
    bool every_step_ = false;            // energies are sums
    Sampling sampling_;
    std::unique_ptr<RecordFile> file_;   // null on a rank without channels if each rank has its own file
    std::vector<double> values_;
    std::uint64_t buffer_records_ = 0, waiting_ = 0, last_write_ticks_ = 0;
    double io_s_ = 0;
    int read_of_ = 0;                    // the rank whose records this rank reads back
    ReadBack read_;
};

}  // namespace emt
