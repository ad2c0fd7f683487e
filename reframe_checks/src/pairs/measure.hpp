// One pair of ranks: latency of small messages, and bandwidth of large messages.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace measure::pairs {

struct Settings {
    int latency_bytes = 8;
    int round_trips = 1000;
    int bandwidth_bytes = 1 << 20;
    int window = 16;   // large messages in flight
    int repeats = 5;   // windows in each direction
    double seconds = 2.0;  // limit of each measurement of a pair
};

// Number of messages with compared content, and number of messages with wrong content.
struct Payloads {
    double messages = 0;
    double wrong = 0;

    void count(bool right) {
        messages += 1;
        wrong += right ? 0 : 1;
    }
};

class PairMeasurement {
  public:
    PairMeasurement(const Settings& settings, int own_rank);

    // Returns half the median round trip in microseconds, on the leading side; the other side must follow.
    [[nodiscard]] double lead_latency(int partner);
    void follow_latency(int partner);

    // Returns the median over the windows, in MB/s (10^6 bytes per second), on the sending side.
    [[nodiscard]] double send_bandwidth(int partner);
    void receive_bandwidth(int partner);

    // Returns the counts since the last call: messages that this side received, and its own messages that came back.
    [[nodiscard]] Payloads take_payloads() { return std::exchange(payloads_, {}); }

  private:
    double send_window(int partner, int messages);

    Settings settings_;
    std::vector<char> small_;
    std::vector<char> large_;  // as this rank sends it
    int own_rank_;
    Payloads payloads_;
};

}  // namespace measure::pairs
