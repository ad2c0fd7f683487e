// The thread at rank 0 that serves readers of a running simulation. It drops and counts frames for a slow reader.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "live/board.hpp"

namespace emt {

class LiveServer {
public:
    /// Listens at `path`, for this user only; replaces a socket without a listener. Throws std::runtime_error.
    LiveServer(std::string path, Board& board, std::vector<std::string> names, double dt_s);
    ~LiveServer();
    LiveServer(const LiveServer&) = delete;
    LiveServer& operator=(const LiveServer&) = delete;

    /// Ends the thread: the readers see the end of the stream. The counts are then final.
    void stop();
    struct Counts {
        std::uint64_t readers = 0, refused = 0, frames = 0, dropped = 0;
    };
    [[nodiscard]] const Counts& counts() const { return counts_; }

private:
    struct Reader {
        int socket = -1;
        std::chrono::steady_clock::time_point since;
        bool asked = false;                // its request was accepted
        std::string request, out;          // received part; part that it has not taken yet
        std::vector<std::uint32_t> signals;
        std::vector<std::size_t> places;   // of them in the last order to the ranks; empty before
        std::uint64_t every = 1, last = 0, dropped = 0;
        bool begun = false;
    };
    void serve();
    void accept_readers();
    void listen_to(Reader& reader);
    void answer(Reader& reader);
    void want_again();
    void hand_out();
    static void send_to(Reader& reader);
    void forget(Reader& reader);

    std::string path_;
    Board& board_;
    std::vector<std::string> names_;
    double dt_s_;
    int listener_ = -1;
    std::vector<Reader> readers_;
    std::vector<double> values_;
    Counts counts_;
    bool changed_ = false;                             // since the last order to the ranks
    std::chrono::steady_clock::time_point ordered_{};  // time of that order
    std::atomic<bool> ends_{false};
    std::thread thread_;
};

}  // namespace emt
