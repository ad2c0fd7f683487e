#include "commands/live_signals.hpp"

namespace emt {

LiveSignals::LiveSignals(const Mpi& mpi, const Network& net, const Decomposition& parts, const std::string& path) : net_(net), parts_(parts) {
    std::vector<std::string> names;
    const auto offer = [&](Offered::Of of, int number, const std::string& name) {
        offered_.push_back({of, number});
        if (mpi.rank == 0) names.push_back(name);
    };
    for (int i = 0; i < net.nodes(); ++i) offer(Offered::Of::node, i, net.node_names[static_cast<std::size_t>(i)]);
    for (int i = 0; i < net.signals.count(); ++i)
        if (net.signals.made(i)) offer(Offered::Of::signal, i, net.signals.all()[static_cast<std::size_t>(i)].name);
    const std::vector<Channel>& channels = net.channels.all();
    for (std::size_t i = 0; i < channels.size(); ++i)
        if (channels[i].quantity != Channel::Quantity::energy) offer(Offered::Of::channel, static_cast<int>(i), channels[i].name);
    std::string failure;
    try {
        board_.emplace(MPI_COMM_WORLD);
        if (mpi.rank == 0) server_ = std::make_unique<LiveServer>(path, *board_, std::move(names), net.dt_s);
    } catch (const std::exception& e) {
        failure = e.what();
    }
    agree(mpi, failure);
}

void LiveSignals::take_order(const Engine& engine) {
    order_ = board_->wanted();
    seen_ = order_.generation;
    std::vector<int> channels;
    for (const std::uint32_t s : order_.signals)
        if (const Offered& o = offered_[s]; o.of == Offered::Of::channel) channels.push_back(o.number);
    outputs_.emplace(net_, parts_, engine, channels);
    values_.assign(order_.signals.size(), 0);
}

void LiveSignals::put(const Engine& engine) {
    std::size_t channel = 0;
    if (outputs_) outputs_->observe(engine);
    for (std::size_t k = 0; k < values_.size(); ++k) {
        const Offered& o = offered_[order_.signals[k]];
        if (o.of == Offered::Of::channel)
            values_[k] = outputs_->value(channel++);
        else if (o.of == Offered::Of::node ? engine.owns(o.number) : engine.owns_signal(o.number))
            values_[k] = o.of == Offered::Of::node ? engine.voltage(o.number) : engine.signal(o.number);
    }
    board_->put(order_.generation, engine.steps(), values_);
}

void LiveSignals::end(nlohmann::json& result) {
    if (!server_) return;
    server_->stop();
    const LiveServer::Counts& c = server_->counts();
    result["live"] = {{"readers", c.readers}, {"refused", c.refused}, {"frames", c.frames}, {"dropped", c.dropped}};
}

}  // namespace emt
