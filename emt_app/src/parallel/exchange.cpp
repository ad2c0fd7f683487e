#include "parallel/exchange.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <stdexcept>
#include <thread>

#include "base/smpi.hpp"

namespace emt {
namespace {
constexpr int kPairTag = 71, kOffsetTag = 72, kFirstLineTag = 100;
constexpr int kMaxMessageBytes = 4096;  // larger ones leave the eager protocol of common MPI libraries
}  // namespace

ExchangeMode exchange_mode(const std::string& name) { return name == "slack" ? ExchangeMode::slack : ExchangeMode::step; }

Transport transport(const std::string& name) {
    return name == "message" ? Transport::message : name == "shared" ? Transport::shared : Transport::automatic;
}

Message message(const std::string& name) { return name == "line" ? Message::line : Message::pair; }

struct Exchange::Neighbour {
    int rank = 0;
    int first = 0;               // number of the first line
    std::vector<CutLine> lines;  // by line number: the same order at both sides
    int slack = 0;               // of the line with the least
    int batch = 1;               // steps per message
    int depth = 0;
    bool shared = false;
    std::uint64_t taken = 0;     // messages received
    double* out = nullptr;
    std::unique_ptr<Sender> sender;
    std::unique_ptr<Receiver> receiver;

    [[nodiscard]] int doubles() const { return batch * kModes * static_cast<int>(lines.size()); }
};

Exchange::Exchange(MPI_Comm comm, std::vector<CutLine> lines, ExchangeMode mode, Transport transport, Message message, std::uint64_t first)
    : mode_(mode), first_(first), comm_(comm) {
    if (kSimulated && transport == Transport::shared)
        throw std::runtime_error("transport 'shared' was asked for, but simulated ranks share no memory: use --transport auto or message");
    std::map<std::pair<int, int>, std::unique_ptr<Neighbour>> of_rank;  // and of the line that has a message of its own
    std::stable_sort(lines.begin(), lines.end(), [](const CutLine& a, const CutLine& b) { return a.line < b.line; });
    for (const CutLine& l : lines) {
        auto& n = of_rank[{l.other_rank, message == Message::line ? l.line : 0}];
        if (!n) n = std::make_unique<Neighbour>();
        if (n->lines.empty()) n->first = l.line;
        n->rank = l.other_rank;
        n->slack = n->lines.empty() ? l.slack : std::min(n->slack, l.slack);
        n->lines.push_back(l);
        counts_.min_slack = counts_.min_slack == 0 ? l.slack : std::min(counts_.min_slack, l.slack);
    }
    MPI_Comm node = MPI_COMM_NULL;
    int size = 0;
    MPI_Comm_size(comm, &size);
    MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    std::vector<int> all(static_cast<std::size_t>(size)), node_rank(all);
    for (int i = 0; i < size; ++i) all[static_cast<std::size_t>(i)] = i;
    MPI_Group world_group = MPI_GROUP_NULL, node_group = MPI_GROUP_NULL;
    MPI_Comm_group(comm, &world_group);
    MPI_Comm_group(node, &node_group);
    MPI_Group_translate_ranks(world_group, size, all.data(), node_group, node_rank.data());
    MPI_Group_free(&world_group);
    MPI_Group_free(&node_group);

    int before = -1;
    for (auto& [key, n] : of_rank) {
        const int rank = key.first;
        const int step_bytes = static_cast<int>(n->lines.size() * kLineBytes);
        if (mode == ExchangeMode::slack) n->batch = std::clamp(std::min(n->slack / 2, kMaxMessageBytes / step_bytes), 1, 64);
        n->depth = std::max(4, static_cast<int>(std::bit_ceil(static_cast<unsigned>(n->slack / n->batch + 2))));
        n->shared = !kSimulated && transport != Transport::message && node_rank[static_cast<std::size_t>(rank)] != MPI_UNDEFINED;
        if (transport == Transport::shared && !n->shared)
            throw std::runtime_error("transport 'shared' was asked for, but rank " + std::to_string(rank) +
                                     " is on another node: use --transport auto or message");
        if (rank != before) {
            ++counts_.neighbours;
            counts_.shared_neighbours += n->shared ? 1 : 0;
            before = rank;
        }
        counts_.bytes_per_step += step_bytes;
        counts_.messages_per_step += 1.0 / n->batch;
        neighbours_.push_back(std::move(n));
    }
    if (!kSimulated) make_shared_window(node_rank, node);
    MPI_Comm_free(&node);
    for (auto& n : neighbours_) {
        if (n->shared) continue;
        const int tag = message == Message::line ? kFirstLineTag + n->first : kPairTag;
        n->receiver = make_message_receiver(comm, n->rank, tag, n->doubles(), n->depth);
        n->sender = make_message_sender(comm, n->rank, tag, n->doubles(), n->depth);
    }
}

void Exchange::make_shared_window(const std::vector<int>& node_rank, MPI_Comm node) {
    // Every rank owns the rings it sends through; the readers learn the offsets.
    MPI_Aint bytes = 0;
    std::vector<MPI_Aint> offset(neighbours_.size());
    for (std::size_t i = 0; i < neighbours_.size(); ++i) {
        if (!neighbours_[i]->shared) continue;
        offset[i] = bytes;
        bytes += static_cast<MPI_Aint>(ring_bytes(neighbours_[i]->doubles(), neighbours_[i]->depth));
    }
    int node_size = 0;
    MPI_Comm_size(node, &node_size);
    const bool crowded = static_cast<unsigned>(node_size) > std::thread::hardware_concurrency();
    char* base = nullptr;
    MPI_Win_allocate_shared(std::max<MPI_Aint>(bytes, 64), 1, MPI_INFO_NULL, node, &base, &window_);
    std::fill_n(base, bytes, char{0});
    MPI_Barrier(node);
    for (std::size_t i = 0; i < neighbours_.size(); ++i) {
        Neighbour& n = *neighbours_[i];
        if (!n.shared) continue;
        MPI_Aint theirs = 0;
        MPI_Sendrecv(&offset[i], 1, MPI_AINT, n.rank, kOffsetTag, &theirs, 1, MPI_AINT, n.rank, kOffsetTag, comm_, MPI_STATUS_IGNORE);
        MPI_Aint size = 0;
        int unit = 0;
        char* other = nullptr;
        MPI_Win_shared_query(window_, node_rank[static_cast<std::size_t>(n.rank)], &size, &unit, &other);
        n.sender = make_ring_sender(base + offset[i], n.doubles(), n.depth, crowded);
        n.receiver = make_ring_receiver(other + theirs, n.doubles(), n.depth, crowded);
    }
}

Exchange::~Exchange() {
    neighbours_.clear();
    if (window_ != MPI_WIN_NULL) MPI_Win_free(&window_);
}

void Exchange::post(std::uint64_t step) {
    for (auto& n : neighbours_) {
        const auto batch = static_cast<std::uint64_t>(n->batch);
        const std::uint64_t message = (step - first_) / batch, place = (step - first_) % batch;
        if (place == 0) n->out = n->sender->begin(message);
        double* out = n->out + place * kModes * n->lines.size();
        for (const CutLine& l : n->lines) {
            const double* wave = l.job->wave[l.local_end];
            for (int m = 0; m < kModes; ++m) *out++ = wave[m * kLanes];
        }
        if (place + 1 == batch) n->sender->commit(message);
    }
}

void Exchange::take(Neighbour& n) {
    const double* in = n.receiver->receive(n.taken);
    for (int b = 0; b < n.batch; ++b) {
        const auto step = static_cast<unsigned>(first_ + n.taken * static_cast<std::uint64_t>(n.batch)) + static_cast<unsigned>(b);
        for (const CutLine& l : n.lines) {
            const int end = 1 - l.local_end;
            l.job->ring0[static_cast<std::size_t>(step & l.job->mask0) * 2 + static_cast<std::size_t>(end)] = in[0];
            double* r1 = l.job->ring1 + static_cast<std::size_t>(step & l.job->mask1) * 4 + 2 * end;
            r1[0] = in[1];
            r1[1] = in[2];
            in += kModes;
        }
    }
    n.receiver->release(n.taken++);
}

void Exchange::expect() {
    for (auto& n : neighbours_) n->receiver->expect(n->taken);
}

void Exchange::await(std::uint64_t step) {
    for (auto& n : neighbours_) {
        const std::uint64_t lag = mode_ == ExchangeMode::step ? 1 : static_cast<std::uint64_t>(n->slack);
        if (step < first_ + lag) continue;
        const std::uint64_t needed = (step - first_ - lag) / static_cast<std::uint64_t>(n->batch);
        while (n->taken <= needed) take(*n);
    }
}

void Exchange::drain(std::uint64_t last) {
    for (auto& n : neighbours_)
        while (n->taken < (last + 1 - first_) / static_cast<std::uint64_t>(n->batch)) take(*n);
}

}  // namespace emt
