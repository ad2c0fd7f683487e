// Congestion: loss of latency, bandwidth and speed of small sums on some nodes while others load the network, as GPCNeT
// defines it (Chunduri et al., "GPCNeT: Designing a Benchmark Suite for Inducing and Measuring Contention in HPC
// Networks", SC 2019).
//
// The nodes alternate, so that every switch has both kinds: with `victims` = 0.5 every second node is a victim, with
// 0.2, as in GPCNeT, every fifth. All victims start a sample together; the slowest victim counts:
//
//   latency    8 bytes to both neighbours in a ring of random order, and the same from both
//   bandwidth  the same with 128 KiB
//   allreduce  a sum of one double over all victims
//
// Each of `rounds` rounds takes `iterations` samples of each alone, while the aggressors sleep. Then it takes as many
// beside the aggressors, after their first operation. The aggressors run the `loads` one after the other:
//
//   compute     additions without network traffic. The control: its impact does not come from the network.
//   all-to-all  each sends `aggressor_bytes` to every other aggressor
//   incast      all but one send `aggressor_bytes` eight times to that one
//   put-incast  the same by MPI_Put and MPI_Win_flush
//   broadcast   one sends `aggressor_bytes` eight times to all
//
// The impact is the median (or 99th percentile) beside the load, divided by the same alone; the reader of the samples
// computes it. Messages that victims receive are compared with the sent ones.

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <sstream>
#include <stdexcept>

#include "common/payload.hpp"
#include "patterns/patterns.hpp"
#include "patterns/window.hpp"

namespace measure::patterns {
namespace {

constexpr int kWindow = 8;
constexpr double kQuiet_s = 1e-3;  // between two polls for a command: a waiting rank takes no core from the others
constexpr int kCommandTag = 77;
constexpr int kStop = 0;
constexpr int kGo = 1;
const std::map<std::string, int> kVictimBytes = {{"latency", 8}, {"bandwidth", 1 << 17}};

bool is_victim(int node, double share) { return std::floor(node * share) > std::floor((node - 1) * share); }

// A command of the first victim to all aggressors, which sleep until then.
class Commands {
  public:
    Commands(const Run& run, std::vector<int> aggressors) : run_(run), aggressors_(std::move(aggressors)) {}

