// Exchange of particles after a domain decomposition (NSIM-ACE 4.3): irregular puts, most of them to neighbours in space.
//
// Model: `drawn` particles, half of them anywhere in a unit cube and half in eight clumps. Orthogonal recursive
// bisection gives each rank a domain with the same number of particles, cutting across each axis in turn. Then each
// clump, and each particle outside of clumps, drifts by a normal deviate of `drift` in every direction. Particles of a
// clump also drift by 0.3 of that among themselves. The domains are computed again, and each rank sends particles that
// left its domain to their new rank. A drawn particle stands for `record_bytes` of the particles around it. The seed
// determines everything. With the defaults the largest put is 2.1 MB at 32 ranks and 0.76 MB at 128; in the paper 2.1
// and 0.79 MB.
//
// Barrier `before`: all ranks enter it (recursive doubling by puts). Then each packs for one receiver after the other,
// and puts each packed block at once. `after`: each packs for all receivers, enters the barrier, then puts. When the
// puts are complete, each receiver gets a word; t ends when the words of all senders have arrived. The pack time is the
// packing alone. The put time is the time from start to end less packing. Each is the longest of all ranks in the
// iteration; the iteration with the best total time counts. Packing copies records in an irregular order; in a
// simulation it takes bytes / `pack_gb_s` instead. Without traffic inside nodes, all records are packed, but data that
// stays in a node is not put.

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <numeric>
#include <stdexcept>

#include "common/payload.hpp"
#include "common/split_mix.hpp"
#include "patterns/patterns.hpp"
#include "patterns/put_barrier.hpp"

