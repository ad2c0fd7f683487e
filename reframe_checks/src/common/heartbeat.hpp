// What this rank is doing, for whoever looks at the node when nothing seems to go on: its phase, how long that may stand
// still, and a count of beats. It lies in memory that only this process holds, and can be read as /proc/PID/fd/N, also when
// the process is stopped: no file, no message, no thread, and nothing is left when the process ends. A beat is one store.
//
// Read by reframe_checks/base/src/job/look_at_node.py, which has the same layout.
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
    std::atomic<std::uint64_t> beats;  // phases begun and what went on in them
    std::int64_t since_ns;             // when the phase began, CLOCK_MONOTONIC
    double limit_s;                    // a phase without a beat for longer is worth a look
    char phase[96];                    // ends with a zero
};
static_assert(sizeof(Record) == 128);

// Where there is no such memory (a kernel before 3.17) the beats go nowhere.
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

// Something went on in the phase. Only the rank's main thread may call this.
inline void beat() {
    std::atomic<std::uint64_t>& beats = record().beats;
    beats.store(beats.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

// Another phase begins.
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
