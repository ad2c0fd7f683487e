#include "bench.hpp"

#include <cstdio>
#include <set>
#include <stdexcept>

#include "json_text.hpp"
#include "median.hpp"
#include "node_names.hpp"
#include "write_file.hpp"

namespace mpi_behaviour {

Bench::Bench(const sweep::World& world, const Options& options)
    : world_(world), options_(options), overdue_("mpi_behaviour", world.rank(), options.timeout_s) {
    if (world.size() < 2) {
        throw std::runtime_error("one rank alone: start at least two");
    }
}

void Bench::require_ranks(int ranks) const {
    if (size() != ranks) {
        throw std::runtime_error("this is measured on " + std::to_string(ranks) + " ranks, not on " + std::to_string(size()));
    }
}

void Bench::write(const std::string& measured, json facts) const {
    overdue_.waits_for("the names of all nodes");
    const std::vector<std::string> names = sweep::node_names(world_);
    sweep::Overdue::waits_no_more();
    if (rank() != 0) {
        return;
    }
    facts["format"] = "kappa-mpi-behaviour";
    facts["version"] = 1;
    facts["measured"] = measured;
    facts["mpi"] = sweep::World::library();
    facts["ranks"] = size();
    facts["nodes"] = std::set<std::string>(names.begin(), names.end()).size();
    facts["repeats"] = options_.repeats;
    const std::string text = sweep::in_lines(facts, {"series"});
    if (options_.output == "-") {
        std::fputs(text.c_str(), stdout);
        std::fflush(stdout);
    } else {
        sweep::write_file(options_.output, text);
    }
}

double ask(int partner, int source, std::vector<char>& answer, const Label& label) {
    MPI_Request request = MPI_REQUEST_NULL;
    const double start = now();
    MPI_Irecv(answer.data(), static_cast<int>(answer.size()), MPI_BYTE, source, kAnswerTag, MPI_COMM_WORLD, &request);
    MPI_Send(nullptr, 0, MPI_BYTE, partner, kAskTag, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    const double seconds = now() - start;
    sweep::require(answer, label);
    return seconds;
}

void answer(int partner, std::vector<char>& message, const Label& label) {
    sweep::fill(message, label);
    MPI_Recv(nullptr, 0, MPI_BYTE, partner, kAskTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(message.data(), static_cast<int>(message.size()), MPI_BYTE, partner, kAnswerTag, MPI_COMM_WORLD);
}

void Medians::end_of_repeat() {
    for (std::size_t series = 0; series < samples_.size(); ++series) {
        if (!samples_[series].empty()) {
            found_[series].push_back(sweep::rounded(sweep::median(samples_[series]) * 1e6));
            samples_[series].clear();
        }
    }
}

}  // namespace mpi_behaviour
