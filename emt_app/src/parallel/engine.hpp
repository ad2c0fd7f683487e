// Time stepping of the tasks of one rank.
#pragma once
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "parallel/exchange.hpp"
#include "parallel/line_store.hpp"
#include "parallel/mapper.hpp"
#include "solver/batch.hpp"
#include "solver/step_parts.hpp"

namespace emt {

class Archive;
class Engine;

/// The simulation cannot go on: a solution that is not finite, or a node left without a path to ground.
struct SimulationError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// "t = 0.05 s", for messages.
[[nodiscard]] std::string at_time(double t_s);

struct EngineOptions {
    ExchangeMode exchange = ExchangeMode::step;
    Transport transport = Transport::automatic;
    const Kernels* kernels = nullptr;
    Message message = Message::pair;
    /// Of each task when its time is injected (simulated machines only), else empty.
    std::vector<double> injected_us = {};
    /// Puts a state in place of the start; called before anything is sent.
    std::function<void(Engine&)> resume = {};
};

class Engine {
public:
    /// Collective over `comm`: all ranks give the same network, decomposition, mapping and options.
    Engine(MPI_Comm comm, const Network& net, const Decomposition& parts, const Mapping& mapping, const EngineOptions& options);

    /// Advances by one time step. Throws SimulationError.
    void step();
    /// Receives all waves under way; call on every rank after the same number of steps.
    void drain() { exchange_->drain(step_); }
    /// No switch operates and no source starts from now on: for measurement after the end of a study.
    void freeze_events() { frozen_ = true; }

    [[nodiscard]] std::uint64_t steps() const { return step_; }
    /// Voltage of a node, V; the node's task must be on this rank (see owns()).
    [[nodiscard]] double voltage(int node) const;
    [[nodiscard]] bool owns(int node) const;
    /// Value of a signal at the beginning of the last step (see README, Theory); its task must be on this rank.
    [[nodiscard]] double signal(int signal) const;
    [[nodiscard]] bool owns_signal(int signal) const;
    /// Digest of all node voltages at all steps so far, per task, as (task, digest).
    [[nodiscard]] std::vector<std::pair<int, std::uint64_t>> digests() const;

    /// State of a task, and what an end of a line has sent that is still under way, written or read back (engine_state.cpp); false
    /// when it is on another rank. To read: first resume_at(), in EngineOptions::resume only.
    bool visit_task(int task, Archive& archive);
    bool visit_line(int line, int end, Archive& archive);
    /// The state that follows is that of this step; so many solutions before it were `unsettled` on this rank.
    void resume_at(std::uint64_t step, long unsettled);

    /// A task's place in a batch of this rank; the batch is null when the task is on another.
    struct Seat {
        const Batch* batch;
        int lane;
    };
    [[nodiscard]] Seat seat(int task) const;
    [[nodiscard]] double dt_s() const { return net_.dt_s; }
    /// Time of the last solution, s.
    [[nodiscard]] double time() const { return instant(step_); }
    /// Whether the last step of a task was taken as two half steps, because it began with a discontinuity.
    [[nodiscard]] bool restarted(int task) const;
    [[nodiscard]] std::vector<Batch>& batches() { return batches_; }
    [[nodiscard]] const LineStore& lines() const { return *lines_; }
    [[nodiscard]] const ExchangeCounts& exchange_counts() const { return exchange_->counts(); }
    [[nodiscard]] const Kernels& kernels() const { return *options_.kernels; }
    [[nodiscard]] long unsettled() const { return unsettled_; }
    [[nodiscard]] std::size_t poles_that_move_by_themselves() const;
    /// Work per step for which this rank passes time, µs.
    [[nodiscard]] double injected_us() const { return 1e6 * (boundary_s_ + inner_s_); }
    [[nodiscard]] std::size_t bytes_touched() const;
    [[nodiscard]] std::size_t bytes_written() const;

