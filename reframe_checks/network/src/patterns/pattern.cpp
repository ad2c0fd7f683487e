#include "pattern.hpp"

#include <sys/time.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <map>
#include <numeric>
#include <stdexcept>

#ifdef SMPI_H
#include <simgrid/actor.h>
#include <simgrid/engine.h>
#include <simgrid/semaphore.h>
#endif

#include "json_text.hpp"
#include "node_names.hpp"
#include "write_file.hpp"

namespace patterns {
namespace {

// In a simulation all ranks are on the machine that simulates; MPI knows where they would be.
std::vector<std::string> names_of_nodes(const sweep::World& world) {
    if (!kSimulated) {
        return sweep::node_names(world);
    }
    std::array<char, MPI_MAX_PROCESSOR_NAME> own{};
    int length = 0;
    MPI_Get_processor_name(own.data(), &length);
    std::vector<char> all(own.size() * at(world.size()));
    const int bytes = static_cast<int>(own.size());
    MPI_Allgather(own.data(), bytes, MPI_CHAR, all.data(), bytes, MPI_CHAR, MPI_COMM_WORLD);
    std::vector<std::string> names;
    for (std::size_t start = 0; start < all.size(); start += own.size()) {
        names.emplace_back(all.data() + start);
    }
    return names;
}

std::vector<int> nodes_of_ranks(const sweep::World& world, int ranks_per_node) {
    std::vector<int> nodes;
    if (ranks_per_node > 0) {
        for (int rank = 0; rank < world.size(); ++rank) {
            nodes.push_back(rank / ranks_per_node);
        }
        return nodes;
    }
    std::map<std::string, int> number;
    for (const std::string& name : names_of_nodes(world)) {
        nodes.push_back(number.try_emplace(name, static_cast<int>(number.size())).first->second);
    }
    return nodes;
}

}  // namespace

Run::Run(const sweep::World& world, const Options& options) : world_(world), options_(options) {
    if (world.size() < 2) {
        throw std::runtime_error("one rank alone: start at least two");
    }
    node_of_ = nodes_of_ranks(world, options.ranks_per_node);
    if (!kSimulated) {
        overdue_.emplace("pattern", world.rank(), options.timeout_s);
    }
}

void Run::waits_for(const std::string& what) const {
    // Where time is simulated a wait without end is a deadlock, which the simulator finds.
    if (overdue_) {
        overdue_->waits_for(what);
    }
}

void Run::waits_no_more() const {
    if (overdue_) {
        sweep::Overdue::waits_no_more();
    }
}

void Run::start_together(MPI_Comm ranks) const {
    waits_for("all ranks to start");
    MPI_Barrier(ranks);
    if (kSimulated) {
        // One clock for all, and whoever leaves the barrier first would hold windows that others want.
        const double own = now();
        double latest = 0;
        MPI_Allreduce(&own, &latest, 1, MPI_DOUBLE, MPI_MAX, ranks);
        nap(latest + 1e-3 - now());
    }
    waits_no_more();
}

void Run::wait_all(std::vector<MPI_Request>& requests, const std::string& what) const {
    waits_for(what);
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    waits_no_more();
    requests.clear();
}

json Run::longest_us(std::vector<double> seconds, MPI_Comm ranks) const {
    std::vector<double> longest(seconds.size());
    waits_for("the times of all ranks");
    MPI_Reduce(seconds.data(), longest.data(), static_cast<int>(seconds.size()), MPI_DOUBLE, MPI_MAX, 0, ranks);
    waits_no_more();
    json found = json::array();
    for (const double value : longest) {
        found.push_back(sweep::rounded(value * 1e6));
    }
    return found;
}

void Run::write(const std::string& pattern, json facts, int used_ranks) const {
    if (rank() != 0) {
        return;
    }
    facts["format"] = "kappa-pattern";
    facts["version"] = 1;
    facts["pattern"] = pattern;
    facts["mpi"] = sweep::World::library();
    facts["simulated"] = kSimulated;
    facts["ranks"] = used_ranks;
    facts["nodes"] = *std::max_element(node_of_.begin(), node_of_.begin() + used_ranks) + 1;
    const std::string text = sweep::in_lines(facts, {"sizes"});
    if (options_.output == "-") {
        std::fputs(text.c_str(), stdout);
        std::fflush(stdout);
    } else {
        sweep::write_file(options_.output, text);
    }
}

#ifdef SMPI_H
double now() { return simgrid_get_clock(); }
void nap(double seconds) { sg_actor_sleep_for(seconds); }
void short_nap(double seconds) {
    // As a sleep, but a sleep takes the longer the more puts of this rank are not complete. (All ranks at once are more
    // than SimGrid 3.32 takes: at 512 it says that they wait for each other.)
    static const sg_sem_t never = sg_sem_init(0);
    sg_sem_acquire_timeout(never, seconds);
}
#else
double now() { return MPI_Wtime(); }
void nap(double seconds) {
    timespec length{};
    length.tv_sec = static_cast<std::time_t>(seconds);
    length.tv_nsec = static_cast<long>((seconds - static_cast<double>(length.tv_sec)) * 1e9);
    nanosleep(&length, nullptr);
}
void short_nap(double seconds) { nap(seconds); }
#endif

std::vector<int> shuffled(int count, std::uint64_t seed) {
    std::vector<int> order(at(count));
    std::iota(order.begin(), order.end(), 0);
    for (std::size_t left = order.size(); left > 1; --left) {
        std::swap(order[left - 1], order[mixed(seed ^ mixed(left)) % left]);
    }
    return order;
}

}  // namespace patterns
