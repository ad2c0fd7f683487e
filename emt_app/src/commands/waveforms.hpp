// `emt run --waveforms`: chosen channels, each from the rank that has it, into files that all ranks write.
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

/// Throws std::runtime_error when what the options ask for cannot be had; with `say` prints what is taken when no channel is named.
void check_waveforms(const Network& net, const RunOptions& options, bool say);

class Waveforms {
public:
    /// The options are known to be good; without a path nothing happens here. Collective; throws std::runtime_error.
    Waveforms(const Mpi& mpi, const Case& study, const Decomposition& parts, const Engine& engine, const RunOptions& options);
    /// Call after every step, and once before the first. True when buffers were written, on all ranks after the same step. When that fails on
    /// any rank, all end their files with the records that are whole, and this throws std::runtime_error on one of them; the others wait for the
    /// end of the run.
    bool record(const Engine& engine) { return wanted() && take(engine); }
    /// Ticks of the last writing (measure/timer.hpp).
    [[nodiscard]] std::uint64_t last_write_ticks() const { return last_write_ticks_; }
    /// Seconds in which this rank wrote and agreed with the others, so far.
    [[nodiscard]] double io_s() const { return io_s_; }
    /// Writes what waits, closes the files and, if asked to, reads them back. Collective; fails like record().
    void finish();
    [[nodiscard]] Observed* observed() { return &observed_; }
    [[nodiscard]] bool wanted() const { return !columns_.empty(); }
    /// As in schema/result.schema.json. Collective, complete at rank 0.
    [[nodiscard]] nlohmann::json result() const;

private:
    bool take(const Engine& engine);
    void write();
    void agree_or_end();
    /// Throws on the first rank that has a failure, and keeps the others until that ends the run.
    void end_if(const std::string& failure);
    void verify();
    [[nodiscard]] bool shared() const { return options_.waveform_files == "shared"; }
    [[nodiscard]] bool together() const { return shared() && options_.waveform_io == "collective"; }
    /// Of the file in which a rank writes: all, or its own.
    [[nodiscard]] std::vector<Column> columns_of_file(int rank) const;
    [[nodiscard]] std::string path_of_file(int rank) const;
    /// Records that wait in memory.
    [[nodiscard]] std::uint64_t buffered(const RecordLayout& layout) const;

    const Mpi& mpi_;
    const RunOptions& options_;
    std::vector<Column> columns_;        // of all ranks
    Observed observed_;
    std::vector<Probe> own_;
    bool every_step_ = false;            // energies are sums
    Sampling sampling_;
    std::unique_ptr<RecordFile> file_;   // null on a rank without channels when each has a file
    std::vector<double> values_;
    std::uint64_t buffer_records_ = 0, waiting_ = 0, last_write_ticks_ = 0;
    double io_s_ = 0;
    int read_of_ = 0;                    // the rank whose records this one reads back
    ReadBack read_;
};

}  // namespace emt
