#include "commands/probes.hpp"

#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <stdexcept>

#include "commands/csv_cell.hpp"

namespace emt {

Probes::Probes(const Network& net, const Engine& engine, const RunOptions& o) : options_(o) {
    for (const std::string& name : o.probes) {
        const auto it = std::find(net.node_names.begin(), net.node_names.end(), name);
        if (it == net.node_names.end()) throw std::runtime_error("--probe: there is no node '" + name + "'");
        node_.push_back(static_cast<int>(it - net.node_names.begin()));
        owned_.push_back(engine.owns(node_.back()) ? 1 : 0);
    }
}

void Probes::record(const Engine& engine) {
    if (node_.empty() || engine.steps() % options_.csv_every != 0) return;
    for (std::size_t i = 0; i < node_.size(); ++i) values_.push_back(owned_[i] != 0 ? engine.voltage(node_[i]) : 0);
}

void Probes::write(const Mpi& mpi, double dt_s) {
    if (node_.empty()) return;
    MPI_Reduce(mpi.rank == 0 ? MPI_IN_PLACE : values_.data(), values_.data(), static_cast<int>(values_.size()), MPI_DOUBLE,
               MPI_SUM, 0, MPI_COMM_WORLD);
    if (mpi.rank != 0) return;
    std::string text = "time";
    for (const std::string& name : options_.probes) text.append(",").append(csv_cell(name));
    char number[40];
    for (std::size_t i = 0; i < values_.size(); ++i) {
        if (i % node_.size() == 0) {
            std::snprintf(number, sizeof number, "\n%.12g", static_cast<double>(i / node_.size() * options_.csv_every) * dt_s);
            text += number;
        }
        std::snprintf(number, sizeof number, ",%.17g", values_[i]);
        text += number;
    }
    write_file(options_.csv_path, text + "\n");
}

}  // namespace emt
