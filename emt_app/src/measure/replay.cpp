#include "measure/replay.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <thread>

#include "measure/timer.hpp"

namespace emt {
namespace {

constexpr int kRepeats = 5;
constexpr std::size_t kRecordBytes = std::size_t{64} << 20;
constexpr int kTurnTag = 73;

struct Recorded {
    AlignedDoubles start;               // state before the first recorded step
    std::vector<Topology> topology;     // per lane
    std::vector<double> histories;      // steps × rows
};

std::vector<Topology> topologies(const Batch& b) {
    std::vector<Topology> out;
    for (int l = 0; l < b.lanes(); ++l) out.push_back(b.lane(l).topology);
    return out;
}

int recorded_steps(Engine& engine) {
    std::size_t row_bytes = 1;
    for (Batch& b : engine.batches()) row_bytes += b.line_history().size_bytes();
    return static_cast<int>(std::clamp<std::size_t>(kRecordBytes / row_bytes, 16, 256));
}

void restore_batch(Batch& b, const AlignedDoubles& state, const std::vector<Topology>& topology) {
    b.state().assign(state);
    for (int l = 0; l < b.lanes(); ++l) {
        b.lane(l).topology = topology[static_cast<std::size_t>(l)];
        if (b.sparse()) b.refactor(l, b.view());
    }
}

double minimum_us(const Ticks& ticks, int steps, const std::function<void()>& restore, const std::function<void()>& work) {
    std::uint64_t best = std::numeric_limits<std::uint64_t>::max();
    for (int i = 0; i < kRepeats; ++i) {
        restore();
        const std::uint64_t start = Ticks::now();
        work();
        best = std::min(best, Ticks::now() - start);
    }
    return static_cast<double>(best) * ticks.microseconds_per_tick() / steps;
}

/// Batches: restore the state, put the recorded histories in place step by step, compute.
double batches_us(Engine& engine, std::vector<Recorded>& recorded, int steps, std::uint64_t first, const Ticks& ticks, bool& exact) {
    double sum = 0;
    std::vector<StepClock> clocks;  // belongs to σ
    for (int s = 0; s < steps; ++s) clocks.push_back(engine.prologue(first + static_cast<std::uint64_t>(s)));
    for (std::size_t i = 0; i < engine.batches().size(); ++i) {
        Batch& b = engine.batches()[i];
        const AlignedDoubles end(b.state());
        const std::vector<Topology> end_topology = topologies(b);
        const std::span<double> row = b.line_history();
        sum += minimum_us(
            ticks, steps,
            [&] { restore_batch(b, recorded[i].start, recorded[i].topology); },
            [&] {
                for (int s = 0; s < steps; ++s) {
                    std::copy_n(recorded[i].histories.data() + static_cast<std::size_t>(s) * row.size(), row.size(), row.data());
                    engine.advance_batch(b, clocks[static_cast<std::size_t>(s)], first + static_cast<std::uint64_t>(s));
                }
            });
        exact = exact && std::memcmp(b.state().data(), end.data(), end.size() * sizeof(double)) == 0;
        restore_batch(b, end, end_topology);
    }
    return sum;
}

/// Lines, some dozens at a time.
double lines_us(const Engine& engine, int steps, std::uint64_t first, const Ticks& ticks) {
    constexpr std::size_t kChunk = 32;
    double sum = 0;
    const Kernels& k = engine.kernels();
    const auto run = [&](const std::vector<LineJob>& jobs, auto&& kernel) {
        for (std::size_t i = 0; i < jobs.size(); i += kChunk) {
            const int count = static_cast<int>(std::min(kChunk, jobs.size() - i));
            sum += minimum_us(ticks, steps, [] {}, [&] {
                for (int s = 0; s < steps; ++s) kernel(jobs.data() + i, count, static_cast<unsigned>(first) + static_cast<unsigned>(s));
            });
        }
    };
    run(engine.lines().local(), k.lines_both);
    run(engine.lines().cut(), [&](const LineJob* jobs, int count, unsigned step) {
        k.lines_store(jobs, count, step);
        k.lines_load(jobs, count, step);
    });
    return sum;
}

/// All batches and lines of the rank in turn, as in a run but without other ranks.
double rank_us(Engine& engine, const std::vector<Recorded>& recorded, int steps, std::uint64_t first, const Ticks& ticks) {
    const auto& local = engine.lines().local();
    const auto& cut = engine.lines().cut();
    const auto restore = [&] {
        for (std::size_t i = 0; i < recorded.size(); ++i) restore_batch(engine.batches()[i], recorded[i].start, recorded[i].topology);
    };
    const double us = minimum_us(ticks, steps, restore, [&] {
        for (int s = 0; s < steps; ++s) {
            const std::uint64_t step = first + static_cast<std::uint64_t>(s);
            const StepClock clock = engine.prologue(step);
            engine.kernels().lines_both(local.data(), static_cast<int>(local.size()), static_cast<unsigned>(step));
            engine.kernels().lines_store(cut.data(), static_cast<int>(cut.size()), static_cast<unsigned>(step));
            engine.kernels().lines_load(cut.data(), static_cast<int>(cut.size()), static_cast<unsigned>(step));
            for (Batch& b : engine.batches()) engine.advance_batch(b, clock, step);
        }
    });
    return us;
}

double prologue_us(const Engine& engine, int steps, std::uint64_t first, const Ticks& ticks) {
    double sink = 0;
    const double us = minimum_us(ticks, steps, [] {}, [&] {
        for (int s = 0; s < steps; ++s) sink += engine.prologue(first + static_cast<std::uint64_t>(s)).sin_new;
    });
    volatile double keep = sink;
    (void)keep;
    return us;
}

/// Lets the ranks of a node work one after another, so that none disturbs the one being timed; those that wait sleep.
class Turn {
public:
    explicit Turn(MPI_Comm comm) {
        MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node_);
        MPI_Comm_rank(node_, &rank_);
        MPI_Comm_size(node_, &size_);
        if (rank_ > 0) sleep_until_message(rank_ - 1);
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    ~Turn() {
        if (rank_ + 1 < size_) MPI_Send(nullptr, 0, MPI_BYTE, rank_ + 1, kTurnTag, node_);
        MPI_Request all = MPI_REQUEST_NULL;
        MPI_Ibarrier(node_, &all);
        for (int done = 0; done == 0;) {
            MPI_Test(&all, &done, MPI_STATUS_IGNORE);
            if (done == 0) nap();
        }
        MPI_Comm_free(&node_);
    }

private:
    static void nap() { std::this_thread::sleep_for(std::chrono::microseconds(500)); }
    void sleep_until_message(int from) const {
        for (int there = 0; there == 0;) {
            MPI_Iprobe(from, kTurnTag, node_, &there, MPI_STATUS_IGNORE);
            if (there == 0) nap();
        }
        MPI_Recv(nullptr, 0, MPI_BYTE, from, kTurnTag, node_, MPI_STATUS_IGNORE);
    }
    MPI_Comm node_ = MPI_COMM_NULL;
    int rank_ = 0, size_ = 1;
};

}  // namespace

Work measure_work(MPI_Comm comm, Engine& engine) {
    engine.freeze_events();
    // Two steps first: what restarted in the last step of the study has settled into ordinary steps after them.
    for (int i = 0; i < 2; ++i) engine.step();
    int steps = recorded_steps(engine);
    MPI_Allreduce(MPI_IN_PLACE, &steps, 1, MPI_INT, MPI_MIN, comm);
    const std::uint64_t first = engine.steps();
    std::vector<Recorded> recorded;
    for (Batch& b : engine.batches()) recorded.push_back({AlignedDoubles(b.state()), topologies(b), {}});
    for (int s = 0; s < steps; ++s) {
        engine.step();
        for (std::size_t i = 0; i < recorded.size(); ++i) {
            // The rows still hold the histories that this step has used.
            const std::span<double> row = engine.batches()[i].line_history();
            recorded[i].histories.insert(recorded[i].histories.end(), row.begin(), row.end());
        }
    }
    engine.drain();
    Work out{0, 0, 0, true};
    const Turn turn(comm);
    const Ticks ticks;
    out.sigma_us = prologue_us(engine, steps, first, ticks);
    out.phi_us = batches_us(engine, recorded, steps, first, ticks, out.exact);
    out.phi_us += lines_us(engine, steps, first, ticks);
    // Last: it leaves the waves and states of an earlier time behind, and nothing follows it.
    out.rank_us = rank_us(engine, recorded, steps, first, ticks);
    return out;
}

}  // namespace emt
