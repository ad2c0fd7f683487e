// Collectives of the ranks of a node through a shared window (MPI_Win_allocate_shared) compared with MPI's own, and a
// table of splines once per node compared with a copy in each rank.
//
// Collectives, of each size: rank 1 broadcasts, rank 0 gathers, all ranks sum words of 64 bits (exact in any order). In
// the window every rank has two slots, used in turn, and counts of the last operation that it has written and that it
// no longer needs.
//   Broadcast: a copy into a slot, and a copy out of it by each rank that sees the count.
//   Gather: the same in the other direction.
//   Sum: all ranks write, each adds its part of all slots, and all copy the whole.
// A waiting rank yields the core. The time runs from a barrier to the end on the slowest rank; both ways alternate. All
// received data is compared.

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <new>
#include <stdexcept>

#include "mpi/measurements.hpp"
#include "mpi/shared_memory.hpp"

namespace measure::mpi {
namespace {

using Word = std::uint64_t;
using Epoch = std::int64_t;
using Flag = std::atomic<Epoch>;
static_assert(Flag::is_always_lock_free, "flags are shared by processes");

constexpr int kMpi = 0;
constexpr int kWays = 2;
constexpr int kRoot = 0;
constexpr int kSender = 1;
constexpr std::size_t kLine = 64;
constexpr Epoch kSlots = 2;
// Flags of a rank: the last operation whose part it has written, and the last one that it no longer needs.
constexpr std::size_t kWritten = 0;
constexpr std::size_t kDone = 1;
// Limit of the bytes that all ranks of a collective move in a repeat, so that large ones end.
constexpr double kMostBytes = 256.0 * (1 << 20);
const std::vector<std::string> kOperations = {"broadcast", "gather", "allreduce"};

// Each rank's part of the window: its flags, two slots, and two places for the sum, used on rank 0 only.
class Shared {
  public:
    Shared(const Run& run, std::size_t bytes)
        : run_(run), bytes_(bytes), slot_(rounded_up(bytes)), window_(kLine + 4 * slot_) {
        for (int rank = 0; rank < run.size(); ++rank) {
            parts_.push_back(window_.of(rank));
        }
        std::memset(parts_[at(run.rank())], 0, kLine + 4 * slot_);
        new (parts_[at(run.rank())]) Flag[2]{};
        window_.sync();
        MPI_Barrier(MPI_COMM_WORLD);
        window_.sync();
    }

    void broadcast(char* message) {
        ++epoch_;
        if (run_.rank() == kSender) {
            wait_for_all(kDone, epoch_ - kSlots);
            std::memcpy(slot_of(kSender), message, bytes_);
            tell(kWritten);
        } else {
            wait_for(kSender, kWritten, epoch_);
            std::memcpy(message, slot_of(kSender), bytes_);
        }
        tell(kDone);
    }
    void gather(const char* own, char* all) {
        ++epoch_;
        wait_for(kRoot, kDone, epoch_ - kSlots);
        std::memcpy(slot_of(run_.rank()), own, bytes_);
        tell(kWritten);
        if (run_.rank() == kRoot) {
            for (int rank = 0; rank < run_.size(); ++rank) {
                wait_for(rank, kWritten, epoch_);
                std::memcpy(all + at(rank) * bytes_, slot_of(rank), bytes_);
            }
        }
        tell(kDone);
    }
    void allreduce(const char* own, char* sums) {
        ++epoch_;
        std::memcpy(slot_of(run_.rank()), own, bytes_);
        tell(kWritten);
        wait_for_all(kWritten, epoch_);
        const std::size_t words = bytes_ / sizeof(Word);
        const std::size_t first = words * at(run_.rank()) / at(run_.size());
        const std::size_t end = words * (at(run_.rank()) + 1) / at(run_.size());
        Word* const sum = reinterpret_cast<Word*>(slot_of(kRoot) + 2 * slot_);
        std::fill(sum + first, sum + end, 0);
        for (int rank = 0; rank < run_.size(); ++rank) {
            const Word* const added = reinterpret_cast<const Word*>(slot_of(rank));
            for (std::size_t i = first; i < end; ++i) {
                sum[i] += added[i];
            }
        }
        tell(kDone);
        wait_for_all(kDone, epoch_);
        std::memcpy(sums, sum, bytes_);
    }

  private:
    static std::size_t rounded_up(std::size_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }
    [[nodiscard]] char* slot_of(int rank) const { return parts_[at(rank)] + kLine + at(static_cast<int>(epoch_ % kSlots)) * slot_; }
    [[nodiscard]] Flag& flag(int rank, std::size_t which) const {
        return std::launder(reinterpret_cast<Flag*>(parts_[at(rank)]))[which];
    }
    void tell(std::size_t which) { flag(run_.rank(), which).store(epoch_, std::memory_order_release); }
    void wait_for(int rank, std::size_t which, Epoch epoch) const {
        for (int spins = 0; flag(rank, which).load(std::memory_order_acquire) < epoch; ++spins) {
            if (spins >= 1000) {
                sched_yield();
            }
        }
    }
    void wait_for_all(std::size_t which, Epoch epoch) const {
        for (int rank = 0; rank < run_.size(); ++rank) {
            wait_for(rank, which, epoch);
        }
    }

