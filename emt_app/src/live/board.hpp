// Memory shared by a node's ranks and the thread that serves readers: the wanted signals, and rings of their values.
//
// A rank reads one number after each step. It writes a frame into its ring only if a reader wants signals; if the ring
// is full, it drops the frame. No rank waits for a reader.
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

/// Signals by their numbers in the offered list, and the steps between frames.
struct Wanted {
    std::uint64_t generation = 0;
    std::uint64_t every = 1;
    std::vector<std::uint32_t> signals;
};

class Board {
public:
    /// Collective. Throws std::runtime_error on all ranks if some are on another node.
    explicit Board(MPI_Comm comm);
    ~Board();
    Board(const Board&) = delete;
    Board& operator=(const Board&) = delete;

    /// Returns a number that changes with the wanted signals.
    [[nodiscard]] std::uint64_t generation() const { return order_->generation.load(std::memory_order_acquire); }
    /// Returns the wanted signals; call it if generation() is even and has changed.
    [[nodiscard]] Wanted wanted() const;
    /// Puts a frame into the rank's own ring if there is room. `values`: in the order of wanted(), 0 for other ranks.
    void put(std::uint64_t generation, std::uint64_t step, std::span<const double> values);

    /// Sets the wanted signals; for the serving thread, at rank 0. Earlier frames become void.
    void want(const std::vector<std::uint32_t>& signals, std::uint64_t every);
    /// Takes the next frame of this generation that all ranks have put; false if there is none yet.
    bool take(std::uint64_t generation, std::uint64_t& step, std::vector<double>& values);

private:
    struct Order {
        std::atomic<std::uint64_t> generation;  // odd during a change
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
