#include "parallel/line_store.hpp"

#include <bit>

#include "network/phasor.hpp"

namespace emt {
namespace {

constexpr std::size_t kCacheLineBytes = 64;

struct EndPlace {
    double* wave = nullptr;
    double* history = nullptr;
};

unsigned ring_length(const LineMode& mode) { return std::bit_ceil(static_cast<unsigned>(mode.delay) + 2); }

/// Waves of the steps before the start, from their phasors.
void fill_past(const Line& line, const LineJob& job, const std::vector<Complex>& phasors, Complex z) {
    const auto modes = line_phasors(line, z, phasors);
    for (std::size_t k = 0; k < 3; ++k) {
        const LineMode& mode = line.mode[k == 0 ? 0 : 1];
        const LineModePhasors& p = modes[k];
        for (int back = 1; back <= mode.delay; ++back) {
            const auto step = static_cast<unsigned>(-back);  // wraps, as in the kernel
            for (std::size_t e = 0; e < 2; ++e) {
                const double s = (p.sent[e] * power(std::conj(z), back)).real();
                if (k == 0)
                    job.ring0[static_cast<std::size_t>(step & job.mask0) * 2 + e] = s;
                else
                    job.ring1[static_cast<std::size_t>(step & job.mask1) * 4 + 2 * e + (k - 1)] = s;
            }
        }
    }
}

}  // namespace

LineStore::LineStore(const Network& net, const Decomposition& parts, std::vector<Batch>& batches,
                     const std::vector<int>& rank_of_task, const std::vector<Complex>& phasors) {
    std::vector<std::array<EndPlace, 2>> place(net.lines.size());
    std::vector<std::size_t> order;  // lines in the order of their first batch, so that neighbours are close in memory
    for (Batch& b : batches)
        for (int l = 0; l < b.lanes(); ++l)
            for (std::size_t s = 0; s < b.lane(l).task->ends.size(); ++s) {
                const LineEnd& e = b.lane(l).task->ends[s];
                auto& ends = place[static_cast<std::size_t>(e.line)];
                if (ends[0].wave == nullptr && ends[1].wave == nullptr) order.push_back(static_cast<std::size_t>(e.line));
                const std::size_t offset = 3 * s * kLanes + static_cast<std::size_t>(l);
                ends[static_cast<std::size_t>(e.end)] = {b.view().ends.wave + offset, b.view().ends.history + offset};
            }
    std::size_t doubles = 0;
    for (const std::size_t i : order)
        doubles += 4 * ring_length(net.lines[i].mode[1]) + (2 * ring_length(net.lines[i].mode[0]) + 7) / 8 * 8;
    rings_ = AlignedDoubles(doubles);
    double* next = rings_.data();
    std::vector<std::size_t> cut_index, local_index;
    for (const std::size_t i : order) {
        const Line& line = net.lines[i];
        LineJob job{};
        for (std::size_t e = 0; e < 2; ++e) {
            job.wave[e] = place[i][e].wave;
            job.history[e] = place[i][e].history;
        }
        job.mask1 = ring_length(line.mode[1]) - 1;
        job.mask0 = ring_length(line.mode[0]) - 1;
        job.delay1 = static_cast<unsigned>(line.mode[1].delay);
        job.delay0 = static_cast<unsigned>(line.mode[0].delay);
        job.far1 = line.mode[1].c_far();
        job.near1 = line.mode[1].c_near();
        job.far0 = line.mode[0].c_far();
        job.near0 = line.mode[0].c_near();
        job.ring1 = next;
        job.ring0 = next + 4 * static_cast<std::size_t>(job.mask1 + 1);
        next = job.ring0 + (2 * static_cast<std::size_t>(job.mask0 + 1) + 7) / 8 * 8;
        if (!phasors.empty()) fill_past(line, job, phasors, step_operator(net));
        const bool local = job.wave[0] != nullptr && job.wave[1] != nullptr;
        (local ? local_index : cut_index).push_back(i);
        (local ? local_ : cut_).push_back(job);
    }
    job_of_line_.resize(net.lines.size());
    for (std::size_t i = 0; i < local_.size(); ++i) job_of_line_[local_index[i]] = &local_[i];
    for (std::size_t c = 0; c < cut_.size(); ++c) {
        job_of_line_[cut_index[c]] = &cut_[c];
        const Line& line = net.lines[cut_index[c]];
        const int end = cut_[c].wave[0] != nullptr ? 0 : 1;
        const int other = rank_of_task[static_cast<std::size_t>(parts.task_of_line[cut_index[c]][static_cast<std::size_t>(1 - end)])];
        cut_lines_.push_back({static_cast<int>(cut_index[c]), end, other, std::min(line.mode[0].delay, line.mode[1].delay), &cut_[c]});
    }
}

// Each step stores one entry of a line's two rings and loads another. Memory moves whole cache lines, and by the next
// step they have left the cache.
std::size_t LineStore::bytes_touched() const {
    return (local_.size() + cut_.size()) * (sizeof(LineJob) + 4 * kCacheLineBytes);
}

std::size_t LineStore::bytes_written() const { return (local_.size() + cut_.size()) * 2 * kCacheLineBytes; }

}  // namespace emt
