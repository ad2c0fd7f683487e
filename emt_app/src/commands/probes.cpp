#include "commands/probes.hpp"

#include <fnmatch.h>
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <utility>

#include "commands/csv_cell.hpp"
#include "commands/nearest.hpp"
#include "measure/timer.hpp"

namespace emt {
namespace {

/// Returns suggestions for a wrong name: the channels of its bus or element, or else the most similar names.
std::string offered(const std::vector<Known>& all, const std::string& name) {
    constexpr std::size_t kOfElement = 12, kSimilar = 5;
    std::vector<std::string> close;
    for (std::size_t length = name.size(); length != 0 && length != std::string::npos && close.empty(); length = name.rfind('.', length - 1))
        for (const Known& k : all)
            if (k.name.starts_with(name.substr(0, length) + ".")) close.push_back(k.name);
    const bool of_element = !close.empty();
    std::size_t shown = std::min(kOfElement, close.size());
    if (!of_element) {
        std::vector<std::string> names;
        for (const Known& k : all) names.push_back(k.name);
        close = nearest(name, names, kSimilar);
        shown = close.size();
    }
    std::string text;
    for (std::size_t i = 0; i < shown; ++i) text += (i > 0 ? ", '" : "'") + close[i] + "'";
    return (of_element ? "names with this beginning: " : "the most similar are ") + text + (shown < close.size() ? ", ..." : "");
}

/// Returns the channel numbers of the probes, and changes each probe's number to its place in that list.
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

std::vector<Known> known(const Network& net) {
    std::vector<Known> out;
    for (const std::string& name : net.node_names) out.push_back({name, "V", {Probe::Of::node, static_cast<int>(out.size())}});
    const std::vector<Signals::Signal>& signals = net.signals.all();
    for (std::size_t i = 0; i < signals.size(); ++i)
        if (!signals[i].makers.empty()) out.push_back({signals[i].name, "", {Probe::Of::signal, static_cast<int>(i)}});
    const std::vector<Channel>& channels = net.channels.all();
    for (std::size_t i = 0; i < channels.size(); ++i) out.push_back({channels[i].name, channels[i].unit(), {Probe::Of::channel, static_cast<int>(i)}});
    return out;
}

std::vector<Known> matching(const std::vector<Known>& all, const std::vector<std::string>& patterns) {
    std::vector<char> taken(all.size(), patterns.empty());
    for (const std::string& pattern : patterns) {
        bool any = false;
        for (std::size_t i = 0; i < all.size(); ++i)
            if (fnmatch(pattern.c_str(), all[i].name.c_str(), 0) == 0) taken[i] = any = true;
        if (!any) throw std::runtime_error("no node, no signal and no channel matches '" + pattern + "'; " + offered(all, pattern));
    }
    std::vector<Known> out;
    for (std::size_t i = 0; i < all.size(); ++i)
        if (taken[i] != 0) out.push_back(all[i]);
    return out;
}

std::vector<std::string> probe_names(const Network& net, const std::vector<std::string>& names) {
    const auto pattern = [](const std::string& name) { return name.find_first_of("*?[") != std::string::npos; };
    if (std::none_of(names.begin(), names.end(), pattern)) return names;
    const std::vector<Known> all = known(net);
    std::vector<std::string> out;
    for (const std::string& name : names) {
        const bool there = !pattern(name) || std::any_of(all.begin(), all.end(), [&](const Known& k) { return k.name == name; });
        if (there) out.push_back(name);
        else
            for (const Known& k : matching(all, {name})) out.push_back(k.name);
    }
    return out;
}

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
            throw std::runtime_error("--probe: there is no node, no signal and no channel '" + name + "'; " + offered(known(net), name));
    }
    return out;
}

Observed::Observed(const Network& net, const Decomposition& parts, const Engine& engine, std::vector<Probe> probes)
    : probes_(std::move(probes)), channels_(take_channels(probes_)), outputs_(net, parts, engine, channels_) {
    for (Probe& p : probes_) p.owned = p.of == Probe::Of::channel ? outputs_.owns(static_cast<std::size_t>(p.number))
                                       : p.of == Probe::Of::signal ? engine.owns_signal(p.number) : engine.owns(p.number);
}

