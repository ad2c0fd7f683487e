// Channels of elements over time, read from the batches after each step: network/channels.hpp says what there is.
#pragma once
#include <functional>
#include <vector>

#include "parallel/engine.hpp"

namespace emt {

class Outputs {
public:
    /// Channels by their numbers; those of tasks on other ranks stay zero.
    Outputs(const Network& net, const Decomposition& parts, const Engine& engine, const std::vector<int>& channels);
    /// Call after every step, and once before the first: energies are sums over all steps.
    void observe(const Engine& engine);
    /// Of the k-th channel asked for, at the last call of observe().
    [[nodiscard]] double value(std::size_t k) const { return all_[k].value; }
    /// What the k-th has summed up, written or read back; false when there is nothing: it is no energy, or on another rank.
    bool visit(std::size_t k, Archive& archive);
    /// Whether its task is on this rank.
    [[nodiscard]] bool owns(std::size_t k) const { return !all_[k].sum.empty(); }

private:
    struct Sample {
        double current = 0, argument = 0, voltage = 0;  // A; V, Wb or 1 of a closed switch; V
    };
    using Read = std::function<Sample(const Batch&, const LaneNow&)>;
    struct Output {
        Channel::Quantity quantity;
        int task;
        std::vector<std::pair<double, Read>> sum;  // weight and what is read
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
