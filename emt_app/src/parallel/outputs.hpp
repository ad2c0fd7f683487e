// Channels of elements over time, read from the batches after each step; network/channels.hpp describes them.
#pragma once
#include <functional>
#include <vector>

#include "parallel/engine.hpp"

namespace emt {

class Outputs {
public:
    /// `channels`: numbers of channels; channels of tasks on other ranks stay zero.
    Outputs(const Network& net, const Decomposition& parts, const Engine& engine, const std::vector<int>& channels);
    /// Reads the channels. Call it after every step, and once before the first: energies are sums over all steps.
    void observe(const Engine& engine);
    /// Returns the value of the k-th requested channel at the last call of observe().
    [[nodiscard]] double value(std::size_t k) const { return all_[k].value; }
    /// Writes or reads back the k-th channel's sum; returns false without one: it is no energy, or on another rank.
    bool visit(std::size_t k, Archive& archive);
    /// Returns true if its task is on this rank.
    [[nodiscard]] bool owns(std::size_t k) const { return !all_[k].sum.empty(); }

private:
    struct Sample {
        double current = 0, argument = 0, voltage = 0;  // A; V, Wb or 1 of a closed switch; V
    };
    using Read = std::function<Sample(const Batch&, const LaneNow&)>;
    struct Output {
        Channel::Quantity quantity;
        int task;
        std::vector<std::pair<double, Read>> sum;  // weight and reader
        Sample last;
        double value = 0;
    };

    const Network& net_;
    const Decomposition& parts_;
    std::vector<Output> all_;
    bool begun_ = false;

    [[nodiscard]] std::pair<int, Read> find(const Carried& carried) const;
};

}  // namespace emt
