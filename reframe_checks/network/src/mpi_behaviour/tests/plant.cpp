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

int MPI_Isend(const void* buffer, int count, MPI_Datatype type, int receiver, int tag, MPI_Comm comm, MPI_Request* request) {
    if (planted("flip", count)) {
        flip(buffer);
    }
    return PMPI_Isend(buffer, count, type, receiver, tag, comm, request);
}

int MPI_Sendrecv(const void* buffer, int count, MPI_Datatype type, int receiver, int tag, void* into, int into_count,
                 MPI_Datatype into_type, int sender, int into_tag, MPI_Comm comm, MPI_Status* status) {
    if (planted("flip", count)) {
        flip(buffer);
    }
    return PMPI_Sendrecv(buffer, count, type, receiver, tag, into, into_count, into_type, sender, into_tag, comm, status);
}

int MPI_Bcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
    if (planted("flip", count)) {
        flip(buffer);
    }
    return PMPI_Bcast(buffer, count, type, root, comm);
}

int MPI_Iallreduce(const void* buffer, void* sum, int count, MPI_Datatype type, MPI_Op operation, MPI_Comm comm, MPI_Request* request) {
    if (planted("flip", count)) {
        flip(buffer);
    }
    return PMPI_Iallreduce(buffer, sum, count, type, operation, comm, request);
}

}  // extern "C"
