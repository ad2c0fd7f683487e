// The ranks of a run: start, end, and failures that all of them must hear of.
#pragma once
#include <cstdint>
#include <string>

namespace emt {

/// A step takes microseconds; somebody should look when one takes so long.
constexpr double kPatience_s = 20;
/// What a buffer of files may take on a disk that is slow, which is not to be taken for a rank that hangs.
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
/// The same failure may meet all ranks (a bad case) or one (a file missing on its node): the lowest that failed speaks, and
/// all exit. Collective; nothing happens when `failure` is empty everywhere.
void agree(const Mpi& mpi, const std::string& failure);
/// All ranks must have the hash of rank 0; `otherwise` says what the others do.
void agree_on(const Mpi& mpi, std::uint64_t mine, const std::string& otherwise);
/// The texts of all ranks in their order, at rank 0. Collective.
[[nodiscard]] std::string gathered(const Mpi& mpi, const std::string& own);

}  // namespace emt
