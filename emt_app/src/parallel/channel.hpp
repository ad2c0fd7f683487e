// A one-way stream of equal messages between two ranks, in order.
//
// The sender writes message m into the memory of begin() and sends it by commit(). The other side reads it from the
// memory of receive() until release(). The transports themselves copy nothing in between.
#pragma once
#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

namespace emt {

class Sender {
public:
    virtual ~Sender() = default;
    virtual double* begin(std::uint64_t message) = 0;  // waits for room
    virtual void commit(std::uint64_t message) = 0;
};

class Receiver {
public:
    virtual ~Receiver() = default;
    /// Announces the receive of a message: a transport in memory starts to fetch it.
    virtual void expect(std::uint64_t /*message*/) {}
    virtual const double* receive(std::uint64_t message) = 0;  // waits for the message
    virtual void release(std::uint64_t message) = 0;
};

/// Makes a stream through MPI_Isend and pre-posted MPI_Irecv. Up to `depth` messages may be under way.
std::unique_ptr<Sender> make_message_sender(MPI_Comm comm, int to, int tag, int doubles, int depth);
std::unique_ptr<Receiver> make_message_receiver(MPI_Comm comm, int from, int tag, int doubles, int depth);

/// A ring in memory that two ranks of a node share; sequence numbers mark new messages. `crowded`: the node has more
/// ranks than cores, so waits must yield the core at once.
[[nodiscard]] std::size_t ring_bytes(int doubles, int depth);
std::unique_ptr<Sender> make_ring_sender(void* ring, int doubles, int depth, bool crowded);
std::unique_ptr<Receiver> make_ring_receiver(void* ring, int doubles, int depth, bool crowded);

}  // namespace emt