    const Run& run_;
    std::size_t bytes_;
    std::size_t slot_;
    SharedMemory window_;
    std::vector<char*> parts_;
    Epoch epoch_ = 0;
};

void require_sums(const Run& run, const std::vector<char>& sums, int iteration, int part) {
    Word first = 0;
    for (int rank = 0; rank < run.size(); ++rank) {
        first += first_word({rank, run.size(), iteration, part});
    }
    const Word stride = kStride * static_cast<Word>(run.size());
    for (std::size_t i = 0; i < sums.size() / sizeof(Word); ++i, first += stride) {
        Word found = 0;
        std::memcpy(&found, sums.data() + i * sizeof(Word), sizeof found);
        if (found != first) {
            throw std::runtime_error("wrong payload: the sum of word " + std::to_string(i) + " in iteration " + std::to_string(iteration));
        }
    }
}

class Collective {
  public:
    Collective(const Run& run, std::string operation, int bytes)
        : run_(run), operation_(std::move(operation)), bytes_(bytes), own_(at(bytes)),
          all_(at(bytes) * (operation_ == "gather" && run.rank() == kRoot ? at(run.size()) : 1)), shared_(run, at(bytes)) {}

    double run(int way, int iteration) {
        const int part = way;
        const int rank = run_.rank();
        const bool broadcasts = operation_ == "broadcast";
        std::fill(all_.begin(), all_.end(), 0);
        if (!broadcasts || rank == kSender) {
            fill(broadcasts ? all_ : own_, {rank, run_.size(), iteration, part});
        }
        MPI_Barrier(MPI_COMM_WORLD);
        const double start = now();
        if (way == kMpi) {
            by_mpi();
        } else if (broadcasts) {
            shared_.broadcast(all_.data());
        } else if (operation_ == "gather") {
            shared_.gather(own_.data(), all_.data());
        } else {
            shared_.allreduce(own_.data(), all_.data());
        }
        const double seconds = now() - start;
        compare(iteration, part);
        return of_slowest(seconds);
    }

  private:
    void by_mpi() {
        if (operation_ == "broadcast") {
            MPI_Bcast(all_.data(), bytes_, MPI_BYTE, kSender, MPI_COMM_WORLD);
        } else if (operation_ == "gather") {
            MPI_Gather(own_.data(), bytes_, MPI_BYTE, all_.data(), bytes_, MPI_BYTE, kRoot, MPI_COMM_WORLD);
        } else {
            MPI_Allreduce(own_.data(), all_.data(), bytes_ / static_cast<int>(sizeof(Word)), MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
        }
    }
    void compare(int iteration, int part) const {
        if (operation_ == "allreduce") {
            require_sums(run_, all_, iteration, part);
        } else if (operation_ == "broadcast") {
            require(all_, {kSender, run_.size(), iteration, part});
        } else if (run_.rank() == kRoot) {
            for (int rank = 0; rank < run_.size(); ++rank) {
                require({all_.data() + at(rank) * at(bytes_), at(bytes_)}, {rank, run_.size(), iteration, part});
            }
        }
    }

    const Run& run_;
    std::string operation_;
    int bytes_;
    std::vector<char> own_;
    std::vector<char> all_;
    Shared shared_;
};

json collectives(const Run& run, const std::vector<int>& sizes) {
    json series = json::array();
    for (const std::string& operation : kOperations) {
        for (const int bytes : sizes) {
            Collective collective(run, operation, bytes);
            const int most = std::max(4, static_cast<int>(kMostBytes / (double(bytes) * run.size())));
            Medians medians(kWays);
            for (int repeat = 0; repeat < run.options().repeats; ++repeat) {
                run.waits_for(operation + " of " + std::to_string(bytes) + " bytes");
                for (int iteration = 0; iteration < std::min(run.options().iterations, most); ++iteration) {
                    in_turns(iteration, [&](int way) { medians.add(at(way), collective.run(way, iteration)); });
                }
                medians.end_of_repeat();
            }
            series.push_back({{"operation", operation}, {"bytes", bytes}, {"mpi_us", medians[kMpi]}, {"shared_us", medians[1]}});
        }
    }
    return series;
}

}  // namespace

void shared_window(const Run& run, const SharedWindow& options) {
    MPI_Comm of_node = MPI_COMM_NULL;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &of_node);
    int here = 0;
    MPI_Comm_size(of_node, &here);
    MPI_Comm_free(&of_node);
    if (here != run.size()) {
        throw std::runtime_error("only " + std::to_string(here) + " of " + std::to_string(run.size()) +
                                 " ranks are on this node: start all of them on one");
    }
    const json series = collectives(run, options.sizes);
    const json tables = splines(run, options.table_mib);
    run.waits_no_more();
    write_repeats(run, {{"series", series}, {"splines", tables}});
}

}  // namespace measure::mpi
