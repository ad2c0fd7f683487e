#include "pairs/sampled_sweep.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <limits>
#include <memory>
#include <span>
#include <stdexcept>
#include <system_error>

#include "common/files.hpp"
#include "common/heartbeat.hpp"
#include "pairs/crc32.hpp"

namespace measure::pairs {

namespace {

// Rounds gathered at once, between rounds, when no measurement runs.
constexpr int kRoundsAtOnce = 16;
constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

struct Record {
    std::uint32_t first, second;
    float latency_us, to_second_mbps, to_first_mbps;
    std::uint32_t sent, lost, messages, wrong_messages;
};
static_assert(sizeof(Record) == 36 && std::endian::native == std::endian::little);

std::uint32_t counted(double count) {
    return static_cast<std::uint32_t>(std::min(count, 4294967295.0));
}

// A file that is complete or absent, written piece by piece.
class Pieces {
  public:
    explicit Pieces(std::filesystem::path path) : path_(std::move(path)), unfinished_(path_.string() + ".part") {
        make_anew(unfinished_);
        file_.open(unfinished_, std::ios::binary);
        require();
    }
    void add(const std::vector<Record>& records) {
        const auto bytes = std::as_bytes(std::span(records));
        crc32_.add(bytes);
        file_.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
        require();
    }
    std::uint32_t finish() {
        file_.close();
        require();
        std::filesystem::rename(unfinished_, path_);
        return crc32_.value();
    }

  private:
    void require() const {
        if (!file_) {
            const std::error_code why(errno, std::generic_category());
            throw std::runtime_error("cannot write " + unfinished_.string() + ": " + why.message());
        }
    }

    std::filesystem::path path_, unfinished_;
    std::ofstream file_;
    Crc32 crc32_;
};

// Combines the figures of both nodes' ranks; `of(rank)` returns the figures that this rank measured in the round.
template <typename FiguresOf>
Record combined(const Pair& pair, const Layout& layout, const FiguresOf& of) {
    PairFigures figures{pair, kNothing, 0, 0, 0, 0};
    double sent = 0, lost = 0;
    for (const bool first : {true, false}) {
        for (const int rank : layout.ranks[static_cast<std::size_t>(first ? pair.first : pair.second)]) {
            const OwnFigures& own = of(rank);
            figures.latency_us = std::fmax(figures.latency_us, own.latency_us);
            (first ? figures.to_second_mbps : figures.to_first_mbps) += own.bandwidth_mbps;
            figures.messages += own.messages;
            figures.wrong_messages += own.wrong_messages;
            sent += own.packets_sent;
            lost += own.packets_lost;
        }
    }
    return {static_cast<std::uint32_t>(pair.first), static_cast<std::uint32_t>(pair.second),
            static_cast<float>(figures.latency_us), static_cast<float>(figures.to_second_mbps),
            static_cast<float>(figures.to_first_mbps), counted(sent), counted(lost), counted(figures.messages),
            counted(figures.wrong_messages)};
}

int partner_in(const std::vector<Pair>& pairs, int node) {
    for (const Pair& pair : pairs) {
        if (pair.first == node || pair.second == node) {
            return pair.first == node ? pair.second : pair.first;
        }
    }
    return node;
}

}  // namespace

Samples measure_samples(Sweep& sweep, const World& world, const Layout& layout, const SampledSchedule& schedule,
                        const std::filesystem::path& file) {
    static_assert(sizeof(OwnFigures) == 6 * sizeof(double));
    const bool leads = world.rank() == 0;
    Samples samples{};
    std::unique_ptr<Pieces> pieces = leads ? std::make_unique<Pieces>(file) : nullptr;
    for (int begin = 0; begin < schedule.rounds(); begin += kRoundsAtOnce) {
        const int end = std::min(begin + kRoundsAtOnce, schedule.rounds());
        const auto count = static_cast<std::size_t>(end - begin);
        std::vector<OwnFigures> own;
        std::vector<std::vector<Pair>> pairs_of_round;
        for (int number = begin; number < end; ++number) {
            pairs_of_round.push_back(schedule.round(number));
            const std::vector<Pair>& pairs = pairs_of_round.back();
            const double seconds = sweep.run(pairs);
            own.push_back(sweep.take(partner_in(pairs, layout.own_node)));
            samples.rounds.push_back({pairs.size(), seconds});
            if (leads) {
                std::fprintf(stderr, "round %d of %d, %s: %.3f s\n", number + 1, schedule.rounds(),
                             number < schedule.rounds_within() ? "within leaf switches" : "random pairs", seconds);
            }
        }
        heartbeat::phase(kPatience_s, "gathers the figures");
        std::vector<OwnFigures> all(leads ? count * static_cast<std::size_t>(world.size()) : 0);
        const auto doubles = static_cast<int>(6 * count);
        MPI_Gather(own.data(), doubles, MPI_DOUBLE, all.data(), doubles, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        for (std::size_t round = 0; leads && round < count; ++round) {
            std::vector<Record> records;
            for (const Pair& pair : pairs_of_round[round]) {
                const Record record = combined(pair, layout, [&](int rank) -> const OwnFigures& {
                    return all[static_cast<std::size_t>(rank) * count + round];
                });
                records.push_back(record);
                samples.figures.push_back({pair, record.latency_us, record.to_second_mbps, record.to_first_mbps});
            }
            pieces->add(records);
        }
    }
    if (leads) {
        samples.crc32 = pieces->finish();
    }
    return samples;
}

}  // namespace measure::pairs
