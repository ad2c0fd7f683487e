// The signals of a running simulation for `emt run --live`: node voltages, signals, and currents and fluxes of
// elements. It does not offer energies, because they are sums over all steps.
#pragma once
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "commands/ranks.hpp"
#include "live/server.hpp"
#include "parallel/outputs.hpp"

namespace emt {

class LiveSignals {
public:
    /// Collective; ends the run on all ranks if the socket cannot be opened.
    LiveSignals(const Mpi& mpi, const Network& net, const Decomposition& parts, const std::string& path);
    /// Call after each step.
    void publish(const Engine& engine) {
        if (const std::uint64_t now = board_->generation(); now != seen_ && now % 2 == 0) take_order(engine);
        if (!order_.signals.empty() && engine.steps() % order_.every == 0) put(engine);
    }
    /// Ends the stream for the readers, and adds the counts to the result on rank 0.
    void end(nlohmann::json& result);

private:
    struct Offered {
        enum class Of { node, signal, channel } of;
        int number;
    };
    void take_order(const Engine& engine);
    void put(const Engine& engine);

    const Network& net_;
    const Decomposition& parts_;
    std::vector<Offered> offered_;
    std::optional<Board> board_;
    std::unique_ptr<LiveServer> server_;
    std::uint64_t seen_ = 0;
    Wanted order_;
    std::optional<Outputs> outputs_;
    std::vector<double> values_;
};

}  // namespace emt
