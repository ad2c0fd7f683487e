#include "commands/ranks.hpp"

#include <mpi.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <vector>

#include "base/heartbeat.hpp"
#include "base/smpi.hpp"

namespace emt {

Mpi::Mpi(int argc, char** argv) {
    heartbeat::phase(20, "MPI_Init");
    MPI_Init(&argc, &argv);
    heartbeat::phase(120, "reads and maps the case");
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
}

Mpi::~Mpi() {
    heartbeat::phase(20, "MPI_Finalize");
    MPI_Finalize();
}

void abort_all(const Mpi& mpi, const std::string& message) {
    std::cerr << "emt: error: " << (mpi.size > 1 ? "rank " + std::to_string(mpi.rank) + ": " : "") << message << std::endl;
    if (kSimulated) _exit(1);  // all ranks share one process, which SMPI's MPI_Abort ends without an error status
    MPI_Abort(MPI_COMM_WORLD, 1);
    std::abort();
}

void agree(const Mpi& mpi, const std::string& failure) {
    int mine = failure.empty() ? mpi.size : mpi.rank, first = 0;
    MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (first == mpi.size) return;
    if (first == mpi.rank) std::cerr << "emt: error: " << failure << std::endl;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    std::exit(1);
}

void agree_on(const Mpi& mpi, std::uint64_t mine, const std::string& otherwise) {
    std::uint64_t hash = mine;
    MPI_Bcast(&hash, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    agree(mpi, hash == mine ? "" : "rank " + std::to_string(mpi.rank) + " " + otherwise);
}

std::string gathered(const Mpi& mpi, const std::string& own) {
    int bytes = static_cast<int>(own.size());
    std::vector<int> count(static_cast<std::size_t>(mpi.size)), start(count);
    MPI_Allgather(&bytes, 1, MPI_INT, count.data(), 1, MPI_INT, MPI_COMM_WORLD);
    for (std::size_t i = 1; i < count.size(); ++i) start[i] = start[i - 1] + count[i - 1];
    std::string all(static_cast<std::size_t>(start.back() + count.back()), '\0');
    MPI_Gatherv(own.data(), bytes, MPI_CHAR, all.data(), count.data(), start.data(), MPI_CHAR, 0, MPI_COMM_WORLD);
    return all;
}

}  // namespace emt
