// Persistent operations compared with ordinary non-blocking ones: the saving of messages set up once.
//
// Two ranks send each other kMessages messages at once, of each size: MPI_Irecv, MPI_Isend and MPI_Waitall, or
// MPI_Startall and MPI_Waitall of requests made before. The time runs from the first call to the end of the last one,
// divided by the messages of one direction. Both ways alternate, and both ranks begin together.

#include "mpi/measurements.hpp"

namespace measure::mpi {
namespace {

constexpr int kMessages = 16;
constexpr int kOrdinary = 0;

class Messages {
  public:
    Messages(const Run& run, int bytes)
        : rank_(run.rank()), other_(1 - run.rank()), bytes_(bytes),
          sent_(kMessages, std::vector<char>(at(bytes))), received_(sent_), requests_(2 * kMessages), persistent_(2 * kMessages) {
        for (int i = 0; i < kMessages; ++i) {
            MPI_Recv_init(received_[at(i)].data(), bytes_, MPI_BYTE, other_, i, MPI_COMM_WORLD, &persistent_[at(i)]);
            MPI_Send_init(sent_[at(i)].data(), bytes_, MPI_BYTE, other_, i, MPI_COMM_WORLD, &persistent_[at(kMessages + i)]);
        }
    }
    ~Messages() {
        for (MPI_Request& request : persistent_) {
            MPI_Request_free(&request);
        }
    }
    Messages(const Messages&) = delete;
    Messages& operator=(const Messages&) = delete;

    // Seconds for each message.
    double exchange(int way, int iteration) {
        for (int i = 0; i < kMessages; ++i) {
            fill(sent_[at(i)], {rank_, other_, iteration, way * kMessages + i});
        }
        MPI_Sendrecv(nullptr, 0, MPI_BYTE, other_, kMessages, nullptr, 0, MPI_BYTE, other_, kMessages, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        const double start = now();
        if (way == kOrdinary) {
            for (int i = 0; i < kMessages; ++i) {
                MPI_Irecv(received_[at(i)].data(), bytes_, MPI_BYTE, other_, i, MPI_COMM_WORLD, &requests_[at(i)]);
            }
            for (int i = 0; i < kMessages; ++i) {
                MPI_Isend(sent_[at(i)].data(), bytes_, MPI_BYTE, other_, i, MPI_COMM_WORLD, &requests_[at(kMessages + i)]);
            }
            MPI_Waitall(2 * kMessages, requests_.data(), MPI_STATUSES_IGNORE);
        } else {
            MPI_Startall(2 * kMessages, persistent_.data());
            MPI_Waitall(2 * kMessages, persistent_.data(), MPI_STATUSES_IGNORE);
        }
        const double seconds = now() - start;
        for (int i = 0; i < kMessages; ++i) {
            require(received_[at(i)], {other_, rank_, iteration, way * kMessages + i});
        }
        return seconds / kMessages;
    }

  private:
    int rank_;
    int other_;
    int bytes_;
    std::vector<std::vector<char>> sent_;
    std::vector<std::vector<char>> received_;
    std::vector<MPI_Request> requests_;
    std::vector<MPI_Request> persistent_;
};

}  // namespace

void persistent(const Run& run, const Persistent& options) {
    run.require_ranks(2);
    json series = json::array();
    for (const int bytes : options.sizes) {
        Messages messages(run, bytes);
        Medians medians(2);
        for (int repeat = 0; repeat < run.options().repeats; ++repeat) {
            run.waits_for("messages of " + std::to_string(bytes) + " bytes");
            for (int iteration = 0; iteration < run.options().iterations; ++iteration) {
                in_turns(iteration, [&](int way) { medians.add(at(way), messages.exchange(way, iteration)); });
            }
            medians.end_of_repeat();
        }
        series.push_back({{"bytes", bytes}, {"nonblocking_us", medians[0]}, {"persistent_us", medians[1]}});
    }
    run.waits_no_more();
    write_repeats(run, {{"messages", kMessages}, {"series", series}});
}

}  // namespace measure::mpi
