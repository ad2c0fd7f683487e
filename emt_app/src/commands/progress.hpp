// Progress of a run on standard error.
#pragma once
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>

namespace emt {

/// On a terminal, updates one line. Elsewhere (`always`), prints whole lines, at growing intervals of up to a minute.
class Progress {
public:
    Progress(const std::string& when, std::uint64_t total)
        : terminal_(isatty(STDERR_FILENO) != 0), enabled_(when == "always" || (when == "auto" && terminal_)), total_(total) {}
    void operator()(std::uint64_t done) {
        if (!enabled_) return;
        const double now = wall_s();
        if (now < next_) return;
        next_ = now + (terminal_ ? 1 : std::min(now - start_, 60.0));
        const double rate = static_cast<double>(done) / (now - start_);
        std::fprintf(stderr, "%sstep %llu of %llu, %.0f steps/s, %.0f s left%s", terminal_ ? "\r" : "", static_cast<unsigned long long>(done),
                     static_cast<unsigned long long>(total_), rate, static_cast<double>(total_ - done) / rate, terminal_ ? " " : "\n");
        shown_ = true;
    }
    ~Progress() {
        if (shown_ && terminal_) std::fprintf(stderr, "\r%60s\r", "");
    }
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

private:
    /// Also for a simulated machine, because a user waits for it.
    static double wall_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

    bool terminal_, enabled_, shown_ = false;
    std::uint64_t total_;
    double start_ = wall_s(), next_ = start_ + 1;
};

}  // namespace emt
