// The ring of two ranks of a node with threads in the ranks' place, for ThreadSanitizer, which sees no other process.
//
// Each pair of threads has a ring in either direction, as two ranks have, and a step is theirs: fill, commit, then receive, compare and
// release, with a receiver that lags by a changing number of messages, so that rings run full and empty. Whatever else the ring
// is to order, the payload is written and read without atomics: a release or acquire that lacks is a data race, which is reported.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include "parallel/channel.hpp"

namespace {

constexpr std::uint64_t kMessages = 1000;

double value(int from, std::uint64_t message, int at) { return static_cast<double>(message) * 1e3 + from * 100 + at % 100; }

struct Lines {
    explicit Lines(std::size_t bytes) : memory(static_cast<std::byte*>(std::aligned_alloc(64, (bytes + 63) / 64 * 64))) {
        std::fill_n(memory.get(), bytes, std::byte{0});
    }
    struct Free {
        void operator()(std::byte* p) const { std::free(p); }
    };
    std::unique_ptr<std::byte, Free> memory;
};

void rank(int self, void* out, void* in, int doubles, int depth, bool crowded, bool& right) {
    const auto sender = emt::make_ring_sender(out, doubles, depth, crowded);
    const auto receiver = emt::make_ring_receiver(in, doubles, depth, crowded);
    std::uint64_t received = 0;
    for (std::uint64_t sent = 0; sent < kMessages || received < kMessages;) {
        if (sent < kMessages) {
            double* const payload = sender->begin(sent);
            for (int i = 0; i < doubles; ++i) payload[i] = value(self, sent, i);
            sender->commit(sent++);
        }
        // Both lag by fewer messages than a ring holds, or they would wait for each other.
        const std::uint64_t lag = sent == kMessages ? 0 : sent * (self == 0 ? 1 : 7) % static_cast<std::uint64_t>(depth);
        while (received + lag < sent) {
            receiver->expect(received);
            const double* const payload = receiver->receive(received);
            for (int i = 0; i < doubles; ++i) right = right && payload[i] == value(1 - self, received, i);
            receiver->release(received++);
        }
    }
}

}  // namespace

int main() {
    bool right = true;
    for (const int doubles : {1, 7, 8, 60})
        for (const int depth : {2, 8})
            for (const bool crowded : {false, true}) {
                const std::size_t bytes = emt::ring_bytes(doubles, depth);
                const Lines there(bytes), back(bytes);
                bool right0 = true, right1 = true;
                std::thread other(rank, 1, back.memory.get(), there.memory.get(), doubles, depth, crowded, std::ref(right1));
                rank(0, there.memory.get(), back.memory.get(), doubles, depth, crowded, right0);
                other.join();
                right = right && right0 && right1;
            }
    std::puts(right ? "all messages arrived as they were sent" : "a message is not what was sent");
    return right ? 0 : 1;
}
