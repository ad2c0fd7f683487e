// One pair of ranks: what a small message takes, and how fast large ones pass.
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
    double seconds = 2.0;  // at most for each of the measurements of a pair
};

// Messages whose content was compared, and how many of them had another.
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

    // Half the median round trip in microseconds, on the side that leads; the other side has to follow.
    [[nodiscard]] double lead_latency(int partner);
    void follow_latency(int partner);

    // Median over the windows, in MB/s (10^6 bytes a second), on the side that sends.
    [[nodiscard]] double send_bandwidth(int partner);
    void receive_bandwidth(int partner);

    // Of the messages that this side has received, and of its own that came back, since the last call.
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
