// Sums over all ranks, of 8 bytes to 1 MiB, by the hosts or in the network.
//
// `host`: MPI_Allreduce. On a real machine the sum in the network is the same call, with the library's offload switched
// on by the environment: HCOLL_ENABLE_SHARP=3 (HCOLL of HPC-X, OMPI_MCA_coll_hcoll_enable=1) or UCC_TLS=sharp,ucp with
// OMPI_MCA_coll_ucc_enable=1. So only `host` runs there.
//
// `in-network`, in a simulation: aggregation as in SHARP. The last ranks are aggregators, which the host file puts on
// switches. They form a tree: `tree` is a text file with a line `AGGREGATOR: CHILD CHILD ...` for each, all of them
// ranks. Each rank sends to its parent. The parent adds up its children's values, waits `level_latency_us` and sends
// the sum on; the root's sum goes back the same way. Messages go in segments of at most `segment_bytes`, each as soon
// as possible, so that long messages stream; only the first segment waits for the latency.
//
// The time is the longest of all ranks, from giving the values to receiving the sum. All ranks start together; the
// median counts. Every element of every sum is compared with its expected value. CPU time, on a real machine: of all
// threads of a rank during the sums (clock CLOCK_PROCESS_CPUTIME_ID), divided by their number; the mean of the ranks. A
// polling library uses as much CPU time as it waits.

#include <time.h>

#include <algorithm>
#include <exception>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>

#include "patterns/patterns.hpp"

