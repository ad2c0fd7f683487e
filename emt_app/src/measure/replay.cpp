#include "measure/replay.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <thread>

#include "measure/timer.hpp"

namespace emt {
namespace {

constexpr int kRepeats = 25;
constexpr std::size_t kRecordBytes = std::size_t{64} << 20;
constexpr int kTurnTag = 73;

/// The state of a batch at one instant.
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

/// The actions of a rank, and the waves that it receives, during the recorded steps.
struct Record {
    int steps = 0;
    std::uint64_t first = 0;
    std::vector<StepClock> clocks;               // computing them belongs to σ
    std::vector<Snapshot> start, end;            // per batch
    std::vector<std::vector<double>> histories;  // per batch: steps × rows
    AlignedDoubles rings;                        // waves of the past at the start
    std::vector<double> received;                // steps × cut lines × modes
};

/// Visits the waves of other ranks that the cut lines read for step `next`, in the order of the lines.
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
        // The rows still hold the histories of this step, and the rings its waves.
        for (std::size_t i = 0; i < r.histories.size(); ++i) {
            const std::span<double> row = engine.batches()[i].line_history();
            r.histories[i].insert(r.histories[i].end(), row.begin(), row.end());
        }
        visit_received(engine.lines().cut(), static_cast<unsigned>(engine.steps()), [&](double wave) { r.received.push_back(wave); });
    }
    for (const Batch& b : engine.batches()) r.end.emplace_back(b);
    return r;
}

/// Repeats the rank's steps, with other ranks' waves from the record instead of the exchange.
class Replay {
public:
    Replay(Engine& engine, const Record& record) : engine_(engine), record_(record) {}

    void restore() {
        std::copy_n(record_.rings.data(), record_.rings.size(), engine_.lines().rings().data());
        for (std::size_t i = 0; i < record_.start.size(); ++i) record_.start[i].restore(engine_.batches()[i]);
    }
    /// Calls mark(part) after each part outside of advance(batch, clock, step).
    template <class Advance, class Mark>
    void steps(Advance&& advance, Mark&& mark) {
        const auto &local = engine_.lines().local(), &cut = engine_.lines().cut();
        const int locals = static_cast<int>(local.size()), cuts = static_cast<int>(cut.size());
        const double* received = record_.received.data();
        const bool watched = engine_.poles_that_move_by_themselves() > 0;
        for (int s = 0; s < record_.steps; ++s) {
            const std::uint64_t step = record_.first + static_cast<std::uint64_t>(s);
            const auto now = static_cast<unsigned>(step);
            for (std::size_t i = 0; i < record_.start.size(); ++i) engine_.keep(i);
            if (watched) mark(StepPart::instants);
            engine_.kernels().lines_both(local.data(), locals, now);
            engine_.kernels().lines_store(cut.data(), cuts, now);
            visit_received(cut, now + 1, [&](double& wave) { wave = *received++; });
            engine_.kernels().lines_load(cut.data(), cuts, now);
            mark(StepPart::lines);
            for (std::size_t i = 0; i < record_.start.size(); ++i) advance(i, record_.clocks[static_cast<std::size_t>(s)], step);
        }
    }
    [[nodiscard]] bool exact() const {
        for (std::size_t i = 0; i < record_.end.size(); ++i)
            if (!record_.end[i].same_bits(engine_.batches()[i])) return false;
        return true;
    }

private:
    Engine& engine_;
    const Record& record_;
};

double rank_us(Engine& engine, const Record& r, const Ticks& ticks, bool& exact) {
    Replay replay(engine, r);
    const double us = minimum_us(ticks, r.steps, [&] { replay.restore(); }, [&] {
        replay.steps([&](std::size_t i, const StepClock& clock, std::uint64_t step) { engine.advance(i, clock, step, nullptr); }, [](StepPart) {});
    });
    exact = exact && replay.exact();
    return us;
}

