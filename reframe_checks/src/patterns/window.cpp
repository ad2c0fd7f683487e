#include "patterns/window.hpp"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <sstream>
#include <stdexcept>

namespace measure::patterns {
namespace {

// MPICH 4.0.2 puts to a wrong place if the windows of one node have about 8 bytes; whole pages are right everywhere.
constexpr std::size_t kPage = 4096;
// After this many polls without a word, yield: the sender may need this core.
constexpr unsigned kSpins = 200;
// After a longer wait, a rank flushes its own puts: MPI may hold a put back until a flush.
constexpr double kFlushAfter_s = 1e-3;
// Time of a poll in a simulation. To limit the polls, the first one comes after this share of the shortest recent wait.
// After a long wait, the interval grows in proportion to it.
constexpr double kLook_s = 2e-8;
constexpr std::size_t kUnderWay = 8;
// The word has arrived long before this time.
constexpr double kArrives_s = 1e-3;
constexpr double kSure = 0.9;
constexpr double kLongWait_s = 5e-6;
constexpr double kLongLook = 0.003;

}  // namespace

Window::Window(const Run& run, std::size_t bytes, std::vector<int> partners)
    : run_(run), partners_(std::move(partners)), bytes_(bytes) {
    std::sort(partners_.begin(), partners_.end());
    partners_.erase(std::unique(partners_.begin(), partners_.end()), partners_.end());
    run_.waits_for("a window of all ranks");
    MPI_Win_allocate(static_cast<MPI_Aint>((bytes / kPage + 1) * kPage), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base_, &window_);
    std::memset(base_, 0, bytes);
    // Shared locks are granted at once; with exclusive locks, each rank might wait for another.
    for (const int partner : partners_) {
        MPI_Win_lock(MPI_LOCK_SHARED, partner, MPI_MODE_NOCHECK, window_);
    }
    MPI_Win_lock(MPI_LOCK_SHARED, run_.rank(), MPI_MODE_NOCHECK, window_);
    MPI_Barrier(MPI_COMM_WORLD);
    run_.waits_no_more();
}

Window::~Window() {
    if (std::uncaught_exceptions() > 0) {
        return;  // does not free the window, which needs all ranks; they end when the error is reported
    }
    run_.waits_for("the end of a window");
    for (const int partner : partners_) {
        MPI_Win_unlock(partner, window_);
    }
    MPI_Win_unlock(run_.rank(), window_);
    MPI_Win_free(&window_);
    run_.waits_no_more();
}

void Window::put(std::span<const char> from, int partner, std::size_t start) const {
    const int bytes = static_cast<int>(from.size());
    MPI_Put(from.data(), bytes, MPI_BYTE, partner, static_cast<MPI_Aint>(start), bytes, MPI_BYTE, window_);
}

void Window::get(std::span<char> into, int partner, std::size_t start) const {
    const int bytes = static_cast<int>(into.size());
    MPI_Get(into.data(), bytes, MPI_BYTE, partner, static_cast<MPI_Aint>(start), bytes, MPI_BYTE, window_);
}

void Window::complete() const {
    for (const int partner : partners_) {
        run_.waits_for("memory of rank " + std::to_string(partner));
        MPI_Win_flush(partner, window_);
    }
    run_.waits_no_more();
}

Words::Words(const Run& run, std::size_t slots, std::vector<int> partners)
    : run_(run), window_(run, slots * sizeof(std::uint64_t), std::move(partners)) {}

void Words::put(std::uint64_t word, int partner, std::size_t slot) {
    if (flushes_early_ && requests_.size() >= kUnderWay) {
        complete();
    }
    sent_.push_back(word);
    requests_.push_back(MPI_REQUEST_NULL);
    constexpr int kBytes = sizeof word;
    MPI_Rput(&sent_.back(), kBytes, MPI_BYTE, partner, static_cast<MPI_Aint>(slot * sizeof word), kBytes, MPI_BYTE, window_.handle(),
             &requests_.back());
}

std::uint64_t Words::look(std::size_t slot) const {
    window_.see_memory();
    auto* words = reinterpret_cast<std::uint64_t*>(const_cast<Words*>(this)->window_.memory().data());
    return std::atomic_ref<std::uint64_t>(words[slot]).load(std::memory_order_acquire);
}

void Words::wait(std::size_t slot, int sender, std::uint64_t word, std::uint64_t or_word) {
    double since = -1;
    bool flushed = false;
    for (unsigned looks = 1;; ++looks) {
        const std::uint64_t found = look(slot);
        const double time = now();
        since = since < 0 ? time : since;
        if (found == word || found == or_word) {
            waited_s_[words_seen_++ % waited_s_.size()] = time - since;
            return;
        }
        if (time - since > run_.options().timeout_s) {
            std::ostringstream text;
            text << "word " << slot << " of rank " << sender << " did not come for " << run_.options().timeout_s << " s: expected 0x"
                 << std::hex << word << ", found 0x" << found;
            throw std::runtime_error(text.str());
        }
        if constexpr (kSimulated) {
            const double usual_s = kSure * *std::min_element(waited_s_.begin(), waited_s_.end());
            const double long_s = time - since > kLongWait_s ? kLongLook * (time - since) : 0;
            short_nap(std::max({kLook_s, looks == 1 && usual_s < kLongWait_s ? usual_s : 0, long_s}));
        } else {
            int done = 0;
            MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done, MPI_STATUSES_IGNORE);
            // Without a request the test does nothing, but a put sent as a message needs progress at its target.
            MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &done, MPI_STATUS_IGNORE);
            if (!flushed && time - since > kFlushAfter_s) {
                window_.complete();
                flushed = true;
            }
            if (looks > kSpins) {
                sched_yield();
            }
        }
    }
}

void Words::learn_to_flush(std::uint64_t word, int partner, std::size_t slot) {
    put(word, partner, slot);
    nap(kArrives_s);
    const double start = now();
    complete();
    flushes_early_ = now() - start < kLook_s;
}

void Words::complete() {
    run_.wait_all(requests_, "its own words to leave");
    window_.complete();
    sent_.clear();
}

}  // namespace measure::patterns
