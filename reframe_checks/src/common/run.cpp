#include "common/run.hpp"

#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <map>
#include <numeric>
#include <stdexcept>

#ifdef SMPI_H
#include <simgrid/actor.h>
#include <simgrid/engine.h>
#include <simgrid/semaphore.h>
#endif

#include "common/files.hpp"
#include "common/split_mix.hpp"

namespace measure {
namespace {

// Version of the document; a change that older parsers would misread gets a new number.
constexpr int kVersion = 1;

// The message of a wait without end, composed in advance: MPI may never return from a call, and a signal handler must
// not compose text.
std::array<char, 400>& said_when_overdue() {
    static std::array<char, 400> said{};
    return said;
}

void end_overdue(int) {
    const auto& text = said_when_overdue();
    [[maybe_unused]] const auto written = write(STDERR_FILENO, text.data(), strnlen(text.data(), text.size()));
    _exit(1);
}

std::string in_lines(const nlohmann::ordered_json& document, const std::set<std::string>& lists) {
    std::string text = "{";
    for (const auto& [key, value] : document.items()) {
        text += (text.size() > 1 ? ",\n" : "\n") + json(key).dump() + ": ";
        if (!lists.contains(key)) {
            text += value.dump();
            continue;
        }
        text += "[";
        for (std::size_t i = 0; i < value.size(); ++i) {
            text += (i > 0 ? ",\n  " : "\n  ") + value[i].dump();
        }
        text += "]";
    }
    return text + "\n}\n";
}

}  // namespace

Run::Run(const World& world, const Options& options) : world_(world), options_(options) {
    if (!kSimulated) {
        std::signal(SIGALRM, end_overdue);
    }
}

const std::vector<std::string>& Run::node_names() const {
    if (node_names_.empty()) {
        waits_for("the names of all nodes");
        node_names_ = world_.node_names();
        waits_no_more();
    }
    return node_names_;
}

const std::vector<int>& Run::node_of() const {
    if (!node_of_.empty()) {
        return node_of_;
    }
    if (options_.ranks_per_node > 0) {
        for (int rank = 0; rank < size(); ++rank) {
            node_of_.push_back(rank / options_.ranks_per_node);
        }
        return node_of_;
    }
    std::map<std::string, int> number;
    for (const std::string& name : node_names()) {
        node_of_.push_back(number.try_emplace(name, static_cast<int>(number.size())).first->second);
    }
    return node_of_;
}

void Run::require_ranks(int ranks) const {
    if (size() != ranks) {
        throw std::runtime_error("expected " + std::to_string(ranks) + " ranks, found " + std::to_string(size()));
    }
}

void Run::require_several_ranks() const {
    if (size() < 2) {
        throw std::runtime_error("found one rank: start at least two");
    }
}

void Run::waits_for(const std::string& what) const {
    // In a simulation, a wait without end is a deadlock, which the simulator finds.
    if (kSimulated) {
        return;
    }
    const bool ends = options_.timeout_s > 0;
    heartbeat::phase(ends ? options_.timeout_s : kPatience_s, what);
    if (ends) {
        std::snprintf(said_when_overdue().data(), said_when_overdue().size(),
                      "kappa-measure %s: error on rank %d of %s: no answer for %g s while it waited for %s\n",
                      options_.subcommand.c_str(), rank(), own_node_name().c_str(), options_.timeout_s, what.c_str());
        alarm(static_cast<unsigned>(options_.timeout_s) + 1);
    }
}

void Run::waits_no_more() const {
    if (!kSimulated) {
        alarm(0);
    }
}

void Run::start_together(MPI_Comm ranks) const {
    waits_for("all ranks to start");
    MPI_Barrier(ranks);
    if (kSimulated) {
        // All ranks share one clock, and the first rank out of the barrier would hold windows that others need.
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

json Run::gathered(const json& own) const {
    json found = json::array();
    for (const std::string& text : world_.gathered(own.dump())) {
        found.push_back(json::parse(text));
    }
    return found;
}

json Run::longest_us(const std::vector<double>& seconds, MPI_Comm ranks) const {
    std::vector<double> longest(seconds.size());
    waits_for("the times of all ranks");
    MPI_Reduce(seconds.data(), longest.data(), static_cast<int>(seconds.size()), MPI_DOUBLE, MPI_MAX, 0, ranks);
    waits_no_more();
    json found = json::array();
    for (const double value : longest) {
        found.push_back(rounded(value * 1e6));
    }
    return found;
}

nlohmann::ordered_json Run::document(const json& measured, int used) const {
    const int nodes = *std::max_element(node_of().begin(), node_of().begin() + used) + 1;
    const nlohmann::ordered_json run = {{"mpi", World::library()}, {"ranks", used}, {"nodes", nodes}, {"simulated", kSimulated}};
    nlohmann::ordered_json found = {
        {"program", "kappa-measure"}, {"version", kVersion}, {"subcommand", options_.subcommand}, {"run", run}};
    for (const auto& [key, value] : measured.items()) {
        found[key] = value;
    }
    return found;
}

void Run::write(const json& measured, const std::set<std::string>& lists, int used) const {
    static_cast<void>(node_of());
    if (rank() != 0) {
        return;
    }
    const std::string text = in_lines(document(measured, used), lists);
    if (options_.output == "-") {
        std::fputs(text.c_str(), stdout);
        std::fflush(stdout);
    } else {
        write_file(options_.output, text);
    }
}

#ifdef SMPI_H
double now() { return simgrid_get_clock(); }
void nap(double seconds) { sg_actor_sleep_for(seconds); }
void short_nap(double seconds) {
    // Like a sleep, but a sleep takes longer the more incomplete puts this rank has. (SimGrid 3.32 cannot take this
    // call from all ranks at once: with 512 ranks, it reports a deadlock.)
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

}  // namespace measure
