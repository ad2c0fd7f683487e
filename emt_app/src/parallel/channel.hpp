// A one-way stream of equal messages between two ranks, in order.
//
// Message m is written into the place that begin() gives, sent by commit(), and read at the other side from what
// receive() gives until release(). Nothing is copied in between by the transports themselves.
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
    /// The message will be received soon: a transport in memory starts to fetch it.
    virtual void expect(std::uint64_t /*message*/) {}
    virtual const double* receive(std::uint64_t message) = 0;  // waits for the message
    virtual void release(std::uint64_t message) = 0;
};

/// Messages through MPI_Isend and pre-posted MPI_Irecv. `depth` messages may be under way.
std::unique_ptr<Sender> make_message_sender(MPI_Comm comm, int to, int tag, int doubles, int depth);
std::unique_ptr<Receiver> make_message_receiver(MPI_Comm comm, int from, int tag, int doubles, int depth);

/// A ring in memory that two ranks of a node share; sequence numbers say what is new. `crowded`: the node has more ranks
/// than cores, so waiting must give the core away at once.
[[nodiscard]] std::size_t ring_bytes(int doubles, int depth);
std::unique_ptr<Sender> make_ring_sender(void* ring, int doubles, int depth, bool crowded);
std::unique_ptr<Receiver> make_ring_receiver(void* ring, int doubles, int depth, bool crowded);

}  // namespace emt
