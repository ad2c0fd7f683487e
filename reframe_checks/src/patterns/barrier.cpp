// Barrier by puts of one word and polling, by the ring or by recursive doubling (NSIM-ACE 4.2).
//
// The time of a barrier is the longest of all ranks from entry to exit, all entering together. Over `iterations`
// barriers (100 in the paper), the minimum is the paper's figure, and the median is the cost for a program.
//
// First, the program proves that it is a barrier: one rank comes late. It announces this to every rank by a put that is
// complete before it enters. A rank that leaves without this word left too early.

#include <algorithm>
#include <stdexcept>

#include "common/split_mix.hpp"
#include "patterns/patterns.hpp"
#include "patterns/put_barrier.hpp"

namespace measure::patterns {
namespace {

// The others have left long ago, if the barrier lets them.
constexpr double kLate_s = 2e-3;

void require_that_all_wait(const Run& run, PutBarrier& barrier) {
    std::vector<int> late_ranks = {run.size() / 2, 0, run.size() - 1};
    if (kSimulated) {
        late_ranks.resize(1);  // a barrier of many ranks takes a minute there
    }
    std::sort(late_ranks.begin(), late_ranks.end());
    late_ranks.erase(std::unique(late_ranks.begin(), late_ranks.end()), late_ranks.end());
    std::vector<int> others;
    for (int rank = 0; rank < run.size(); ++rank) {
        if (rank != run.rank() && std::find(late_ranks.begin(), late_ranks.end(), run.rank()) != late_ranks.end()) {
            others.push_back(rank);
        }
    }
    Words entered(run, late_ranks.size(), others);
    for (std::size_t i = 0; i < late_ranks.size(); ++i) {
        const std::uint64_t mark = mixed(i);
        run.start_together();
        if (late_ranks[i] == run.rank()) {
            nap(kLate_s);
            for (const int other : others) {
                entered.put(mark, other, i);
            }
            entered.complete();
        }
        barrier.wait();
        const bool early = late_ranks[i] != run.rank() && entered.look(i) != mark;
        barrier.complete();
        if (early) {
            throw std::runtime_error("left the barrier before rank " + std::to_string(late_ranks[i]) + " had entered it");
        }
    }
    run.start_together();
}

}  // namespace

void barrier(const Run& run, const Barrier& options) {
    PutBarrier barrier(run, options.algorithm == "ring" ? BarrierKind::ring : BarrierKind::recursive_doubling);
    require_that_all_wait(run, barrier);
    std::vector<double> seconds;
    for (int iteration = 0; iteration < run.options().iterations; ++iteration) {
        run.start_together();
        const double start = now();
        barrier.wait();
        seconds.push_back(now() - start);
        barrier.complete();
    }
    run.write({{"algorithm", options.algorithm}, {"iterations", seconds.size()}, {"times_us", run.longest_us(seconds)}});
}

}  // namespace measure::patterns
