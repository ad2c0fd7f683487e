// Cost of finding the message that belongs to a receive, over the number of waiting ones: latency over the depth of
// MPI's queues.
//
// Two ranks: rank 0 asks and rank 1 answers. The time runs from posting the receive of the answer, then asking, until
// it arrives. Meanwhile rank 0's queue of unexpected messages holds `depth` earlier messages of rank 1 with other tags.
// Or its queue of posted receives holds as many receives for messages of rank 1 with other tags, which arrive later.
// With lists the time grows with the depth, with hashes it does not.

#include "mpi/measurements.hpp"

namespace measure::mpi {
namespace {

constexpr int kAllSentTag = 5;
constexpr int kFirstTag = 1000;

class Queue {
  public:
    Queue(const Run& run, int depth) : run_(run), depth_(depth), waiting_(at(depth), std::vector<char>(at(run.options().bytes))) {}

    // Sends the waiting messages before, and receives them afterwards.
    void unexpected(Medians& medians) {
        send_all();
        if (run_.rank() == 0) {
            MPI_Recv(nullptr, 0, MPI_BYTE, 1, kAllSentTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Send(nullptr, 0, MPI_BYTE, 0, kAllSentTag, MPI_COMM_WORLD);
        }
        ask_all(0, medians);
        if (run_.rank() == 0) {
            for (int i = 0; i < depth_; ++i) {
                auto& one = waiting_[at(i)];
                MPI_Recv(one.data(), static_cast<int>(one.size()), MPI_BYTE, 1, kFirstTag + i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            }
            require_all();
        }
    }

    // Posts the receives of the waiting messages before, and sends these messages afterwards.
    void posted(Medians& medians) {
        std::vector<MPI_Request> requests(at(depth_));
        if (run_.rank() == 0) {
            for (int i = 0; i < depth_; ++i) {
                auto& one = waiting_[at(i)];
                MPI_Irecv(one.data(), static_cast<int>(one.size()), MPI_BYTE, 1, kFirstTag + i, MPI_COMM_WORLD, &requests[at(i)]);
            }
        }
        ask_all(1, medians);
        send_all();
        if (run_.rank() == 0) {
            MPI_Waitall(depth_, requests.data(), MPI_STATUSES_IGNORE);
            require_all();
        }
    }

  private:
    void send_all() {
        if (run_.rank() != 1) {
            return;
        }
        for (int i = 0; i < depth_; ++i) {
            auto& one = waiting_[at(i)];
            fill(one, {1, 0, depth_, i});
            MPI_Send(one.data(), static_cast<int>(one.size()), MPI_BYTE, 0, kFirstTag + i, MPI_COMM_WORLD);
        }
    }

    void require_all() {
        for (int i = 0; i < depth_; ++i) {
            require(waiting_[at(i)], {1, 0, depth_, i});
            waiting_[at(i)].assign(waiting_[at(i)].size(), 0);
        }
    }

    void ask_all(int kind, Medians& medians) {
        std::vector<char> message(at(run_.options().bytes));
        for (int iteration = 0; iteration < run_.options().iterations; ++iteration) {
            const Label label{1, 0, iteration, -1 - kind};
            if (run_.rank() == 0) {
                medians.add(at(kind), ask(1, 1, message, label));
            } else {
                answer(0, message, label);
            }
        }
    }

    const Run& run_;
    int depth_;
    std::vector<std::vector<char>> waiting_;
};

}  // namespace

void matching(const Run& run, const Matching& options) {
    run.require_ranks(2);
    json series = json::array();
    for (const int depth : options.depths) {
        Queue queue(run, depth);
        Medians medians(2);
        for (int repeat = 0; repeat < run.options().repeats; ++repeat) {
            run.waits_for("messages behind " + std::to_string(depth) + " others");
            queue.unexpected(medians);
            queue.posted(medians);
            medians.end_of_repeat();
        }
        series.push_back({{"depth", depth}, {"unexpected_us", medians[0]}, {"posted_us", medians[1]}});
    }
    run.waits_no_more();
    write_repeats(run, {{"bytes", run.options().bytes}, {"series", series}});
}

}  // namespace measure::mpi