    /// What every rank does by itself in each step besides its tasks: the clock and the calendar. Measured as σ.
    [[nodiscard]] StepClock prologue(std::uint64_t step) const;
    /// Before the waves of a step arrive: remembers the instant from which poles may move inside the step.
    void keep(std::size_t batch);
    /// One step of one batch, histories of its lines being in place. With `watch` it takes the time of each part, and is slower for it.
    void advance(std::size_t batch, const StepClock& clock, std::uint64_t step, StopWatch* watch);

private:
    struct Place {
        int batch = -1, lane = 0;
    };
    struct Operation {  // takes effect after the solution of `step`
        std::uint64_t step;
        int task;
        int pole;       // index of the task's switch; -1: a source starts
        bool close;
        double part;    // how far into the following step, less than 1
    };
    struct Pole {       // a switch that moves by itself, at an instant inside a step
        int lane, pole;
        bool armed;     // a breaker that was told to open: waits for its current zero
        const Switch* device = nullptr;
        const double* signal = nullptr;  // of its gate
        double before = 0;  // its current while closed, its voltage while open, at the instant before, A or V
        double gate = 0;    // from when on its gate is on, in steps after t_n, where a signal says so
        bool still = false; // cannot move in this step, whatever its voltage or current
        double entry = 0, earlier = 0;  // what `before` was at t_n and t_{n-1}; 0 when it has moved or been still since
        double from = 0;    // in the step in which it was told to open: when
    };
    struct Due {        // an operation inside this step
        int lane, pole;
        bool close;
        double part;
    };
    struct Watch {      // of one batch, when it has such poles or operations; copies of its state
        std::vector<Pole> poles;
        std::vector<Due> due;
        bool valves = false;
        AlignedDoubles before, from, half, second, until, work;
        std::vector<double> fronts;  // 3 per end of a line: what jumps inside this step add to its waves, V
        BatchView at_work{};
    };
    struct Restart {    // lanes of a batch that take the next step as two half steps
        int batch;
        unsigned lanes;
        AlignedDoubles state;
    };

    void make_calendar();
    void apply_events();
    void set_switch(Place place, int pole, bool closed);
    void mark_restart(Place place);
    [[nodiscard]] Watch make_watch(const Batch& batch) const;
    static void make_room(Watch& watch, const Batch& batch);
    [[nodiscard]] bool watching(std::size_t batch) const;
    void read_gates(std::size_t batch);
    void move_poles(std::size_t batch, std::uint64_t step);
    void move_poles(Watch& watch, Batch& batch, int lane, std::uint64_t step, bool jumped);
    void half_steps_from(Watch& watch, Batch& batch, int lane, double x, std::uint64_t step, bool switched);
    [[nodiscard]] static bool first_has_impulse(const Watch& watch, const Batch& batch, int lane);
    static void add_fronts(Watch& watch, const Batch& batch, int lane, double weight, const AlignedDoubles& state);
    void return_to_grid(Watch& watch, Batch& batch, int lane, std::uint64_t step);
    [[nodiscard]] bool forced(const Batch& batch, const Pole& pole, double x, double before, double after, std::uint64_t step) const;
    /// Sends fronts as what they are: see engine_fronts.cpp.
    void meet_fronts(std::size_t first, std::size_t last, std::uint64_t step);
    void meet_fronts(std::size_t batch, const std::vector<Operation>& operations, std::uint64_t step);
    [[nodiscard]] double passed(const Batch& batch, const Pole& pole, const double* v) const;
    [[nodiscard]] double instant_of(const Batch& batch, const Pole& pole, double x, double now, std::uint64_t step) const;
    [[nodiscard]] double gate_from(const Pole& pole, double x, std::uint64_t step) const;
    void set_waves(Watch& watch, const Batch& batch, int lane, double x);
    /// The voltages at the end of a step, or of half a one, whose state finish() makes; lanes of `skip` need not be right.
    void solve(Batch& batch, const BatchView& view, const StepClock& clock, int kind, unsigned skip, StopWatch* watch);
    void complete(Batch& batch, const BatchView& view, unsigned outside, unsigned skip);
    void finish_batch(const Batch& batch, const BatchView& view, unsigned mask, std::uint64_t step) const;
    void half_steps(Restart& restart);
    void half_step(Batch& batch, const BatchView& view, unsigned lanes, const StepTimes& times);
    /// The time of a step and a part of one, s. All instants are from here: t + dt and (n + 1)·dt round otherwise, and
    /// which tasks share a batch would decide what a source gives.
    [[nodiscard]] double instant(std::uint64_t step, double part = 0) const;
    [[nodiscard]] StepClock clock(double t_old_s, double t_new_s) const;
    [[nodiscard]] unsigned restart_lanes(std::size_t batch) const;
    /// `t_s`: when the pole has moved, for the message.
    void refactor(Batch& batch, int lane, const BatchView& view, int pole, double t_s) const;

    const Network& net_;
    const Decomposition& parts_;
    EngineOptions options_;
    std::vector<Batch> batches_;
    std::size_t boundary_ = 0;           // the first batches have all cut lines
    double boundary_s_ = 0, inner_s_ = 0;  // injected for those and the others
    std::vector<Place> place_of_task_;
    std::unique_ptr<LineStore> lines_;
    std::unique_ptr<Exchange> exchange_;
    std::vector<Operation> calendar_;    // ascending
    std::size_t next_operation_ = 0;
    std::vector<Watch> watches_;         // per batch
    std::vector<Restart> restarts_;
    std::vector<std::pair<int, unsigned>> restarted_;  // batches and lanes of the last step
    std::uint64_t step_ = 0;             // of the last solution
    long unsettled_ = 0;
    bool frozen_ = false;
};

}  // namespace emt
