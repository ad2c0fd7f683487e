#include "commands/probes.hpp"

#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <stdexcept>

#include "commands/csv_cell.hpp"

namespace emt {
namespace {

/// What may be meant by a name: the channels of its element, or some of the first.
std::string offered(const Network& net, const std::string& name) {
    constexpr std::size_t kShown = 12;
    const std::vector<Channel>& all = net.channels.all();
    std::vector<std::string> close;
    for (std::size_t length = name.size(); length != 0 && length != std::string::npos && close.empty(); length = name.rfind('.', length - 1))
        for (const Channel& c : all)
            if (c.name.starts_with(name.substr(0, length) + ".")) close.push_back(c.name);
    const bool of_element = !close.empty();
    if (!of_element)
        for (std::size_t i = 0; i < std::min(kShown, all.size()); ++i) close.push_back(all[i].name);
    std::string text;
    for (std::size_t i = 0; i < std::min(kShown, close.size()); ++i) text += (i > 0 ? ", '" : "'") + close[i] + "'";
    if ((of_element ? close.size() : all.size()) > kShown) text += ", ...";
    return text.empty() ? "no element of this case has any" : of_element ? "of this element there are " + text : "there are " + text;
}

/// Numbers of the channels among the probes, which from now on have their places in this list.
std::vector<int> take_channels(std::vector<Probe>& probes) {
    std::vector<int> channels;
    for (Probe& p : probes)
        if (p.of == Probe::Of::channel) {
            channels.push_back(p.number);
            p.number = static_cast<int>(channels.size()) - 1;
        }
    return channels;
}

}  // namespace

std::vector<Probe> find_probes(const Network& net, const std::vector<std::string>& names) {
    std::vector<Probe> out;
    const std::vector<Signals::Signal>& signals = net.signals.all();
    const std::vector<Channel>& channels = net.channels.all();
    for (const std::string& name : names) {
        const auto node = std::find(net.node_names.begin(), net.node_names.end(), name);
        const auto signal = std::find_if(signals.begin(), signals.end(), [&](const auto& s) { return s.name == name && !s.makers.empty(); });
        const auto channel = std::find_if(channels.begin(), channels.end(), [&](const auto& c) { return c.name == name; });
        if (node != net.node_names.end())
            out.push_back({Probe::Of::node, static_cast<int>(node - net.node_names.begin())});
        else if (signal != signals.end())
            out.push_back({Probe::Of::signal, static_cast<int>(signal - signals.begin())});
        else if (channel != channels.end())
            out.push_back({Probe::Of::channel, static_cast<int>(channel - channels.begin())});
        else
            throw std::runtime_error("--probe: there is no node, no signal and no channel '" + name + "'; of channels " + offered(net, name));
    }
    return out;
}

Probes::Probes(const Network& net, const Decomposition& parts, const Engine& engine, const RunOptions& o)
    : options_(o), probes_(find_probes(net, o.probes)), outputs_(net, parts, engine, take_channels(probes_)) {
    for (Probe& p : probes_) p.owned = p.of == Probe::Of::channel || (p.of == Probe::Of::signal ? engine.owns_signal(p.number) : engine.owns(p.number));
}

double Probes::value(const Engine& engine, const Probe& p) const {
    if (!p.owned) return 0;
    if (p.of == Probe::Of::channel) return outputs_.value(static_cast<std::size_t>(p.number));
    return p.of == Probe::Of::signal ? engine.signal(p.number) : engine.voltage(p.number);
}

void Probes::record(const Engine& engine) {
    if (probes_.empty()) return;
    outputs_.observe(engine);  // at every step: energies are sums
    if (engine.steps() % options_.csv_every != 0) return;
    for (const Probe& p : probes_) values_.push_back(value(engine, p));
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
