// The thread at rank 0 that serves readers of a running simulation: what a reader does not take in time is dropped and counted.
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
    /// Listens at `path`, for this user alone; a socket that nobody listens to any more is replaced. Throws std::runtime_error.
    LiveServer(std::string path, Board& board, std::vector<std::string> names, double dt_s);
    ~LiveServer();
    LiveServer(const LiveServer&) = delete;
    LiveServer& operator=(const LiveServer&) = delete;

    /// Ends it: the readers see the end of the stream. The counts are final then.
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
        std::string request, out;          // what came so far; what it has not taken yet
        std::vector<std::uint32_t> signals;
        std::vector<std::size_t> places;   // of them in what the ranks were last told is wanted; none before
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
    bool changed_ = false;                             // since ranks were told what is wanted
    std::chrono::steady_clock::time_point ordered_{};  // then
    std::atomic<bool> ends_{false};
    std::thread thread_;
};

}  // namespace emt