    void give(int command) const {
        run_.waits_for("aggressors to take a command");
        for (const int aggressor : aggressors_) {
            MPI_Send(&command, 1, MPI_INT, aggressor, kCommandTag, MPI_COMM_WORLD);
        }
        run_.waits_no_more();
    }
    [[nodiscard]] static bool has_come() {
        int found = 0;
        MPI_Iprobe(0, kCommandTag, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
        return found != 0;
    }
    static void take(int expected) {
        while (!has_come()) {
            nap(kQuiet_s);
        }
        int command = -1;
        MPI_Recv(&command, 1, MPI_INT, 0, kCommandTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (command != expected) {
            throw std::runtime_error("an aggressor expected command " + std::to_string(expected) + ", found " + std::to_string(command));
        }
    }

  private:
    const Run& run_;
    std::vector<int> aggressors_;
};

// The repeated operation of an aggressor.
class Load {
  public:
    Load(const Run& run, const Congestion& options, const std::string& name, MPI_Comm peers)
        : run_(run), name_(name), peers_(peers), bytes_(options.aggressor_bytes) {
        MPI_Comm_rank(peers_, &rank_);
        MPI_Comm_size(peers_, &size_);
        const std::size_t blocks = at(std::max(size_, kWindow));
        sent_.assign(at(bytes_) * blocks, 'a');
        received_.assign(at(bytes_) * blocks * (name == "incast" ? at(size_) : 1), 0);
        if (name == "put-incast") {
            MPI_Win_allocate(static_cast<MPI_Aint>(received_.size() * at(size_)), 1, MPI_INFO_NULL, peers_, &base_, &window_);
            MPI_Win_lock_all(MPI_MODE_NOCHECK, window_);
        }
    }
    ~Load() {
        if (window_ != MPI_WIN_NULL && std::uncaught_exceptions() == 0) {
            MPI_Win_unlock_all(window_);
            MPI_Win_free(&window_);
        }
    }
    Load(const Load&) = delete;
    Load& operator=(const Load&) = delete;

    // Runs until the first victim says stop; returns the number of operations.
    int until_stopped() {
        int operations = 0;
        for (bool goes_on = true; goes_on;) {
            run_.waits_for("the other aggressors");
            act();
            if (++operations == 1) {
                report(operations);
            }
            goes_on = !all_stopped();
            run_.waits_no_more();
        }
        Commands::take(kStop);
        report(operations);
        return operations;
    }

  private:
    void act() {
        if (name_ == "compute" && kSimulated) {
            nap(kQuiet_s);
        } else if (name_ == "compute") {
            const double until = now() + kQuiet_s;
            while (now() < until) {
                for (int i = 0; i < 1000; ++i) {
                    sum_ = sum_ + 1e-9 * i;  // volatile
                }
            }
        } else if (name_ == "all-to-all") {
            MPI_Alltoall(sent_.data(), bytes_, MPI_BYTE, received_.data(), bytes_, MPI_BYTE, peers_);
        } else if (name_ == "broadcast") {
            for (int i = 0; i < kWindow; ++i) {
                MPI_Bcast(sent_.data(), bytes_, MPI_BYTE, 0, peers_);
            }
        } else if (name_ == "incast") {
            incast();
        } else {
            for (int i = 0; rank_ > 0 && i < kWindow; ++i) {
                MPI_Put(block(sent_, i), bytes_, MPI_BYTE, 0, static_cast<MPI_Aint>(at(rank_ * kWindow + i) * at(bytes_)), bytes_, MPI_BYTE, window_);
            }
            MPI_Win_flush(0, window_);
        }
    }

    void incast() {
        std::vector<MPI_Request> requests;
        const auto add = [&requests]() -> MPI_Request* {
            requests.push_back(MPI_REQUEST_NULL);
            return &requests.back();
        };
        for (int i = 0; i < kWindow; ++i) {
            if (rank_ > 0) {
                MPI_Isend(block(sent_, i), bytes_, MPI_BYTE, 0, i, peers_, add());
                continue;
            }
            for (int sender = 1; sender < size_; ++sender) {
                MPI_Irecv(block(received_, sender * kWindow + i), bytes_, MPI_BYTE, sender, i, peers_, add());
            }
        }
        MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    }

    // In a load of messages, all ranks must leave the loop at the same operation.
    [[nodiscard]] bool all_stopped() const {
        int stops = Commands::has_come() ? 1 : 0;
        if (name_ != "compute") {
            MPI_Bcast(&stops, 1, MPI_INT, 0, peers_);
        }
        return stops != 0;
    }

    // Sends the first aggressor's counts to the first victim.
    void report(int operations) const {
        if (rank_ == 0) {
            MPI_Send(&operations, 1, MPI_INT, 0, kCommandTag, MPI_COMM_WORLD);
        }
    }

    [[nodiscard]] char* block(std::vector<char>& of, int number) const { return of.data() + at(number) * at(bytes_); }

    const Run& run_;
    std::string name_;
    MPI_Comm peers_;
    int bytes_;
    int rank_ = 0;
    int size_ = 0;
    volatile double sum_ = 0;
    std::vector<char> sent_;
    std::vector<char> received_;
    char* base_ = nullptr;
    MPI_Win window_ = MPI_WIN_NULL;
};

class Victim {
  public:
    Victim(const Run& run, MPI_Comm peers) : run_(run), peers_(peers) {
        int rank = 0;
        int size = 0;
        MPI_Comm_rank(peers_, &rank);
        MPI_Comm_size(peers_, &size);
        victims_ = size;
        rank_ = rank;
        const std::vector<int> order = shuffled(size, run.options().seed);
        const auto place = static_cast<int>(std::find(order.begin(), order.end(), rank) - order.begin());
        left_ = order[at((place + size - 1) % size)];
        right_ = order[at((place + 1) % size)];
    }

    // Returns the times of each sample, on the first victim.
    json samples(const std::string& of) {
        std::vector<double> seconds;
        for (int iteration = 0; iteration < run_.options().iterations; ++iteration, ++sample_) {
            seconds.push_back(of == "allreduce" ? sum() : exchange(kVictimBytes.at(of)));
        }
        return run_.longest_us(seconds, peers_);
    }

  private:
    double exchange(int bytes) {
        // Sends and receives with the left neighbour, then with the right one.
        const std::array<int, 2> neighbour = {left_, right_};
        std::array<std::vector<char>, 2> sent;
        std::array<std::vector<char>, 2> received;
        for (const int side : {0, 1}) {
            sent[at(side)].resize(at(bytes));
            received[at(side)].resize(at(bytes));
            fill(sent[at(side)], {rank_, neighbour[at(side)], sample_, 1 - side});
        }
        run_.start_together(peers_);
        const double start = now();
        std::vector<MPI_Request> requests(4, MPI_REQUEST_NULL);
        for (const int side : {0, 1}) {
            MPI_Irecv(received[at(side)].data(), bytes, MPI_BYTE, neighbour[at(side)], side, peers_, &requests[at(side)]);
        }
        for (const int side : {0, 1}) {
            MPI_Isend(sent[at(side)].data(), bytes, MPI_BYTE, neighbour[at(side)], 1 - side, peers_, &requests[at(2 + side)]);
        }
        run_.wait_all(requests, "messages between victims");
        const double took = now() - start;
        for (const int side : {0, 1}) {
            require(received[at(side)], {neighbour[at(side)], rank_, sample_, side});
        }
        return took;
    }

    double sum() {
        const double own = rank_ + 1 + sample_;
        double all = -1;
        run_.start_together(peers_);
        const double start = now();
        run_.waits_for("the sum of all victims");
        MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, MPI_SUM, peers_);
        run_.waits_no_more();
        const double took = now() - start;
        const double expected = 0.5 * victims_ * (victims_ + 1) + static_cast<double>(victims_) * sample_;
        if (all != expected) {
            throw std::runtime_error("wrong payload: the sum of all victims is " + std::to_string(all) + ", not " + std::to_string(expected));
        }
        return took;
    }

    const Run& run_;
    MPI_Comm peers_;
    int rank_ = 0;
    int victims_ = 0;
    int left_ = 0;
    int right_ = 0;
    int sample_ = 0;
};

const std::array<const char*, 3> kVictimPatterns = {"latency", "bandwidth", "allreduce"};

// All samples of one load: each pattern's of all rounds in one list, and the aggressors' operations in each round.
json beside(const Run& run, const Congestion& options, const std::string& name, Victim& victim, const Commands& commands,
            int first_aggressor) {
    json found = {{"load", name}, {"operations", json::array()}};
    for (const char* pattern : kVictimPatterns) {
        found[pattern] = {{"alone_us", json::array()}, {"beside_us", json::array()}};
    }
    const auto take = [&](const char* where) {
        for (const char* pattern : kVictimPatterns) {
            for (const json& sample : victim.samples(pattern)) {
                found[pattern][where].push_back(sample);
            }
        }
    };
    const auto operations = [&] {
        int done = 0;
        run.waits_for("the aggressors' operations");
        MPI_Recv(&done, 1, MPI_INT, first_aggressor, kCommandTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        run.waits_no_more();
        return done;
    };
    for (int round = 0; round < options.rounds; ++round) {
        take("alone_us");
        if (run.rank() == 0) {
            commands.give(kGo);
            operations();
        }
        take("beside_us");
        if (run.rank() == 0) {
            commands.give(kStop);
            found["operations"].push_back(operations());
        }
    }
    return found;
}

}  // namespace

void congestion(const Run& run, const Congestion& options) {
    std::vector<int> aggressors;
    for (int rank = 0; rank < run.size(); ++rank) {
        if (!is_victim(run.node_of()[at(rank)], options.victims)) {
            aggressors.push_back(rank);
        }
    }
    const int victims = run.size() - static_cast<int>(aggressors.size());
    if (victims < 2 || aggressors.size() < 2) {
        throw std::runtime_error("congestion needs two victims and two aggressors on separate nodes: found " + std::to_string(victims) +
                                 " and " + std::to_string(aggressors.size()));
    }
    const bool attacks = !is_victim(run.node_of()[at(run.rank())], options.victims);
    MPI_Comm peers = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, attacks ? 1 : 0, run.rank(), &peers);
    const Commands commands(run, aggressors);
    json loads = json::array();
    if (attacks) {
        for (const std::string& name : options.loads) {
            Load load(run, options, name, peers);
            for (int round = 0; round < options.rounds; ++round) {
                Commands::take(kGo);
                load.until_stopped();
            }
        }
    } else {
        Victim victim(run, peers);
        for (const std::string& name : options.loads) {
            loads.push_back(beside(run, options, name, victim, commands, aggressors.front()));
        }
    }
    MPI_Comm_free(&peers);
    run.write({{"victims", victims},
               {"aggressors", aggressors.size()},
               {"aggressor_bytes", options.aggressor_bytes},
               {"iterations", run.options().iterations},
               {"rounds", options.rounds},
               {"loads", loads}});
}

}  // namespace measure::patterns
