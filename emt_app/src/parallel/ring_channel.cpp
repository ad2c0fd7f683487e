// Transport "shared": a single-producer single-consumer ring in memory that the ranks of a node share.
//
// Layout: one cache line with the consumer's count, then `depth` slots of a cache line that starts with the slot's
// sequence number, followed by the payload. The number sits with the first data, so that a short message costs one
// transfer between caches.
#include <sched.h>

#include <cstring>
#include <new>

#include "parallel/channel.hpp"

namespace emt {
namespace {

constexpr std::size_t kLine = 64;
using Count = std::atomic<std::uint64_t>;
static_assert(Count::is_always_lock_free, "the ring lives in memory shared between processes");

std::size_t slot_bytes(int doubles) { return (sizeof(Count) + static_cast<std::size_t>(doubles) * sizeof(double) + kLine - 1) / kLine * kLine; }

/// Waits; gives the core away after `spins` looks, when the other rank may need it.
template <class Ready>
void spin_until(int spins, Ready&& ready) {
    for (int i = 0; !ready(); ++i) {
        if (i < spins) {
#if defined(__x86_64__)
            __builtin_ia32_pause();
#endif
        } else {
            sched_yield();
        }
    }
}

struct Ring {
    Ring(void* memory, int doubles, int depth, bool crowded)
        : base(static_cast<std::byte*>(memory)), slot_size(slot_bytes(doubles)), spins(crowded ? 20 : 4000),
          depth_(static_cast<std::uint64_t>(depth)) {}
    [[nodiscard]] Count& consumed() const { return *std::launder(reinterpret_cast<Count*>(base)); }
    [[nodiscard]] std::byte* slot(std::uint64_t m) const { return base + kLine + (m % depth_) * slot_size; }
    [[nodiscard]] Count& sequence(std::uint64_t m) const { return *std::launder(reinterpret_cast<Count*>(slot(m))); }
    /// Starts to move a slot into this core's cache, so that its transfer overlaps with other work.
    template <int Write>
    void fetch(std::uint64_t m) const {
        for (std::size_t at = 0; at < slot_size; at += kLine) __builtin_prefetch(slot(m) + at, Write);
    }
    [[nodiscard]] double* payload(std::uint64_t m) const { return reinterpret_cast<double*>(slot(m) + sizeof(Count)); }

    std::byte* base;
    std::size_t slot_size;
    int spins;
    std::uint64_t depth_;
};

class RingSender final : public Sender {
public:
    explicit RingSender(Ring ring) : ring_(ring) {}
    double* begin(std::uint64_t m) override {
        if (m - consumed_ >= ring_.depth_)
            spin_until(ring_.spins, [&] { return m - (consumed_ = ring_.consumed().load(std::memory_order_acquire)) < ring_.depth_; });
        return ring_.payload(m);
    }
    void commit(std::uint64_t m) override {
        ring_.sequence(m).store(m + 1, std::memory_order_release);
        ring_.fetch<1>(m + 1);
    }

private:
    Ring ring_;
    std::uint64_t consumed_ = 0;
};

class RingReceiver final : public Receiver {
public:
    explicit RingReceiver(Ring ring) : ring_(ring) {}
    void expect(std::uint64_t m) override { ring_.fetch<0>(m); }
    const double* receive(std::uint64_t m) override {
        const Count& sequence = ring_.sequence(m);
        spin_until(ring_.spins, [&] { return sequence.load(std::memory_order_acquire) == m + 1; });
        return ring_.payload(m);
    }
    void release(std::uint64_t m) override { ring_.consumed().store(m + 1, std::memory_order_release); }

private:
    Ring ring_;
};

}  // namespace

std::size_t ring_bytes(int doubles, int depth) { return kLine + static_cast<std::size_t>(depth) * slot_bytes(doubles); }
std::unique_ptr<Sender> make_ring_sender(void* ring, int doubles, int depth, bool crowded) {
    return std::make_unique<RingSender>(Ring(ring, doubles, depth, crowded));
}
std::unique_ptr<Receiver> make_ring_receiver(void* ring, int doubles, int depth, bool crowded) {
    return std::make_unique<RingReceiver>(Ring(ring, doubles, depth, crowded));
}

}  // namespace emt
