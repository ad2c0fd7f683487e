// Sums over all ranks, of 8 bytes to 1 MiB, by the hosts or in the network.
//
// `host`: MPI_Allreduce. On a real machine the sum in the network is the same call, with the library's offload switched on by
// the environment: HCOLL_ENABLE_SHARP=3 (HCOLL of HPC-X, OMPI_MCA_coll_hcoll_enable=1) or UCC_TLS=sharp,ucp with
// OMPI_MCA_coll_ucc_enable=1; so only `host` runs there.
//
// `in-network`, in a simulation: aggregation as SHARP does it. The last ranks are aggregators, which the host file puts on
// switches. They form a tree: `tree` is a text file with a line `AGGREGATOR: CHILD CHILD ...` for each, all of them ranks. Each rank
// sends to its parent, which adds up what comes from its children, waits `level_latency_us` and sends the sum on; the root's sum goes
// back the same way. Messages go in segments of at most `segment_bytes`, one behind the other, so that long ones stream.
//
// Time = the longest of all ranks from giving its values to having the sum; all start together; the median counts. Every element
// of every sum is compared with what it has to be.

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>

#include "programs.hpp"

namespace patterns {
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
    ~Reduction() { MPI_Comm_free(&peers_); }
    Reduction(const Reduction&) = delete;
    Reduction& operator=(const Reduction&) = delete;

    [[nodiscard]] int ranks() const { return ranks_; }
    [[nodiscard]] int aggregators() const { return run_.size() - ranks_; }
    [[nodiscard]] bool aggregates() const { return !place_.children.empty(); }

    // The times of each iteration, on rank 0.
    json measured(std::size_t count) {
        std::vector<double> own(count);
        std::vector<double> sum(count);
        std::vector<double> seconds;
        // The first one warms up.
        for (int iteration = -1; iteration < run_.options().iterations; ++iteration) {
            if (aggregates()) {
                each_segment(sum, [&](std::span<double> segment, int tag) { aggregate(segment, tag); });
                continue;
            }
            for (std::size_t i = 0; i < count; ++i) {
                own[i] = element(run_.rank() + 1, 1, i, iteration);
            }
            std::fill(sum.begin(), sum.end(), -1);
            run_.start_together(peers_);
            const double start = now();
            run_.waits_for("the sum of all ranks");
            if (options_.where == "host") {
                MPI_Allreduce(own.data(), sum.data(), static_cast<int>(count), MPI_DOUBLE, MPI_SUM, peers_);
            } else {
                through_tree(own, sum);
            }
            run_.waits_no_more();
            if (iteration >= 0) {
                seconds.push_back(now() - start);
            }
            require_sum(sum, iteration);
        }
        return aggregates() ? json() : run_.longest_us(seconds, peers_);
    }

  private:
    template <typename Act>
    void each_segment(std::vector<double>& values, const Act& act) const {
        const std::size_t most = at(options_.segment_bytes) / sizeof(double);
        int tag = 0;
        for (std::size_t start = 0; start < values.size(); start += most) {
            act(std::span(values).subspan(start, std::min(most, values.size() - start)), tag++);
        }
    }

    void through_tree(std::vector<double>& own, std::vector<double>& sum) {
        std::vector<MPI_Request> requests;
        each_segment(sum, [&](std::span<double> segment, int tag) {
            requests.push_back(MPI_REQUEST_NULL);
            MPI_Irecv(segment.data(), static_cast<int>(segment.size()), MPI_DOUBLE, place_.parent, tag, MPI_COMM_WORLD, &requests.back());
        });
        each_segment(own, [&](std::span<double> segment, int tag) {
            requests.push_back(MPI_REQUEST_NULL);
            MPI_Isend(segment.data(), static_cast<int>(segment.size()), MPI_DOUBLE, place_.parent, tag, MPI_COMM_WORLD, &requests.back());
        });
        run_.wait_all(requests, "the sum from aggregator " + std::to_string(place_.parent));
    }

    void aggregate(std::span<double> sum, int tag) {
        const auto count = static_cast<int>(sum.size());
        std::vector<std::vector<double>> given(place_.children.size(), std::vector<double>(sum.size()));
        std::vector<MPI_Request> requests;
        for (std::size_t i = 0; i < given.size(); ++i) {
            requests.push_back(MPI_REQUEST_NULL);
            MPI_Irecv(given[i].data(), count, MPI_DOUBLE, place_.children[i], tag, MPI_COMM_WORLD, &requests.back());
        }
        run_.wait_all(requests, "the children of this aggregator");
        std::fill(sum.begin(), sum.end(), 0);
        for (const std::vector<double>& values : given) {
            std::transform(values.begin(), values.end(), sum.begin(), sum.begin(), std::plus<>());
        }
        if (tag == 0) {  // what streams behind it does not wait again
            nap(options_.level_latency_us * 1e-6);
        }
        if (place_.parent >= 0) {
            MPI_Send(sum.data(), count, MPI_DOUBLE, place_.parent, tag, MPI_COMM_WORLD);
            MPI_Recv(sum.data(), count, MPI_DOUBLE, place_.parent, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        for (const int child : place_.children) {
            requests.push_back(MPI_REQUEST_NULL);
            MPI_Isend(sum.data(), count, MPI_DOUBLE, child, tag, MPI_COMM_WORLD, &requests.back());
        }
        run_.wait_all(requests, "the children of this aggregator");
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
        throw std::runtime_error("--where in-network is for simulated machines: on a real one switch on the library's offload, and sum by host");
    }
    Reduction reduction(run, options);
    json sizes = json::array();
    for (int bytes = 8; bytes <= options.largest_bytes; bytes *= 2) {
        const json times = reduction.measured(at(bytes) / sizeof(double));
        sizes.push_back({{"bytes", bytes}, {"times_us", times}});
    }
    const bool in_network = options.where == "in-network";
    run.write("allreduce",
              {{"where", options.where},
               {"aggregators", reduction.aggregators()},
               {"level_latency_us", in_network ? json(options.level_latency_us) : json()},
               {"segment_bytes", in_network ? json(options.segment_bytes) : json()},
               {"iterations", run.options().iterations},
               {"sizes", sizes}},
              reduction.ranks());
}

}  // namespace patterns