namespace measure::patterns {
namespace {

using Point = std::array<float, 3>;
constexpr std::size_t kClumps = 8;
constexpr double kClumpWidth = 0.08;
constexpr double kOwnShare = 0.3;
constexpr std::uint64_t kFirstSeed = 3;  // gives puts of about the paper's sizes with seed 1

// Applies to every second particle.
std::uint64_t clump_of(std::size_t particle) { return (particle / 2) % kClumps; }

// Returns a number from 0 to below 1, spread evenly, for a particle's number.
double even(std::uint64_t seed, std::uint64_t number) {
    return static_cast<double>(mixed(seed * 0x2545f4914f6cdd1dULL + number) >> 11U) * 0x1p-53;
}

double normal(std::uint64_t seed, std::uint64_t number) {
    return std::sqrt(-2 * std::log(1 - even(seed, 2 * number))) * std::cos(2 * std::numbers::pi * even(seed, 2 * number + 1));
}

std::vector<Point> drawn_points(std::uint64_t seed, int count) {
    std::vector<Point> points(at(count));
    for (std::size_t i = 0; i < points.size(); ++i) {
        for (std::size_t axis = 0; axis < 3; ++axis) {
            const std::uint64_t number = 3 * i + axis;
            const double place = i % 2 == 0 ? even(seed, number)
                                            : 0.2 + 0.6 * even(seed + 1, 3 * clump_of(i) + axis) + kClumpWidth * normal(seed + 2, number);
            points[i][axis] = static_cast<float>(place);
        }
    }
    return points;
}

// Gives the points of `indices` to the ranks from `first` on, cutting across each axis in turn.
void bisect(const std::vector<Point>& points, std::span<int> indices, int first, int ranks, std::size_t axis,
            std::vector<int>& owner) {
    if (ranks == 1) {
        for (const int index : indices) {
            owner[at(index)] = first;
        }
        return;
    }
    const int half = ranks / 2;
    const auto cut = indices.size() * at(half) / at(ranks);
    std::nth_element(indices.begin(), indices.begin() + static_cast<std::ptrdiff_t>(cut), indices.end(), [&](int a, int b) {
        return points[at(a)][axis] != points[at(b)][axis] ? points[at(a)][axis] < points[at(b)][axis] : a < b;
    });
    bisect(points, indices.first(cut), first, half, (axis + 1) % 3, owner);
    bisect(points, indices.subspan(cut), first + half, ranks - half, (axis + 1) % 3, owner);
}

std::vector<int> owners(const std::vector<Point>& points, int ranks) {
    std::vector<int> indices(points.size());
    std::iota(indices.begin(), indices.end(), 0);
    std::vector<int> owner(points.size());
    bisect(points, indices, 0, ranks, 0, owner);
    return owner;
}

struct Transfer {
    int sender;
    int receiver;
    int records;
};

// Transfers of all ranks, in the order of senders and receivers.
std::vector<Transfer> transfers(const Run& run, const Particles& options) {
    std::vector<Transfer> all;
    if (run.rank() == 0) {
        const std::uint64_t seed = run.options().seed + kFirstSeed;
        std::vector<Point> points = drawn_points(seed, options.drawn);
        const std::vector<int> before = owners(points, run.size());
        for (std::size_t i = 0; i < points.size(); ++i) {
            for (std::size_t axis = 0; axis < 3; ++axis) {
                const double own = normal(seed + 3, 3 * i + axis);
                const double clump = normal(seed + 4, 3 * clump_of(i) + axis);
                points[i][axis] += static_cast<float>(options.drift * (i % 2 == 0 ? own : clump + kOwnShare * own));
            }
        }
        const std::vector<int> after = owners(points, run.size());
        const std::size_t ranks = at(run.size());
        std::vector<int> records(ranks * ranks);
        for (std::size_t i = 0; i < points.size(); ++i) {
            ++records[at(before[i]) * ranks + at(after[i])];
        }
        for (int sender = 0; sender < run.size(); ++sender) {
            for (int receiver = 0; receiver < run.size(); ++receiver) {
                const int count = records[at(sender) * ranks + at(receiver)];
                if (sender != receiver && count > 0) {
                    all.push_back({sender, receiver, count});
                }
            }
        }
    }
    auto count = static_cast<int>(all.size());
    run.waits_for("the decomposition of rank 0");
    MPI_Bcast(&count, 1, MPI_INT, 0, MPI_COMM_WORLD);
    all.resize(at(count));
    static_assert(sizeof(Transfer) == 3 * sizeof(int));
    MPI_Bcast(all.data(), 3 * count, MPI_INT, 0, MPI_COMM_WORLD);
    run.waits_no_more();
    if (all.empty()) {
        throw std::runtime_error("no particle left its domain: use a larger --drawn or --drift");
    }
    return all;
}

// A block that this rank puts or receives: its place in the sender's and in the receiver's memory, and the receiver's
// word that announces it.
struct Part {
    int sender;
    int receiver;
    std::size_t bytes;
    std::size_t sent_at;
    std::size_t received_at;
    std::size_t word;
    bool put;
};

class Exchange {
  public:
    Exchange(const Run& run, const Particles& options) : run_(run), options_(options) {
        const std::size_t ranks = at(run.size());
        std::vector<std::size_t> sent(ranks);
        std::vector<std::size_t> received(ranks);
        std::vector<std::size_t> words(ranks);
        for (const Transfer& each : transfers(run, options)) {
            const bool put = options.within_nodes || run.node_of()[at(each.sender)] != run.node_of()[at(each.receiver)];
            const Part part{each.sender,
                            each.receiver,
                            at(each.records) * at(options.record_bytes),
                            sent[at(each.sender)],
                            received[at(each.receiver)],
                            words[at(each.receiver)],
                            put};
            sent[at(each.sender)] += part.bytes;
            received[at(each.receiver)] += part.bytes;
            words[at(each.receiver)] += 1;
            all_bytes_ += part.bytes;
            if (put) {
                put_bytes_ += part.bytes;
                puts_ += 1;
                largest_ = std::max(largest_, part.bytes);
            }
            if (part.sender == run.rank()) {
                outgoing_.push_back(part);
            } else if (part.receiver == run.rank()) {
                incoming_.push_back(part);
            }
        }
        packed_.resize(sent[at(run.rank())]);
        to_receive_ = received[at(run.rank())];
        if (!kSimulated) {
            store_.resize(packed_.size());
        }
    }

    [[nodiscard]] std::vector<int> receivers() const {
        std::vector<int> found;
        for (const Part& part : outgoing_) {
            if (part.put) {
                found.push_back(part.receiver);
            }
        }
        return found;
    }

