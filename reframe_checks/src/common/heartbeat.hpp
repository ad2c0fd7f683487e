// The state of this rank, for a look at a job that seems to hang: its phase, the longest time without a beat, and a
// count of beats. The record is in memory that only this process holds; others read it as /proc/PID/fd/N, even if this
// process is stopped. It needs no file, message or thread, and disappears with the process. A beat is one store.
//
// kappa/node/watch/look.py reads it and has the same layout.
#pragma once

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <string>

namespace heartbeat {

struct Record {
    char format[8];                    // "kappahb1"
    std::atomic<std::uint64_t> beats;  // number of started phases and of beats in them
    std::int64_t since_ns;             // start of the phase, CLOCK_MONOTONIC
    double limit_s;                    // longest normal time of the phase without a beat
    char phase[96];                    // ends with a zero
};
static_assert(sizeof(Record) == 128);

// Without such memory (a kernel before 3.17), beats have no effect.
inline Record& record() {
    static Record nowhere{};
    static Record& own = []() -> Record& {
        const int file = static_cast<int>(syscall(SYS_memfd_create, "kappa-heartbeat", 1U /* MFD_CLOEXEC */));
        if (file < 0 || ftruncate(file, sizeof(Record)) != 0) {
            return nowhere;
        }
        void* memory = mmap(nullptr, sizeof(Record), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (memory == MAP_FAILED) {
            return nowhere;
        }
        std::memcpy(memory, "kappahb1", sizeof(Record::format));
        return *static_cast<Record*>(memory);
    }();
    return own;
}

// Reports progress in the phase. Only the rank's main thread may call this.
inline void beat() {
    std::atomic<std::uint64_t>& beats = record().beats;
    beats.store(beats.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

// Starts another phase.
inline void phase(double limit_s, const std::string& what) {
    Record& own = record();
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    own.since_ns = now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
    own.limit_s = limit_s;
    std::snprintf(own.phase, sizeof(own.phase), "%s", what.c_str());
    beat();
}

}  // namespace heartbeat