double Observed::value(const Engine& engine, const Probe& p) const {
    if (!p.owned) return 0;
    if (p.of == Probe::Of::channel) return outputs_.value(static_cast<std::size_t>(p.number));
    return p.of == Probe::Of::signal ? engine.signal(p.number) : engine.voltage(p.number);
}

void Observed::resume(const Snapshot& snapshot) {
    for (std::size_t k = 0; k < channels_.size(); ++k) {
        if (Archive none; !outputs_.visit(k, none)) continue;
        if (!snapshot.recall(channels_[k], [&](Archive& archive) { outputs_.visit(k, archive); }))
            throw std::runtime_error("an energy is a sum over all steps, but the snapshot has no sum for channel " + std::to_string(channels_[k]) +
                                     ": give the same --probe and --channels to the run that writes the snapshot, from its beginning");
    }
}

Keepsakes energies(const std::vector<Observed*>& all) {
    Keepsakes out;
    for (Observed* observed : all)
        for (std::size_t k = 0; k < observed->channels_.size(); ++k) {
            const int number = observed->channels_[k];
            const bool kept = std::find(out.numbers.begin(), out.numbers.end(), number) != out.numbers.end();
            if (Archive none; !kept && observed->outputs_.visit(k, none)) out.numbers.push_back(number);
        }
    out.keep = [all](int number, Archive& archive) {
        for (Observed* observed : all) {
            const auto k = std::find(observed->channels_.begin(), observed->channels_.end(), number) - observed->channels_.begin();
            if (static_cast<std::size_t>(k) < observed->channels_.size() && observed->outputs_.visit(static_cast<std::size_t>(k), archive)) return;
        }
    };
    return out;
}

Probes::Probes(const Mpi& mpi, const Network& net, const Decomposition& parts, const Engine& engine, const RunOptions& o)
    : mpi_(mpi), options_(o), dt_s_(net.dt_s), observed_(net, parts, engine, find_probes(net, o.probes)) {
    if (o.probes.empty() || mpi.rank != 0) return;
    std::string head = "time";
    for (const std::string& name : o.probes) head += ',' + csv_cell(name);
    file_.emplace(o.csv_path).add(head + '\n');
}

bool Probes::take(const Engine& engine) {
    observed_.observe(engine);
    if (engine.steps() % options_.csv_every != 0) return false;
    if (steps_.empty()) values_.reserve(kBuffered + options_.probes.size());
    steps_.push_back(engine.steps());
    for (const Probe& p : observed_.probes()) values_.push_back(observed_.value(engine, p));
    if (values_.size() < kBuffered) return false;
    flush();
    return true;
}

void Probes::flush() {
    const double start = clock_s();
    const std::uint64_t ticks = Ticks::now();
    const std::size_t columns = options_.probes.size();
    // Sums in parts, because MPI counts with an int and a row may have many columns.
    for (std::size_t begin = 0; begin < values_.size(); begin += kBuffered) {
        const auto count = static_cast<int>(std::min(kBuffered, values_.size() - begin));
        double* const part = values_.data() + begin;
        MPI_Reduce(mpi_.rank == 0 ? MPI_IN_PLACE : part, part, count, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    }
    if (mpi_.rank == 0) {
        std::string text;
        char number[40];
        for (std::size_t i = 0; i < steps_.size(); ++i) {
            std::snprintf(number, sizeof number, "%.12g", static_cast<double>(steps_[i]) * dt_s_);
            text += number;
            for (std::size_t k = 0; k < columns; ++k) {
                std::snprintf(number, sizeof number, ",%.17g", values_[i * columns + k]);
                text += number;
            }
            text += '\n';
        }
        file_->add(text);
    }
    values_.clear();
    steps_.clear();
    io_s_ += clock_s() - start;
    last_write_ticks_ = Ticks::now() - ticks;
}

void Probes::finish() {
    if (options_.probes.empty()) return;
    flush();
    if (file_) file_->appear(false);
}

}  // namespace emt
