// MPI's calls of mpi_behaviour with a fault on rank 1: linked into mpi_behaviour_planted, through MPI's own interface for tools
// (PMPI). The program is the same but for its name.
//
// PLANTED=flip: one bit of what it sends is another; PLANTED=lose: it sends nothing of one byte or more.

#include <mpi.h>

#include <cstdlib>
#include <string>

namespace {

constexpr long kPlace = 5;

bool planted(const char* fault, int count) {
    int rank = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const char* plan = std::getenv("PLANTED");
    return rank == 1 && count > kPlace && plan != nullptr && std::string(plan) == fault;
}

void flip(const void* buffer) {
    auto* const byte = static_cast<unsigned char*>(const_cast<void*>(buffer)) + kPlace;
    *byte = static_cast<unsigned char>(*byte ^ 4U);
}

}  // namespace

extern "C" {

int MPI_Send(const void* buffer, int count, MPI_Datatype type, int receiver, int tag, MPI_Comm comm) {
    if (planted("lose", count)) {
        return MPI_SUCCESS;
    }
    if (planted("flip", count)) {
        flip(buffer);
    }
    return PMPI_Send(buffer, count, type, receiver, tag, comm);
}

}  // extern "C"
