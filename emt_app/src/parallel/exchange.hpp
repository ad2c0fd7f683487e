// Exchange of waves between ranks.
//
// All lines between two ranks share one message, or each has its own. The wave of step m is first needed at step m + d,
// with the line's delay d in whole steps. Mode `step` sends one message per step and waits for it at the next step, as
// the paper's program does; mode `slack` packs up to d/2 steps in a message and waits only if a wave is needed.
#pragma once
#include <mpi.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "parallel/channel.hpp"
#include "solver/batch_view.hpp"

namespace emt {

/// Waves that a line sends per step and direction: one of each mode.
inline constexpr int kModes = 3;
inline constexpr std::size_t kLineBytes = kModes * sizeof(double);

enum class ExchangeMode { step, slack };
enum class Transport { automatic, message, shared };
enum class Message { pair, line };

/// Returns the mode with this name on the command line.
[[nodiscard]] ExchangeMode exchange_mode(const std::string& name);
[[nodiscard]] Transport transport(const std::string& name);
[[nodiscard]] Message message(const std::string& name);

/// A line whose other end belongs to another rank.
struct CutLine {
    int line;
    int local_end;
    int other_rank;
    int slack;        // whole steps of its faster mode
    LineJob* job;
};

struct ExchangeCounts {
    int neighbours = 0;
    int shared_neighbours = 0;
    int min_slack = 0;               // steps, over all cut lines; 0 when there are none
    double bytes_per_step = 0;       // sent by this rank
    double messages_per_step = 0;
};

class Exchange {
public:
    /// `first`: the first step whose waves are sent; earlier waves are in the rings.
    Exchange(MPI_Comm comm, std::vector<CutLine> lines, ExchangeMode mode, Transport transport, Message message, std::uint64_t first = 0);
    ~Exchange();
    Exchange(const Exchange&) = delete;
    Exchange& operator=(const Exchange&) = delete;

    /// Sends the local waves of this step, or keeps them until their message is full.
    void post(std::uint64_t step);
    /// Starts to fetch the next messages, which await() will soon need.
    void expect();
    /// Waits for the waves that this step needs, and puts them into the rings of the cut lines.
    void await(std::uint64_t step);
    /// Receives all unneeded waves, after all ranks have posted `last`.
    void drain(std::uint64_t last);
    [[nodiscard]] const ExchangeCounts& counts() const { return counts_; }

private:
    struct Neighbour;
    void make_shared_window(const std::vector<int>& node_rank, MPI_Comm node);
    void take(Neighbour& n);

    std::vector<std::unique_ptr<Neighbour>> neighbours_;
    ExchangeMode mode_;
    std::uint64_t first_;
    ExchangeCounts counts_;
    MPI_Comm comm_;
    MPI_Win window_ = MPI_WIN_NULL;
};

}  // namespace emt
