// What ranks of a node and the thread that serves readers share: which signals are wanted, and rings of what they are.
//
// A rank looks at one number after each step. Only if somebody wants signals does it write a frame into its ring, and when the ring
// is full it goes on without: nobody waits for a reader.
#pragma once
#include <mpi.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

namespace emt {

inline constexpr std::size_t kMostSignals = 256;  // of all readers together
inline constexpr std::uint64_t kFrames = 1024;    // of a ring

/// Signals by their numbers in the list that is offered, and the steps between frames.
struct Wanted {
    std::uint64_t generation = 0;
    std::uint64_t every = 1;
    std::vector<std::uint32_t> signals;
};

class Board {
public:
    /// Collective. Throws std::runtime_error on all ranks when some are on another node.
    explicit Board(MPI_Comm comm);
    ~Board();
    Board(const Board&) = delete;
    Board& operator=(const Board&) = delete;

    /// Changes whenever something else is wanted.
    [[nodiscard]] std::uint64_t generation() const { return order_->generation.load(std::memory_order_acquire); }
    /// What is wanted; to be asked for when generation() is even and another than before.
    [[nodiscard]] Wanted wanted() const;
    /// The rank's own: a frame, unless there is no room. `values` in the order of what is wanted; 0 for those of other ranks.
    void put(std::uint64_t generation, std::uint64_t step, std::span<const double> values);

    /// For the thread that serves, at rank 0. All that was put before is void.
    void want(const std::vector<std::uint32_t>& signals, std::uint64_t every);
    /// Takes the next frame that all ranks have of this generation; false when there is none yet.
    bool take(std::uint64_t generation, std::uint64_t& step, std::vector<double>& values);

private:
    struct Order {
        std::atomic<std::uint64_t> generation;  // odd while it is being written
        std::atomic<std::uint64_t> every, count;
        std::array<std::atomic<std::uint32_t>, kMostSignals> signals;
    };
    struct Frame {
        std::uint64_t generation, step;
        std::array<double, kMostSignals> values;
    };
    struct Ring {
        alignas(64) std::atomic<std::uint64_t> put;
        alignas(64) std::atomic<std::uint64_t> taken;
        alignas(64) std::array<Frame, kFrames> frames;
    };
    static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

    MPI_Comm node_ = MPI_COMM_NULL;
    MPI_Win window_ = MPI_WIN_NULL;
    Order* order_ = nullptr;
    Ring* own_ = nullptr;
    std::vector<Ring*> rings_;
};

}  // namespace emt
