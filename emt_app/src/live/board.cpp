#include "live/board.hpp"

#include <algorithm>
#include <new>
#include <stdexcept>
#include <string>

namespace emt {

Board::Board(MPI_Comm comm) {
    int rank = 0, size = 1, here = 1;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node_);
    MPI_Comm_size(node_, &here);
    int fewest = here;
    MPI_Allreduce(MPI_IN_PLACE, &fewest, 1, MPI_INT, MPI_MIN, comm);
    if (fewest != size) {
        MPI_Comm_free(&node_);
        throw std::runtime_error("--live needs all ranks on one node, but they are on several: run on one node, or without --live");
    }
    const auto bytes = static_cast<MPI_Aint>((rank == 0 ? sizeof(Order) : 0) + sizeof(Ring) + 2 * alignof(Ring));
    void* mine = nullptr;
    MPI_Win_allocate_shared(bytes, 1, MPI_INFO_NULL, node_, &mine, &window_);
    const auto aligned = [](void* at) {
        return reinterpret_cast<char*>((reinterpret_cast<std::uintptr_t>(at) + alignof(Ring) - 1) / alignof(Ring) * alignof(Ring));
    };
    for (int r = 0; r < size; ++r) {
        MPI_Aint length = 0;
        int unit = 0;
        void* base = nullptr;
        MPI_Win_shared_query(window_, r, &length, &unit, &base);
        char* const first = aligned(base);
        if (r == 0) order_ = reinterpret_cast<Order*>(first);
        rings_.push_back(reinterpret_cast<Ring*>(r == 0 ? aligned(first + sizeof(Order)) : first));
    }
    own_ = rings_[static_cast<std::size_t>(rank)];
    if (rank == 0) new (order_) Order{};
    // Leaves out the frames: memory that is not used is not touched.
    new (&own_->put) std::atomic<std::uint64_t>(0);
    new (&own_->taken) std::atomic<std::uint64_t>(0);
    MPI_Barrier(node_);
}

Board::~Board() {
    if (window_ != MPI_WIN_NULL) MPI_Win_free(&window_);
    if (node_ != MPI_COMM_NULL) MPI_Comm_free(&node_);
}

Wanted Board::wanted() const {
    Wanted out;
    do {
        out.generation = generation();
        out.every = order_->every.load();
        out.signals.resize(std::min<std::uint64_t>(order_->count.load(), kMostSignals));
        for (std::size_t k = 0; k < out.signals.size(); ++k) out.signals[k] = order_->signals[k].load();
    } while (out.generation != generation());
    return out;
}

void Board::put(std::uint64_t generation, std::uint64_t step, std::span<const double> values) {
    const std::uint64_t n = own_->put.load(std::memory_order_relaxed);
    if (n - own_->taken.load(std::memory_order_acquire) == kFrames) return;
    Frame& frame = own_->frames[n % kFrames];
    frame.generation = generation;
    frame.step = step;
    std::copy(values.begin(), values.end(), frame.values.begin());
    own_->put.store(n + 1, std::memory_order_release);
}

void Board::want(const std::vector<std::uint32_t>& signals, std::uint64_t every) {
    const std::uint64_t now = order_->generation.load();
    order_->generation.store(now + 1);
    order_->every.store(every);
    order_->count.store(signals.size());
    for (std::size_t k = 0; k < signals.size(); ++k) order_->signals[k].store(signals[k]);
    order_->generation.store(now + 2);
}

bool Board::take(std::uint64_t generation, std::uint64_t& step, std::vector<double>& values) {
    for (;;) {
        // Takes the first frame of each rank. Drops frames of earlier generations, and frames that another rank has
        // dropped.
        std::uint64_t latest = 0;
        for (Ring* ring : rings_) {
            std::uint64_t n = ring->taken.load(std::memory_order_relaxed);
            const std::uint64_t end = ring->put.load(std::memory_order_acquire);
            while (n != end && ring->frames[n % kFrames].generation != generation) ring->taken.store(++n, std::memory_order_release);
            if (n == end) return false;
            latest = std::max(latest, ring->frames[n % kFrames].step);
        }
        bool together = true;
        for (Ring* ring : rings_) {
            const std::uint64_t n = ring->taken.load(std::memory_order_relaxed);
            if (ring->frames[n % kFrames].step == latest) continue;
            together = false;
            ring->taken.store(n + 1, std::memory_order_release);
        }
        if (!together) continue;
        step = latest;
        std::fill(values.begin(), values.end(), 0.0);
        for (Ring* ring : rings_) {
            const std::uint64_t n = ring->taken.load(std::memory_order_relaxed);
            for (std::size_t k = 0; k < values.size(); ++k) values[k] += ring->frames[n % kFrames].values[k];
            ring->taken.store(n + 1, std::memory_order_release);
        }
        return true;
    }
}

}  // namespace emt
