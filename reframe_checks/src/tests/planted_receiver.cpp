// MPI's calls of `kappa-measure pairs` with one bit flipped in one message after its receipt. They are linked into
// kappa-measure-planted-receiver through MPI's interface for tools (PMPI). Apart from its name, the program is the
// same.
//
// PLANTED="RANK NUMBER PLACE BIT": in the NUMBERth payload that RANK receives, at byte PLACE modulo its length. Without
// it, every rank prints the number of payloads that it received. Messages of another type than MPI_CHAR, and empty
// messages, are no payload.

#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <map>

namespace {

struct Posted {
    void* buffer;
    int bytes;
    int source;
};

std::map<MPI_Request, Posted> posted;
long received = 0;

int own_rank() {
    int rank = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

void receive(void* buffer, long bytes, int source, const char* operation) {
    const char* plan = std::getenv("PLANTED");
    int rank = 0;
    long number = 0, place = 0;
    int bit = 0;
    if (plan != nullptr && std::sscanf(plan, "%d %ld %ld %d", &rank, &number, &place, &bit) == 4 && rank == own_rank() &&
        number == received) {
        auto* const byte = static_cast<unsigned char*>(buffer) + place % bytes;
        *byte = static_cast<unsigned char>(*byte ^ 1U << bit);
        std::fprintf(stderr, "planted %s %d %d\n", operation, source, rank);
    }
    ++received;
}

}  // namespace

extern "C" {

int MPI_Recv(void* buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status* status) {
    MPI_Status own;
    const int result = PMPI_Recv(buffer, count, type, source, tag, comm, &own);
    int bytes = 0;
    PMPI_Get_count(&own, MPI_CHAR, &bytes);
    if (type == MPI_CHAR && bytes > 0) {
        receive(buffer, bytes, source, "pair");
    }
    if (status != MPI_STATUS_IGNORE) {
        *status = own;
    }
    return result;
}

int MPI_Irecv(void* buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request* request) {
    const int result = PMPI_Irecv(buffer, count, type, source, tag, comm, request);
    posted[*request] = {buffer, count, source};
    return result;
}

int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
    std::map<MPI_Request, Posted> here;
    for (int i = 0; i < count; ++i) {
        if (const auto found = posted.extract(requests[i])) {
            here[found.key()] = found.mapped();
        }
    }
    const int result = PMPI_Waitall(count, requests, statuses);
    for (const auto& [request, message] : here) {
        receive(message.buffer, message.bytes, message.source, "pair");
    }
    return result;
}

int MPI_Bcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
    const int result = PMPI_Bcast(buffer, count, type, root, comm);
    if (type == MPI_CHAR && root != own_rank()) {
        receive(buffer, count, root, "broadcast");
    }
    return result;
}

int MPI_Allgather(const void* own, int count, MPI_Datatype type, void* all, int each, MPI_Datatype of, MPI_Comm comm) {
    const int result = PMPI_Allgather(own, count, type, all, each, of, comm);
    // Skips the names of the nodes, which come before the sweep.
    if (type == MPI_CHAR && each > 1024) {
        const int source = own_rank() == 0 ? 1 : 0;
        receive(static_cast<char*>(all) + static_cast<long>(source) * each, each, source, "all-gather");
    }
    return result;
}

int MPI_Alltoall(const void* own, int count, MPI_Datatype type, void* all, int each, MPI_Datatype of, MPI_Comm comm) {
    const int result = PMPI_Alltoall(own, count, type, all, each, of, comm);
    const int source = own_rank() == 0 ? 1 : 0;
    receive(static_cast<char*>(all) + static_cast<long>(source) * each, each, source, "all-to-all");
    return result;
}

int MPI_Allreduce(const void* own, void* all, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    const int result = PMPI_Allreduce(own, all, count, type, op, comm);
    receive(all, 8L * count, own_rank(), "all-reduce");
    return result;
}

int MPI_Finalize() {
    if (std::getenv("PLANTED") == nullptr) {
        std::fprintf(stderr, "received %d %ld\n", own_rank(), received);
    }
    return PMPI_Finalize();
}
}
