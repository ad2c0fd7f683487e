#include "commands/probes.hpp"

#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <stdexcept>

#include "commands/csv_cell.hpp"

namespace emt {

std::vector<Probe> find_probes(const Network& net, const std::vector<std::string>& names) {
    std::vector<Probe> out;
    const std::vector<Signals::Signal>& signals = net.signals.all();
    for (const std::string& name : names) {
        const auto node = std::find(net.node_names.begin(), net.node_names.end(), name);
        const auto signal = std::find_if(signals.begin(), signals.end(), [&](const auto& s) { return s.name == name && !s.makers.empty(); });
        if (node != net.node_names.end())
            out.push_back({false, static_cast<int>(node - net.node_names.begin())});
        else if (signal != signals.end())
            out.push_back({true, static_cast<int>(signal - signals.begin())});
        else
            throw std::runtime_error("--probe: there is no node and no signal '" + name + "'");
    }
    return out;
}

Probes::Probes(const Network& net, const Engine& engine, const RunOptions& o) : options_(o), probes_(find_probes(net, o.probes)) {
    for (Probe& p : probes_) p.owned = p.signal ? engine.owns_signal(p.number) : engine.owns(p.number);
}

void Probes::record(const Engine& engine) {
    if (probes_.empty() || engine.steps() % options_.csv_every != 0) return;
    for (const Probe& p : probes_) values_.push_back(!p.owned ? 0 : p.signal ? engine.signal(p.number) : engine.voltage(p.number));
}

void Probes::write(const Mpi& mpi, double dt_s) {
    if (probes_.empty()) return;
    MPI_Reduce(mpi.rank == 0 ? MPI_IN_PLACE : values_.data(), values_.data(), static_cast<int>(values_.size()), MPI_DOUBLE,
               MPI_SUM, 0, MPI_COMM_WORLD);
    if (mpi.rank != 0) return;
    std::string text = "time";
    for (const std::string& name : options_.probes) text.append(",").append(csv_cell(name));
    char number[40];
    for (std::size_t i = 0; i < values_.size(); ++i) {
        if (i % probes_.size() == 0) {
            std::snprintf(number, sizeof number, "\n%.12g", static_cast<double>(i / probes_.size() * options_.csv_every) * dt_s);
            text += number;
        }
        std::snprintf(number, sizeof number, ",%.17g", values_[i]);
        text += number;
    }
    write_file(options_.csv_path, text + "\n");
}

}  // namespace emt
