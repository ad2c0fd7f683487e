// The ranks of a run: start, end, and failures that every rank must know.
#pragma once
#include <cstdint>
#include <string>

namespace emt {

/// Heartbeat limit of a step, which normally takes microseconds.
constexpr double kPatience_s = 20;
/// Heartbeat limit of a write to a slow disk, which is no hang.
constexpr double kFilePatience_s = 300;

class Mpi {
public:
    Mpi(int argc, char** argv);
    Mpi(const Mpi&) = delete;
    Mpi& operator=(const Mpi&) = delete;
    ~Mpi();
    int rank = 0, size = 1;
};

/// Stops the run everywhere.
[[noreturn]] void abort_all(const Mpi& mpi, const std::string& message);
/// Ends all ranks with the message of the lowest rank that has a failure: it may be on all ranks (a bad case) or on one
/// (a file missing on its node). Does nothing if `failure` is empty everywhere. Collective.
void agree(const Mpi& mpi, const std::string& failure);
/// Ends all ranks unless each has the hash of rank 0; `otherwise` tells what the other ranks do.
void agree_on(const Mpi& mpi, std::uint64_t mine, const std::string& otherwise);
/// Returns the texts of all ranks in rank order, at rank 0. Collective.
[[nodiscard]] std::string gathered(const Mpi& mpi, const std::string& own);

}  // namespace emt