std::array<long, kStepParts> count_parts(Engine& engine) {
    std::array<long, kStepParts> out{};
    const auto add = [&](StepPart part, std::size_t n) { out[static_cast<std::size_t>(part)] += static_cast<long>(n); };
    for (const Batch& b : engine.batches()) {
        add(StepPart::sources, b.sources_of_their_own());
        for (int l = 0; l < b.lanes(); ++l) {
            const Task& task = *b.lane(l).task;
            add(StepPart::lines, task.ends.size());
            for (const StepPart part : {StepPart::reactances, StepPart::solve, StepPart::digest}) add(part, task.nodes.size());
#define EMT_PRIMITIVE(Type, list) add(StepPart::list, task.list.size());
#include "primitives/table.inc"
            add(StepPart::blocks, task.blocks.size());
            add(StepPart::piecewise, task.piecewise.size());
        }
    }
    add(StepPart::instants, engine.poles_that_move_by_themselves());
    return out;
}

/// Does the same, and reads the clock after each part. Keeps the fastest repetition. Its excess over φ is the cost of
/// reading, and is taken from the parts in proportion to their readings.
std::vector<PartTime> part_times(Engine& engine, const Record& r, const Ticks& ticks, double phi_us, bool& exact) {
    Replay replay(engine, r);
    StopWatch best{.now = Ticks::now};
    std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
    for (int i = 0; i < kRepeats; ++i) {
        replay.restore();
        StopWatch watch{.now = Ticks::now};
        watch.begin();
        replay.steps([&](std::size_t batch, const StepClock& clock, std::uint64_t step) { engine.advance(batch, clock, step, &watch); },
                     [&](StepPart part) { watch.mark(part); });
        if (const std::uint64_t sum = std::accumulate(std::begin(watch.ticks), std::end(watch.ticks), std::uint64_t{0}); sum < least) {
            least = sum;
            best = watch;
        }
    }
    exact = exact && replay.exact();
    const double us_per_tick = ticks.microseconds_per_tick() / r.steps;
    const auto marks = static_cast<double>(std::accumulate(std::begin(best.marks), std::end(best.marks), std::uint64_t{0}));
    const double us_of_a_mark = std::max(0.0, static_cast<double>(least) * us_per_tick - phi_us) / marks;
    const std::array<long, kStepParts> counts = count_parts(engine);
    std::vector<PartTime> out;
    for (std::size_t i = 0; i < kStepParts; ++i)
        out.push_back({kStepPartNames[i], counts[i], std::max(0.0, static_cast<double>(best.ticks[i]) * us_per_tick - us_of_a_mark * static_cast<double>(best.marks[i]))});
    return out;
}

/// Runs every batch alone, so that it stays in the fastest cache; puts its recorded histories in place step by step.
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
                    engine.advance(i, r.clocks[static_cast<std::size_t>(s)], r.first + static_cast<std::uint64_t>(s), nullptr);
                }
            });
        exact = exact && r.end[i].same_bits(b);
    }
    return sum;
}

/// Runs the lines, some dozens at a time. Leaves wrong waves in the rings.
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

/// Lets the ranks of a node work one after another, so that none disturbs the timed rank; waiting ranks sleep.
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

Work measure_work(MPI_Comm comm, Engine& engine, bool in_parts) {
    engine.freeze_events();
    // Take two steps first: a restart in the last step of the study affects the next steps.
    for (int i = 0; i < 2; ++i) engine.step();
    int steps = recorded_steps(engine);
    MPI_Allreduce(MPI_IN_PLACE, &steps, 1, MPI_INT, MPI_MIN, comm);
    const Record recorded = record(engine, steps);
    engine.drain();
    Work out{.exact = true, .parts = {}};
    const Turn turn(comm);
    const Ticks ticks;
    out.sigma_us = prologue_us(engine, steps, recorded.first, ticks);
    out.phi_us = rank_us(engine, recorded, ticks, out.exact);
    if (in_parts) out.parts = part_times(engine, recorded, ticks, out.phi_us, out.exact);
    out.phi_cached_us = cached_batches_us(engine, recorded, ticks, out.exact) + cached_lines_us(engine, recorded, ticks);
    return out;
}

}  // namespace emt
