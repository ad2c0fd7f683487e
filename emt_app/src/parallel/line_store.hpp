// Rings of past waves of all lines that touch a rank.
#pragma once
#include <vector>

#include "parallel/exchange.hpp"
#include "solver/batch.hpp"

namespace emt {

class LineStore {
public:
    /// `batches`: this rank's batches; `rank_of_task`: determines the ends on other ranks.
    LineStore(const Network& net, const Decomposition& parts, std::vector<Batch>& batches, const std::vector<int>& rank_of_task,
              const std::vector<Complex>& phasors);
    LineStore(const LineStore&) = delete;
    LineStore& operator=(const LineStore&) = delete;

    [[nodiscard]] const std::vector<LineJob>& local() const { return local_; }
    [[nodiscard]] const std::vector<LineJob>& cut() const { return cut_; }
    [[nodiscard]] const std::vector<CutLine>& cut_lines() const { return cut_lines_; }
    /// Returns the job of a line by its number in the case; null if the line does not touch this rank.
    [[nodiscard]] const LineJob* job_of(int line) const { return job_of_line_[static_cast<std::size_t>(line)]; }
    /// Returns the past waves of all lines.
    [[nodiscard]] const AlignedDoubles& rings() const { return rings_; }
    /// Returns the bytes that one step moves: descriptors, and the cache lines of ring entries.
    [[nodiscard]] std::size_t bytes_touched() const;
    /// Returns the bytes of these that it writes.
    [[nodiscard]] std::size_t bytes_written() const;
    /// Returns the bytes of all rings.
    [[nodiscard]] std::size_t ring_bytes() const { return rings_.size() * sizeof(double); }

private:
    AlignedDoubles rings_;
    std::vector<LineJob> local_, cut_;
    std::vector<CutLine> cut_lines_;
    std::vector<const LineJob*> job_of_line_;
};

}  // namespace emt
