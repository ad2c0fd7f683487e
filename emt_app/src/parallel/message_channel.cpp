// Transport "message": one MPI message per neighbouring rank, or line, and batch of steps.
#include "parallel/channel.hpp"

namespace emt {
namespace {

/// Buffers of one message each, `depth` of them, with a request per buffer.
struct Buffers {
    Buffers(int doubles, int depth)
        : size(doubles), data(static_cast<std::size_t>(doubles) * static_cast<std::size_t>(depth)),
          request(static_cast<std::size_t>(depth), MPI_REQUEST_NULL) {}
    [[nodiscard]] std::size_t slot(std::uint64_t message) const { return message % request.size(); }
    double* at(std::uint64_t message) { return data.data() + slot(message) * static_cast<std::size_t>(size); }
    void wait(std::uint64_t message) { MPI_Wait(&request[slot(message)], MPI_STATUS_IGNORE); }

    int size;
    std::vector<double> data;
    std::vector<MPI_Request> request;
};

class MessageSender final : public Sender {
public:
    MessageSender(MPI_Comm comm, int to, int tag, int doubles, int depth) : comm_(comm), to_(to), tag_(tag), buffers_(doubles, depth) {}
    MessageSender(const MessageSender&) = delete;
    MessageSender& operator=(const MessageSender&) = delete;
    ~MessageSender() override {
        MPI_Waitall(static_cast<int>(buffers_.request.size()), buffers_.request.data(), MPI_STATUSES_IGNORE);
    }
    double* begin(std::uint64_t m) override {
        buffers_.wait(m);
        return buffers_.at(m);
    }
    void commit(std::uint64_t m) override {
        MPI_Isend(buffers_.at(m), buffers_.size, MPI_DOUBLE, to_, tag_, comm_, &buffers_.request[buffers_.slot(m)]);
    }

private:
    MPI_Comm comm_;
    int to_, tag_;
    Buffers buffers_;
};

class MessageReceiver final : public Receiver {
public:
    MessageReceiver(MPI_Comm comm, int from, int tag, int doubles, int depth) : comm_(comm), from_(from), tag_(tag), buffers_(doubles, depth) {
        for (std::uint64_t m = 0; m < buffers_.request.size(); ++m) post(m);
    }
    MessageReceiver(const MessageReceiver&) = delete;
    MessageReceiver& operator=(const MessageReceiver&) = delete;
    ~MessageReceiver() override {
        for (MPI_Request& r : buffers_.request) {
            if (r == MPI_REQUEST_NULL) continue;
            MPI_Cancel(&r);
            MPI_Wait(&r, MPI_STATUS_IGNORE);
        }
    }
    const double* receive(std::uint64_t m) override {
        buffers_.wait(m);
        return buffers_.at(m);
    }
    void release(std::uint64_t m) override { post(m); }

private:
    void post(std::uint64_t m) {
        MPI_Irecv(buffers_.at(m), buffers_.size, MPI_DOUBLE, from_, tag_, comm_, &buffers_.request[buffers_.slot(m)]);
    }
    MPI_Comm comm_;
    int from_, tag_;
    Buffers buffers_;
};

}  // namespace

std::unique_ptr<Sender> make_message_sender(MPI_Comm comm, int to, int tag, int doubles, int depth) {
    return std::make_unique<MessageSender>(comm, to, tag, doubles, depth);
}
std::unique_ptr<Receiver> make_message_receiver(MPI_Comm comm, int from, int tag, int doubles, int depth) {
    return std::make_unique<MessageReceiver>(comm, from, tag, doubles, depth);
}

}  // namespace emt
