// Memory that others put into and get from, open to this rank's partners only: to open it to all costs the square of the ranks.
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
    // `partners`: whose memory this rank reaches; each once, itself not among them.
    Window(const Run& run, std::size_t bytes, std::vector<int> partners);
    ~Window();
    Window(const Window&) = delete;
    Window& operator=(const Window&) = delete;

    // What others have put, as far as it has arrived.
    [[nodiscard]] std::span<char> memory() { return {base_, bytes_}; }
    void see_memory() const {
        if constexpr (!kSimulated) {  // there what was put is seen at once, and this call is missing
            MPI_Win_sync(window_);
        }
    }

    void put(std::span<const char> from, int partner, std::size_t start) const;
    void get(std::span<char> into, int partner, std::size_t start) const;
    // Until all that was put to and got from the partners is complete there and here.
    void complete() const;

    [[nodiscard]] MPI_Win handle() const { return window_; }

  private:
    const Run& run_;
    std::vector<int> partners_;
    std::size_t bytes_;
    char* base_ = nullptr;
    MPI_Win window_ = MPI_WIN_NULL;
};

// Words that partners put, each into a slot of its own, and whose arrival is seen by looking at them again and again.
class Words {
  public:
    Words(const Run& run, std::size_t slots, std::vector<int> partners);

    void put(std::uint64_t word, int partner, std::size_t slot);
    // Until the slot holds one of two words; throws std::runtime_error when it does not before the timeout.
    void wait(std::size_t slot, int sender, std::uint64_t word, std::uint64_t or_word);
    [[nodiscard]] std::uint64_t look(std::size_t slot) const;
    // All words that were put have arrived. Belongs outside of what is timed.
    void complete();
    // In a simulation. The simulator walks through all puts that nobody has flushed, with each of them, and a flush takes the
    // receive overhead of messages, although nobody receives a put. Where that is no time, few puts stay without a flush from
    // now on; what has not arrived by then delays its sender, by less than 1 % of a barrier.
    void learn_to_flush(std::uint64_t word, int partner, std::size_t slot);

  private:
    const Run& run_;
    Window window_;
    bool flushes_early_ = false;
    std::deque<std::uint64_t> sent_;  // stay where they are until they have arrived
    std::vector<MPI_Request> requests_;
    // In a simulation, for the last words.
    std::array<double, 4> waited_s_{};
    std::size_t words_seen_ = 0;
};

}  // namespace measure::patterns