    void run_all(std::vector<double>& total, std::vector<double>& pack) {
        PutBarrier barrier(run_, BarrierKind::recursive_doubling);
        Window window(run_, to_receive_, receivers());
        Words words(run_, incoming_.size(), receivers());
        for (int iteration = 0; iteration < run_.options().iterations; ++iteration) {
            prepare(iteration);
            const auto arrived = static_cast<std::uint64_t>(iteration) + 1;
            double packing = 0;
            run_.start_together();
            const double start = now();
            if (options_.barrier == "before") {
                barrier.wait();
                for (const Part& part : outgoing_) {
                    packing += pack_part(part);
                    put(window, part);
                }
            } else {
                for (const Part& part : outgoing_) {
                    packing += pack_part(part);
                }
                barrier.wait();
                for (const Part& part : outgoing_) {
                    put(window, part);
                }
            }
            window.complete();
            for (const Part& part : outgoing_) {
                if (part.put) {
                    words.put(arrived, part.receiver, part.word);
                }
            }
            for (const Part& part : incoming_) {
                if (part.put) {
                    words.wait(part.word, part.sender, arrived, arrived);
                }
            }
            total.push_back(now() - start);
            pack.push_back(packing);
            words.complete();
            barrier.complete();
            window.see_memory();
            for (const Part& part : incoming_) {
                if (part.put) {
                    require(part, window.memory().subspan(part.received_at, part.bytes), iteration);
                }
            }
        }
    }

    [[nodiscard]] json facts() const {
        return {{"puts", puts_}, {"put_bytes", put_bytes_}, {"packed_bytes", all_bytes_}, {"largest_put_bytes", largest_}};
    }

  private:
    // The order of real records in memory differs from the order of sending: of n records, the m-th lies at m * stride
    // mod n.
    [[nodiscard]] std::size_t stride(std::size_t records) const {
        std::size_t step = records / 3 * 2 + 1;
        while (std::gcd(step, records) != 1) {
            ++step;
        }
        return step;
    }

    void prepare(int iteration) {
        for (const Part& part : outgoing_) {
            const Label label{part.sender, part.receiver, iteration};
            const std::span<char> sent = std::span(kSimulated ? packed_ : store_).subspan(part.sent_at, part.bytes);
            fill(sent, label);
        }
    }

    double pack_part(const Part& part) {
        const double start = now();
        if constexpr (kSimulated) {
            nap(options_.pack_gb_s > 0 ? static_cast<double>(part.bytes) / (options_.pack_gb_s * 1e9) : 0);
        } else {
            const auto record = at(options_.record_bytes);
            const std::size_t records = part.bytes / record;
            const std::size_t step = stride(records);
            std::size_t from = 0;
            for (std::size_t i = 0; i < records; ++i, from = (from + step) % records) {
                std::copy_n(store_.data() + part.sent_at + from * record, record, packed_.data() + part.sent_at + i * record);
            }
        }
        return now() - start;
    }

    void put(const Window& window, const Part& part) {
        if (part.put) {
            window.put(std::span<const char>(packed_).subspan(part.sent_at, part.bytes), part.receiver, part.received_at);
        }
    }

    // Compares with the sender's records, in the order of packing.
    void require(const Part& part, std::span<const char> received, int iteration) const {
        const Label label{part.sender, part.receiver, iteration};
        if constexpr (kSimulated) {
            measure::require(received, label);
        } else {
            const auto record = at(options_.record_bytes);
            const std::size_t records = part.bytes / record;
            const std::size_t step = stride(records);
            std::vector<char> unpacked(part.bytes);
            std::size_t into = 0;
            for (std::size_t i = 0; i < records; ++i, into = (into + step) % records) {
                std::copy_n(received.data() + i * record, record, unpacked.data() + into * record);
            }
            measure::require(unpacked, label);
        }
    }

    const Run& run_;
    const Particles& options_;
    std::vector<Part> outgoing_;
    std::vector<Part> incoming_;
    std::vector<char> store_;
    std::vector<char> packed_;
    std::size_t to_receive_ = 0;
    std::size_t puts_ = 0;
    std::size_t put_bytes_ = 0;
    std::size_t all_bytes_ = 0;
    std::size_t largest_ = 0;
};

}  // namespace

void particles(const Run& run, const Particles& options) {
    Exchange exchange(run, options);
    std::vector<double> total;
    std::vector<double> pack;
    exchange.run_all(total, pack);
    std::vector<double> put;
    std::transform(total.begin(), total.end(), pack.begin(), std::back_inserter(put), std::minus<>());
    json facts = exchange.facts();
    facts.update({{"barrier", options.barrier},
                  {"within_nodes", options.within_nodes},
                  {"seed", run.options().seed},
                  {"drawn", options.drawn},
                  {"drift", options.drift},
                  {"record_bytes", options.record_bytes},
                  {"pack_gb_s", kSimulated ? json(options.pack_gb_s) : json()},
                  {"iterations", total.size()},
                  {"times_us", run.longest_us(total)},
                  {"pack_us", run.longest_us(pack)},
                  {"put_us", run.longest_us(put)}});
    run.write(facts);
}

}  // namespace measure::patterns
