#include "measure/replay.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <thread>

#include "measure/timer.hpp"

namespace emt {
namespace {

constexpr int kRepeats = 25;
constexpr std::size_t kRecordBytes = std::size_t{64} << 20;
constexpr int kTurnTag = 73;

/// A batch at one instant.
struct Snapshot {
    explicit Snapshot(const Batch& b) : state(b.state()) {
        for (int l = 0; l < b.lanes(); ++l) topology.push_back(b.lane(l).topology), updates.push_back(b.lane(l).updates);
    }
    void restore(Batch& b) const {
        b.state().assign(state);
        for (int l = 0; l < b.lanes(); ++l) {
            b.lane(l).topology = topology[static_cast<std::size_t>(l)];
            if (b.sparse()) b.refactor(l, b.view());
            b.lane(l).updates = updates[static_cast<std::size_t>(l)];
        }
    }
    [[nodiscard]] bool same_bits(const Batch& b) const {
        return std::memcmp(b.state().data(), state.data(), state.size() * sizeof(double)) == 0;
    }

    AlignedDoubles state;
    std::vector<Topology> topology;  // per lane
    std::vector<int> updates;
};

/// What a rank does and receives during the recorded steps.
struct Record {
    int steps = 0;
    std::uint64_t first = 0;
    std::vector<StepClock> clocks;               // computing them belongs to σ
    std::vector<Snapshot> start, end;            // per batch
    std::vector<std::vector<double>> histories;  // per batch: steps × rows
    AlignedDoubles rings;                        // waves of the past at the start
    std::vector<double> received;                // steps × cut lines × modes
};

/// The waves of other ranks that the cut lines read for step `next`, in the order of the lines.
template <class Visit>
void visit_received(const std::vector<LineJob>& cut, unsigned next, Visit&& visit) {
    for (const LineJob& l : cut) {
        const long other = l.wave[0] == nullptr ? 0 : 1;
        visit(l.ring0[static_cast<long>((next - l.delay0) & l.mask0) * 2 + other]);
        double* const ring1 = l.ring1 + static_cast<long>((next - l.delay1) & l.mask1) * 4 + 2 * other;
        visit(ring1[0]);
        visit(ring1[1]);
    }
}

int recorded_steps(Engine& engine) {
    std::size_t row_bytes = 1;
    for (Batch& b : engine.batches()) row_bytes += b.line_history().size_bytes();
    return static_cast<int>(std::clamp<std::size_t>(kRecordBytes / row_bytes, 16, 256));
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

Record record(Engine& engine, int steps) {
    Record r;
    r.steps = steps;
    r.first = engine.steps();
    r.rings = AlignedDoubles(engine.lines().rings());
    for (const Batch& b : engine.batches()) r.start.emplace_back(b);
    r.histories.resize(r.start.size());
    for (int s = 0; s < steps; ++s) {
        r.clocks.push_back(engine.prologue(engine.steps()));
        engine.step();
        // The rows still hold the histories, and the rings the waves, that this step has used.
        for (std::size_t i = 0; i < r.histories.size(); ++i) {
            const std::span<double> row = engine.batches()[i].line_history();
            r.histories[i].insert(r.histories[i].end(), row.begin(), row.end());
        }
        visit_received(engine.lines().cut(), static_cast<unsigned>(engine.steps()), [&](double wave) { r.received.push_back(wave); });
    }
    for (const Batch& b : engine.batches()) r.end.emplace_back(b);
    return r;
}

/// The rank's steps again, with the waves of other ranks taken from the record instead of the exchange.
double rank_us(Engine& engine, const Record& r, const Ticks& ticks, bool& exact) {
    const auto& local = engine.lines().local();
    const auto& cut = engine.lines().cut();
    const int locals = static_cast<int>(local.size()), cuts = static_cast<int>(cut.size());
    const auto restore = [&] {
        std::copy_n(r.rings.data(), r.rings.size(), engine.lines().rings().data());
        for (std::size_t i = 0; i < r.start.size(); ++i) r.start[i].restore(engine.batches()[i]);
    };
    const double us = minimum_us(ticks, r.steps, restore, [&] {
        const double* received = r.received.data();
        for (int s = 0; s < r.steps; ++s) {
            const std::uint64_t step = r.first + static_cast<std::uint64_t>(s);
            const auto now = static_cast<unsigned>(step);
            for (std::size_t i = 0; i < r.start.size(); ++i) engine.keep(i);
            engine.kernels().lines_both(local.data(), locals, now);
            engine.kernels().lines_store(cut.data(), cuts, now);
            visit_received(cut, now + 1, [&](double& wave) { wave = *received++; });
            engine.kernels().lines_load(cut.data(), cuts, now);
            for (std::size_t i = 0; i < r.start.size(); ++i) engine.advance_batch(i, r.clocks[static_cast<std::size_t>(s)], step);
        }
    });
    for (std::size_t i = 0; i < r.end.size(); ++i) exact = exact && r.end[i].same_bits(engine.batches()[i]);
    return us;
}

/// Every batch by itself, which keeps it in the fastest cache: its recorded histories put in place step by step.
double cached_batches_us(Engine& engine, const Record& r, const Ticks& ticks, bool& exact) {
    double sum = 0;
    for (std::size_t i = 0; i < engine.batches().size(); ++i) {
        Batch& b = engine.batches()[i];
        const std::span<double> row = b.line_history();
        sum += minimum_us(
            ticks, r.steps, [&] { r.start[i].restore(b); },
            [&] {
                const double* histories = r.histories[i].data();
                for (int s = 0; s < r.steps; ++s, histories += row.size()) {
                    engine.keep(i);
                    std::copy_n(histories, row.size(), row.data());
                    engine.advance_batch(i, r.clocks[static_cast<std::size_t>(s)], r.first + static_cast<std::uint64_t>(s));
                }
            });
        exact = exact && r.end[i].same_bits(b);
    }
    return sum;
}

/// Lines, some dozens at a time. Leaves wrong waves in the rings.
double cached_lines_us(const Engine& engine, const Record& r, const Ticks& ticks) {
    constexpr std::size_t kChunk = 32;
    double sum = 0;
    const Kernels& k = engine.kernels();
    const auto run = [&](const std::vector<LineJob>& jobs, auto&& kernel) {
        for (std::size_t i = 0; i < jobs.size(); i += kChunk) {
            const int count = static_cast<int>(std::min(kChunk, jobs.size() - i));
            sum += minimum_us(ticks, r.steps, [] {}, [&] {
                for (int s = 0; s < r.steps; ++s) kernel(jobs.data() + i, count, static_cast<unsigned>(r.first) + static_cast<unsigned>(s));
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
    const Record recorded = record(engine, steps);
    engine.drain();
    Work out{0, 0, 0, true};
    const Turn turn(comm);
    const Ticks ticks;
    out.sigma_us = prologue_us(engine, steps, recorded.first, ticks);
    out.phi_us = rank_us(engine, recorded, ticks, out.exact);
    out.phi_cached_us = cached_batches_us(engine, recorded, ticks, out.exact) + cached_lines_us(engine, recorded, ticks);
    return out;
}

}  // namespace emt
