// MPI's calls of kappa-measure with a fault on rank 1. They are linked into kappa-measure-planted-sender through MPI's
// interface for tools (PMPI). Apart from its name, the program is the same.
//
// PLANTED=flip: one bit of the data that it sends, puts, gets or adds is flipped. PLANTED=lose: it sends no messages
// and puts no words. Messages of a few bytes are commands, which no fault affects.

#include <mpi.h>

#include <cstdlib>
#include <string>

namespace {

constexpr long kPlace = 5;
void* to_get = nullptr;
int got_from = -1;

bool planted(const char* fault) {
    int rank = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const char* plan = std::getenv("PLANTED");
    return rank == 1 && plan != nullptr && std::string(plan) == fault;
}

bool planted(const char* fault, int count) { return count > kPlace && planted(fault); }

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

int MPI_Put(const void* buffer, int count, MPI_Datatype type, int target, MPI_Aint place, int target_count, MPI_Datatype target_type,
            MPI_Win window) {
    if (planted("flip")) {
        flip(buffer);
    }
    return PMPI_Put(buffer, count, type, target, place, target_count, target_type, window);
}

int MPI_Get(void* buffer, int count, MPI_Datatype type, int target, MPI_Aint place, int target_count, MPI_Datatype target_type,
            MPI_Win window) {
    to_get = buffer;
    got_from = target;
    return PMPI_Get(buffer, count, type, target, place, target_count, target_type, window);
}

// Data of a get arrives with the flush of its source rank.
int MPI_Win_flush(int rank, MPI_Win window) {
    const int result = PMPI_Win_flush(rank, window);
    if (to_get != nullptr && rank == got_from && planted("flip")) {
        flip(to_get);
    }
    return result;
}

int MPI_Rput(const void* buffer, int count, MPI_Datatype type, int target, MPI_Aint place, int target_count, MPI_Datatype target_type,
             MPI_Win window, MPI_Request* request) {
    if (planted("lose")) {
        *request = MPI_REQUEST_NULL;
        return MPI_SUCCESS;
    }
    return PMPI_Rput(buffer, count, type, target, place, target_count, target_type, window, request);
}

int MPI_Allreduce(const void* buffer, void* sum, int count, MPI_Datatype type, MPI_Op operation, MPI_Comm comm) {
    const int result = PMPI_Allreduce(buffer, sum, count, type, operation, comm);
    if (planted("flip")) {
        flip(sum);
    }
    return result;
}

}  // extern "C"
