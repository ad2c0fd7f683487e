#include "pairs/sweep_all.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "common/figures.hpp"
#include "common/heartbeat.hpp"
#include "pairs/packet_counters.hpp"

namespace measure::pairs {

namespace {

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

std::vector<double> gathered(const std::vector<double>& own, const World& world) {
    std::vector<double> all(world.rank() == 0 ? own.size() * static_cast<std::size_t>(world.size()) : 0);
    const int count = static_cast<int>(own.size());
    MPI_Gather(own.data(), count, MPI_DOUBLE, all.data(), count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    return all;
}

}  // namespace

Sweep::Sweep(const World& world, const Layout& layout, const Settings& settings)
    : world_(world),
      layout_(layout),
      seconds_(settings.seconds),
      measurement_(settings, world.rank()),
      latency_us_(layout.nodes.size(), kNothing),
      bandwidth_mbps_(layout.nodes.size(), kNothing),
      packets_sent_(layout.nodes.size(), 0),
      packets_lost_(layout.nodes.size(), 0),
      messages_(layout.nodes.size(), 0),
      wrong_messages_(layout.nodes.size(), 0) {}

double Sweep::run(const std::vector<Pair>& pairs) {
    const int own = layout_.own_node;
    const auto mine = std::find_if(pairs.begin(), pairs.end(),
                                   [own](const Pair& pair) { return pair.first == own || pair.second == own; });
    const bool plays = mine != pairs.end();
    const bool leads = plays && mine->first == own;
    const int other = plays ? (leads ? mine->second : mine->first) : 0;
    const int partner = plays ? layout_.partner(other) : 0;
    const auto column = static_cast<std::size_t>(other);
    const bool counts = plays && layout_.own_slot == 0;

    world_.barrier();
    const PacketCounters before = counts ? read_packet_counters() : PacketCounters{};
    const double start = MPI_Wtime();
    const auto begin = [&](const char* what) {
        if (plays) {
            heartbeat::phase(kPatience_s + 2 * seconds_, what + layout_.nodes[column]);
        }
    };
    // Barriers between the three parts, so that all pairs do the same at the same time.
    begin("latency with ");
    if (leads) {
        latency_us_[column] = std::fmin(latency_us_[column], measurement_.lead_latency(partner));
    } else if (plays) {
        measurement_.follow_latency(partner);
    }
    world_.barrier();
    for (const bool sends : {leads, !leads}) {
        begin(sends ? "bandwidth to " : "bandwidth from ");
        if (plays && sends) {
            bandwidth_mbps_[column] = std::fmax(bandwidth_mbps_[column], measurement_.send_bandwidth(partner));
        } else if (plays) {
            measurement_.receive_bandwidth(partner);
        }
        world_.barrier();
    }
    if (plays) {
        const Payloads payloads = measurement_.take_payloads();
        messages_[column] += payloads.messages;
        wrong_messages_[column] += payloads.wrong;
    }
    if (counts) {
        const PacketCounters passed = read_packet_counters().since(before);
        packets_sent_[column] += static_cast<double>(passed.sent);
        packets_lost_[column] += static_cast<double>(passed.lost);
    }
    return MPI_Wtime() - start;
}

Matrices Sweep::collect() {
    heartbeat::phase(kPatience_s, "gathers the figures");
    const std::size_t nodes = layout_.nodes.size();
    const auto latency = gathered(latency_us_, world_);
    const auto bandwidth = gathered(bandwidth_mbps_, world_);
    const auto sent = gathered(packets_sent_, world_);
    const auto lost = gathered(packets_lost_, world_);
    const auto messages = gathered(messages_, world_);
    const auto wrong = gathered(wrong_messages_, world_);
    std::fill(latency_us_.begin(), latency_us_.end(), kNothing);
    std::fill(bandwidth_mbps_.begin(), bandwidth_mbps_.end(), kNothing);
    std::fill(packets_sent_.begin(), packets_sent_.end(), 0);
    std::fill(packets_lost_.begin(), packets_lost_.end(), 0);
    if (world_.rank() != 0) {
        return {};
    }
    Matrices matrices{std::vector<double>(nodes * nodes, kNothing), std::vector<double>(nodes * nodes, kNothing),
                      std::vector<double>(nodes * nodes, 0), std::vector<double>(nodes * nodes, 0),
                      std::vector<double>(nodes * nodes, 0), std::vector<double>(nodes * nodes, 0)};
    for (std::size_t row = 0; row < nodes; ++row) {
        for (const int rank : layout_.ranks[row]) {
            for (std::size_t column = 0; column < nodes; ++column) {
                const std::size_t from = static_cast<std::size_t>(rank) * nodes + column;
                if (!std::isnan(latency[from])) {
                    double& there = matrices.latency_us[row * nodes + column];
                    there = std::fmax(there, latency[from]);
                    matrices.latency_us[column * nodes + row] = there;
                }
                if (!std::isnan(bandwidth[from])) {
                    double& there = matrices.bandwidth_mbps[row * nodes + column];
                    there = (std::isnan(there) ? 0 : there) + bandwidth[from];
                }
                matrices.packets_sent[row * nodes + column] += sent[from];
                matrices.packets_lost[row * nodes + column] += lost[from];
                matrices.messages[row * nodes + column] += messages[from];
                matrices.wrong_messages[row * nodes + column] += wrong[from];
            }
        }
    }
    return matrices;
}

OwnFigures Sweep::take(int partner) {
    const auto column = static_cast<std::size_t>(partner);
    return {std::exchange(latency_us_[column], kNothing),  std::exchange(bandwidth_mbps_[column], kNothing),
            std::exchange(packets_sent_[column], 0),       std::exchange(packets_lost_[column], 0),
            std::exchange(messages_[column], 0),           std::exchange(wrong_messages_[column], 0)};
}

std::vector<PairFigures> Sweep::take(const std::vector<Pair>& pairs) {
    heartbeat::phase(kPatience_s, "gathers the figures");
    constexpr std::size_t kSums = 4;  // there, back, messages, wrong messages
    std::vector<double> latencies(pairs.size(), -1), sums(kSums * pairs.size(), 0);
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        const bool first = pairs[i].first == layout_.own_node;
        if (!first && pairs[i].second != layout_.own_node) {
            continue;
        }
        const OwnFigures own = take(first ? pairs[i].second : pairs[i].first);
        latencies[i] = std::isnan(own.latency_us) ? -1 : own.latency_us;
        sums[kSums * i + (first ? 0 : 1)] = own.bandwidth_mbps;
        sums[kSums * i + 2] = own.messages;
        sums[kSums * i + 3] = own.wrong_messages;
    }
    const bool whole = world_.rank() == 0;
    const auto reduce = [whole](std::vector<double>& values, MPI_Op operation) {
        const auto count = static_cast<int>(values.size());
        MPI_Reduce(whole ? MPI_IN_PLACE : values.data(), values.data(), count, MPI_DOUBLE, operation, 0, MPI_COMM_WORLD);
    };
    reduce(latencies, MPI_MAX);
    reduce(sums, MPI_SUM);
    std::vector<PairFigures> found;
    for (std::size_t i = 0; whole && i < pairs.size(); ++i) {
        const double* const sum = &sums[kSums * i];
        found.push_back({pairs[i], latencies[i], sum[0], sum[1], sum[2], sum[3]});
    }
    return found;
}

std::vector<PairFigures> figures_of_pairs(const Matrices& matrices, int nodes) {
    std::vector<PairFigures> figures;
    for (int i = 0; i < nodes; ++i) {
        for (int j = i + 1; j < nodes; ++j) {
            const auto there = static_cast<std::size_t>(i * nodes + j);
            const auto back = static_cast<std::size_t>(j * nodes + i);
            figures.push_back({{i, j}, matrices.latency_us[there], matrices.bandwidth_mbps[there], matrices.bandwidth_mbps[back]});
        }
    }
    return figures;
}

std::vector<Pair> outstanding(const std::vector<PairFigures>& figures, double share, std::size_t most) {
    if (figures.empty()) {
        return {};
    }
    const auto slower = [](const PairFigures& each) { return std::min(each.to_second_mbps, each.to_first_mbps); };
    std::vector<double> latencies, bandwidths;
    for (const PairFigures& each : figures) {
        latencies.push_back(each.latency_us);
        bandwidths.push_back(slower(each));
    }
    const double latency = median(std::move(latencies));
    const double bandwidth = median(std::move(bandwidths));
    std::vector<std::pair<double, Pair>> worse;
    for (const PairFigures& each : figures) {
        const double factor = std::max(each.latency_us / latency, bandwidth / slower(each));
        if (factor * share > 1) {
            worse.emplace_back(factor, each.pair);
        }
    }
    std::stable_sort(worse.begin(), worse.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    std::vector<Pair> pairs;
    for (const auto& [factor, pair] : worse) {
        const auto same = [&pair](const Pair& other) { return other.first == pair.first && other.second == pair.second; };
        if (pairs.size() < most && std::none_of(pairs.begin(), pairs.end(), same)) {
            pairs.push_back(pair);
        }
    }
    return pairs;
}

}  // namespace measure::pairs
