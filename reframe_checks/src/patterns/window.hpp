// Memory for puts and gets, open to this rank's partners only: for all ranks, the cost is the square of their number.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "common/run.hpp"

namespace measure::patterns {

class Window {
  public:
    // `partners`: ranks whose memory this rank accesses; each once, without the rank itself.
    Window(const Run& run, std::size_t bytes, std::vector<int> partners);
    ~Window();
    Window(const Window&) = delete;
    Window& operator=(const Window&) = delete;

    // Data that other ranks have put, as far as it has arrived.
    [[nodiscard]] std::span<char> memory() { return {base_, bytes_}; }
    void see_memory() const {
        if constexpr (!kSimulated) {  // a simulation shows puts at once, and lacks this call
            MPI_Win_sync(window_);
        }
    }

    void put(std::span<const char> from, int partner, std::size_t start) const;
    void get(std::span<char> into, int partner, std::size_t start) const;
    // Waits until all puts and gets are complete on both sides.
    void complete() const;

    [[nodiscard]] MPI_Win handle() const { return window_; }

  private:
    const Run& run_;
    std::vector<int> partners_;
    std::size_t bytes_;
    char* base_ = nullptr;
    MPI_Win window_ = MPI_WIN_NULL;
};

// Words that partners put, each into its own slot; polling detects their arrival.
class Words {
  public:
    Words(const Run& run, std::size_t slots, std::vector<int> partners);

    void put(std::uint64_t word, int partner, std::size_t slot);
    // Waits until the slot has one of two words; throws std::runtime_error after the timeout.
    void wait(std::size_t slot, int sender, std::uint64_t word, std::uint64_t or_word);
    [[nodiscard]] std::uint64_t look(std::size_t slot) const;
    // Waits until all words that were put have arrived. Call it outside of the timed part.
    void complete();
    // In a simulation, each put makes the simulator walk through all puts without a flush, and a flush takes the
    // receive overhead of messages, although no rank receives a put. If that overhead is 0, few puts stay without a
    // flush from now on. A flush delays its sender until the puts have arrived, by less than 1 % of a barrier.
    void learn_to_flush(std::uint64_t word, int partner, std::size_t slot);

  private:
    const Run& run_;
    Window window_;
    bool flushes_early_ = false;
    std::deque<std::uint64_t> sent_;  // keep their addresses until they have arrived
    std::vector<MPI_Request> requests_;
    // For the last words, in a simulation.
    std::array<double, 4> waited_s_{};
    std::size_t words_seen_ = 0;
};

}  // namespace measure::patterns