namespace measure::patterns {
namespace {

// A rank, or an aggregator, and its place in the tree.
struct Place {
    int parent = -1;
    std::vector<int> children;
};

std::map<int, Place> read_tree(const std::filesystem::path& path, int size) {
    std::ifstream file(path);
    if (!file) {
        throw std::runtime_error("cannot read the tree " + path.string());
    }
    const auto wrong = [&path](int number, const std::string& expected) {
        return std::runtime_error(path.string() + ", line " + std::to_string(number) + ": expected " + expected);
    };
    std::map<int, Place> places;
    int aggregators = 0;
    std::string text;
    for (int number = 1; std::getline(file, text); ++number) {
        std::istringstream words(text);
        int aggregator = -1;
        char colon = ' ';
        if (!(words >> aggregator >> colon) || colon != ':' || aggregator < 0 || aggregator >= size) {
            throw wrong(number, "`AGGREGATOR: CHILD CHILD ...`, ranks below " + std::to_string(size));
        }
        if (!places[aggregator].children.empty()) {
            throw wrong(number, "each aggregator once");
        }
        ++aggregators;
        for (int child = -1; words >> child;) {
            if (child < 0 || child >= size || child == aggregator || places[child].parent >= 0) {
                throw wrong(number, "children that have no other parent, below " + std::to_string(size));
            }
            places[child].parent = aggregator;
            places[aggregator].children.push_back(child);
        }
        if (!words.eof() || places[aggregator].children.empty()) {
            throw wrong(number, "numbers of children");
        }
    }
    int roots = 0;
    for (int rank = 0; rank < size; ++rank) {
        int steps = 0;
        for (int above = rank; above >= 0 && steps <= size; above = places[above].parent) {
            ++steps;
        }
        const bool aggregates = !places[rank].children.empty();
        roots += places[rank].parent < 0 ? 1 : 0;
        if (aggregates != (rank >= size - aggregators) || steps > size) {
            throw std::runtime_error(path.string() + ": expected the last ranks as aggregators, in one tree, without rank " + std::to_string(rank) + " as it is");
        }
    }
    if (roots != 1) {
        throw std::runtime_error(path.string() + ": expected one root, found " + std::to_string(roots));
    }
    return places;
}

// Whole numbers, whose sums are exact in every order: element i of rank r is (r + 1) * (i mod 97 + 1) + iteration.
double element(double of_ranks, double ranks, std::size_t place, int iteration) {
    return of_ranks * static_cast<double>(place % 97 + 1) + ranks * iteration;
}

// Returns the CPU seconds of all threads of this process.
double on_cpu() {
    timespec used{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
}

class Reduction {
  public:
    Reduction(const Run& run, const AllReduce& options) : run_(run), options_(options) {
        int aggregators = 0;
        if (options.where == "in-network") {
            const std::map<int, Place> places = read_tree(options.tree, run.size());
            place_ = places.at(run.rank());
            for (const auto& [rank, place] : places) {
                aggregators += place.children.empty() ? 0 : 1;
            }
        }
        ranks_ = run.size() - aggregators;
        MPI_Comm_split(MPI_COMM_WORLD, aggregates() ? 1 : 0, run.rank(), &peers_);
    }
    ~Reduction() {
        if (std::uncaught_exceptions() == 0) {  // all ranks must call this
            MPI_Comm_free(&peers_);
        }
    }
    Reduction(const Reduction&) = delete;
    Reduction& operator=(const Reduction&) = delete;

    [[nodiscard]] int ranks() const { return ranks_; }
    [[nodiscard]] int aggregators() const { return run_.size() - ranks_; }
    [[nodiscard]] bool aggregates() const { return !place_.children.empty(); }

    // Returns the times of each iteration, and the CPU time, on rank 0.
    json measured(std::size_t count) {
        std::vector<double> own(count);
        std::vector<double> sum(count);
        std::vector<double> seconds;
        double cpu_s = 0;
        // The first iteration warms up.
        for (int iteration = -1; iteration < run_.options().iterations; ++iteration) {
            if (aggregates()) {
                aggregate(count);
                continue;
            }
            for (std::size_t i = 0; i < count; ++i) {
                own[i] = element(run_.rank() + 1, 1, i, iteration);
            }
            std::fill(sum.begin(), sum.end(), -1);
            run_.start_together(peers_);
            const double start = now();
            const double cpu_start = on_cpu();
            run_.waits_for("the sum of all ranks");
            if (options_.where == "host") {
                MPI_Allreduce(own.data(), sum.data(), static_cast<int>(count), MPI_DOUBLE, MPI_SUM, peers_);
            } else {
                through_tree(own, sum);
            }
            run_.waits_no_more();
            if (iteration >= 0) {
                seconds.push_back(now() - start);
                cpu_s += on_cpu() - cpu_start;
            }
            require_sum(sum, iteration);
        }
        if (aggregates()) {
            return {};
        }
        json found = {{"bytes", count * sizeof(double)}, {"times_us", run_.longest_us(seconds, peers_)}};
        if (!kSimulated) {
            double all_cpu_s = 0;
            MPI_Reduce(&cpu_s, &all_cpu_s, 1, MPI_DOUBLE, MPI_SUM, 0, peers_);
            found["cpu_us"] = rounded(1e6 * all_cpu_s / ranks_ / run_.options().iterations);
        }
        return found;
    }

  private:
    struct Segment {
        int number;
        std::size_t start;
        std::size_t count;
        std::size_t arrived = 0;
    };

    [[nodiscard]] std::vector<Segment> each_segment(std::size_t count) const {
        const std::size_t most = at(options_.segment_bytes) / sizeof(double);
        std::vector<Segment> segments;
        for (std::size_t start = 0; start < count; start += most) {
            segments.push_back({static_cast<int>(segments.size()), start, std::min(most, count - start)});
        }
        return segments;
    }

    static MPI_Request received(std::vector<double>& into, const Segment& segment, int sender) {
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Irecv(into.data() + segment.start, static_cast<int>(segment.count), MPI_DOUBLE, sender, segment.number, MPI_COMM_WORLD, &request);
        return request;
    }

    static MPI_Request sending(std::vector<double>& from, const Segment& segment, int receiver) {
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Isend(from.data() + segment.start, static_cast<int>(segment.count), MPI_DOUBLE, receiver, segment.number, MPI_COMM_WORLD, &request);
        return request;
    }

    void through_tree(std::vector<double>& own, std::vector<double>& sum) {
        std::vector<MPI_Request> requests;
        for (const Segment& segment : each_segment(own.size())) {
            requests.push_back(received(sum, segment, place_.parent));
            requests.push_back(sending(own, segment, place_.parent));
        }
        run_.wait_all(requests, "the sum from aggregator " + std::to_string(place_.parent));
    }

    // Segments go up and down at the same time, each as soon as possible.
    void aggregate(std::size_t count) {
        std::vector<double> up(count);
        std::vector<double> down(count);
        const std::size_t children = place_.children.size();
        std::vector<std::vector<double>> given(children, std::vector<double>(count));
        std::vector<Segment> segments = each_segment(count);
        // For each segment: receives from the children, and finally from the parent.
        std::vector<MPI_Request> awaited;
        for (const Segment& segment : segments) {
            for (std::size_t child = 0; child < children; ++child) {
                awaited.push_back(received(given[child], segment, place_.children[child]));
            }
        }
        for (const Segment& segment : segments) {
            awaited.push_back(place_.parent < 0 ? MPI_REQUEST_NULL : received(down, segment, place_.parent));
        }
        std::vector<MPI_Request> sent;
        const auto send_down = [&](std::vector<double>& sum, const Segment& segment) {
            for (const int child : place_.children) {
                sent.push_back(sending(sum, segment, child));
            }
        };
        for (int index = 0; MPI_Waitany(static_cast<int>(awaited.size()), awaited.data(), &index, MPI_STATUS_IGNORE), index != MPI_UNDEFINED;) {
            if (at(index) >= segments.size() * children) {
                send_down(down, segments[at(index) - segments.size() * children]);
                continue;
            }
            Segment& segment = segments[at(index) / children];
            const std::vector<double>& values = given[at(index) % children];
            for (std::size_t i = segment.start; i < segment.start + segment.count; ++i) {
                up[i] += values[i];
            }
            if (++segment.arrived < children) {
                continue;
            }
            if (segment.number == 0) {  // following segments stream and do not wait again
                nap(options_.level_latency_us * 1e-6);
            }
            if (place_.parent >= 0) {
                sent.push_back(sending(up, segment, place_.parent));
            } else {
                send_down(up, segment);
            }
        }
        MPI_Waitall(static_cast<int>(sent.size()), sent.data(), MPI_STATUSES_IGNORE);
    }

    void require_sum(const std::vector<double>& sum, int iteration) const {
        const double of_ranks = 0.5 * ranks_ * (ranks_ + 1);
        std::size_t wrong = 0;
        std::size_t first = 0;
        for (std::size_t i = 0; i < sum.size(); ++i) {
            if (sum[i] != element(of_ranks, ranks_, i, iteration)) {
                first = wrong == 0 ? i : first;
                ++wrong;
            }
        }
        if (wrong > 0) {
            throw std::runtime_error("wrong payload: " + std::to_string(wrong) + " of " + std::to_string(sum.size()) +
                                     " sums of all ranks, in iteration " + std::to_string(iteration) + ", the first is element " +
                                     std::to_string(first) + ": " + std::to_string(sum[first]) + ", not " +
                                     std::to_string(element(of_ranks, ranks_, first, iteration)));
        }
    }

    const Run& run_;
    const AllReduce& options_;
    Place place_;
    MPI_Comm peers_ = MPI_COMM_NULL;
    int ranks_ = 0;
};

}  // namespace

void allreduce(const Run& run, const AllReduce& options) {
    if (!kSimulated && options.where != "host") {
        throw std::runtime_error("--where in-network is for simulated machines only: on a real machine, switch on the library's offload and use --where host");
    }
    Reduction reduction(run, options);
    json sizes = json::array();
    for (int bytes = 8; bytes <= options.largest_bytes; bytes *= 2) {
        sizes.push_back(reduction.measured(at(bytes) / sizeof(double)));
    }
    const bool in_network = options.where == "in-network";
    run.write({{"where", options.where},
               {"aggregators", reduction.aggregators()},
               {"level_latency_us", in_network ? json(options.level_latency_us) : json()},
               {"segment_bytes", in_network ? json(options.segment_bytes) : json()},
               {"iterations", run.options().iterations},
               {"largest_bytes", sizes.back()["bytes"]},
               {"sizes", sizes}},
              {"sizes"}, reduction.ranks());
}

}  // namespace measure::patterns
