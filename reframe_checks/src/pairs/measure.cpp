#include "pairs/measure.hpp"

#include <mpi.h>

#include <algorithm>

#include "common/figures.hpp"
#include "common/payload.hpp"

namespace measure::pairs {

namespace {

constexpr int kTrip = 1, kAnnounce = 2, kReady = 3, kData = 4, kDone = 5, kStop = 6;
constexpr int kWarmUp = 5;

// All messages of all windows of a rank have the same content.
Label of_window(int sender) { return {sender, -1, 0}; }

}  // namespace

PairMeasurement::PairMeasurement(const Settings& settings, int own_rank)
    : settings_(settings),
      small_(static_cast<std::size_t>(settings.latency_bytes)),
      large_(static_cast<std::size_t>(settings.bandwidth_bytes)),
      own_rank_(own_rank) {
    fill(large_, of_window(own_rank));
}

double PairMeasurement::lead_latency(int partner) {
    const double start = MPI_Wtime();
    std::vector<double> trips;
    for (int trip = -kWarmUp; trip < settings_.round_trips; ++trip) {
        const Label label{own_rank_, partner, trip};
        fill(small_, label);
        const double before = MPI_Wtime();
        MPI_Send(small_.data(), settings_.latency_bytes, MPI_CHAR, partner, kTrip, MPI_COMM_WORLD);
        MPI_Recv(small_.data(), settings_.latency_bytes, MPI_CHAR, partner, kTrip, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        const double after = MPI_Wtime();
        payloads_.count(arrived(small_, label));
        if (trip >= 0) {
            trips.push_back(after - before);
        }
        if (after - start > settings_.seconds && !trips.empty()) {
            break;
        }
    }
    MPI_Send(nullptr, 0, MPI_CHAR, partner, kStop, MPI_COMM_WORLD);
    return median(trips) / 2 * 1e6;
}

void PairMeasurement::follow_latency(int partner) {
    for (;;) {
        // The tag ends the loop, not the content, which may be wrong.
        MPI_Status status;
        MPI_Recv(small_.data(), settings_.latency_bytes, MPI_CHAR, partner, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        if (status.MPI_TAG == kStop) {
            return;
        }
        MPI_Send(small_.data(), settings_.latency_bytes, MPI_CHAR, partner, kTrip, MPI_COMM_WORLD);
    }
}

// Returns the seconds of a window, from the first message to the partner's acknowledgement of all.
double PairMeasurement::send_window(int partner, int messages) {
    MPI_Send(&messages, 1, MPI_INT, partner, kAnnounce, MPI_COMM_WORLD);
    // The receives are posted before the clock starts.
    MPI_Recv(nullptr, 0, MPI_CHAR, partner, kReady, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    const double before = MPI_Wtime();
    std::vector<MPI_Request> requests(static_cast<std::size_t>(messages));
    for (MPI_Request& request : requests) {
        MPI_Isend(large_.data(), settings_.bandwidth_bytes, MPI_CHAR, partner, kData, MPI_COMM_WORLD, &request);
    }
    MPI_Waitall(messages, requests.data(), MPI_STATUSES_IGNORE);
    MPI_Recv(nullptr, 0, MPI_CHAR, partner, kDone, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return MPI_Wtime() - before;
}

double PairMeasurement::send_bandwidth(int partner) {
    // One message warms up; its time determines how many messages fit, since a link may be very slow.
    const double one = send_window(partner, 1);
    const double affordable = settings_.seconds / settings_.repeats / std::max(one, 1e-9);
    const int messages = static_cast<int>(std::clamp(affordable, 1.0, static_cast<double>(settings_.window)));
    const double start = MPI_Wtime();
    std::vector<double> rates;
    while (static_cast<int>(rates.size()) < settings_.repeats) {
        const double took = send_window(partner, messages);
        rates.push_back(static_cast<double>(settings_.bandwidth_bytes) * messages / took / 1e6);
        if (MPI_Wtime() - start > settings_.seconds) {
            break;
        }
    }
    const int stop = 0;
    MPI_Send(&stop, 1, MPI_INT, partner, kAnnounce, MPI_COMM_WORLD);
    return median(rates);
}

void PairMeasurement::receive_bandwidth(int partner) {
    std::vector<char> expected(large_.size());
    fill(expected, of_window(partner));
    for (;;) {
        int messages = 0;
        MPI_Recv(&messages, 1, MPI_INT, partner, kAnnounce, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (messages == 0) {
            return;
        }
        std::vector<MPI_Request> requests(static_cast<std::size_t>(messages));
        std::vector<char> inbox(large_.size() * requests.size());
        for (std::size_t i = 0; i < requests.size(); ++i) {
            MPI_Irecv(inbox.data() + i * large_.size(), settings_.bandwidth_bytes, MPI_CHAR, partner, kData,
                      MPI_COMM_WORLD, &requests[i]);
        }
        MPI_Send(nullptr, 0, MPI_CHAR, partner, kReady, MPI_COMM_WORLD);
        MPI_Waitall(messages, requests.data(), MPI_STATUSES_IGNORE);
        MPI_Send(nullptr, 0, MPI_CHAR, partner, kDone, MPI_COMM_WORLD);
        for (std::size_t i = 0; i < requests.size(); ++i) {
            const std::span<const char> message(inbox.data() + i * large_.size(), large_.size());
            payloads_.count(std::equal(message.begin(), message.end(), expected.begin()));
        }
    }
}

}  // namespace measure::pairs
