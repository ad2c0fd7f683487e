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

/// The simulation cannot continue: a solution is not finite, or a node has no path to ground.
struct SimulationError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Returns "t = 0.05 s", for messages.
[[nodiscard]] std::string at_time(double t_s);

struct EngineOptions {
    ExchangeMode exchange = ExchangeMode::step;
    Transport transport = Transport::automatic;
    const Kernels* kernels = nullptr;
    Message message = Message::pair;
    /// Injected time of each task (simulated machines only), else empty.
    std::vector<double> injected_us = {};
    /// Replaces the initial state; called before the first message.
    std::function<void(Engine&)> resume = {};
};

class Engine {
public:
    /// Collective over `comm`: all ranks pass the same network, decomposition, mapping and options.
    Engine(MPI_Comm comm, const Network& net, const Decomposition& parts, const Mapping& mapping, const EngineOptions& options);

    /// Advances by one time step. Throws SimulationError.
    void step();
    /// Receives all waves under way; call on every rank after the same number of steps.
    void drain() { exchange_->drain(step_); }
    /// Stops all switch operations and source starts: for measurement after the end of a study.
    void freeze_events() { frozen_ = true; }

    [[nodiscard]] std::uint64_t steps() const { return step_; }
    /// Returns the voltage of a node, V; the node's task must be on this rank (see owns()).
    [[nodiscard]] double voltage(int node) const;
    [[nodiscard]] bool owns(int node) const;
    /// Returns a signal's value at the beginning of the last step (see README, Theory); its task must be on this rank.
    [[nodiscard]] double signal(int signal) const;
    [[nodiscard]] bool owns_signal(int signal) const;
    /// Returns the digest of all node voltages at all steps so far, per task, as (task, digest).
    [[nodiscard]] std::vector<std::pair<int, std::uint64_t>> digests() const;

    /// Writes or reads back a task's state, and a line end's waves under way (engine_state.cpp). Returns false if they
    /// are on another rank. To read: first resume_at(), in EngineOptions::resume only.
    bool visit_task(int task, Archive& archive);
    bool visit_line(int line, int end, Archive& archive);
    /// Sets the step of the state that follows, and the number of `unsettled` solutions before it on this rank.
    void resume_at(std::uint64_t step, long unsettled);

    /// A task's place in a batch of this rank; the batch is null if the task is on another rank.
    struct Seat {
        const Batch* batch;
        int lane;
    };
    [[nodiscard]] Seat seat(int task) const;
    [[nodiscard]] double dt_s() const { return net_.dt_s; }
    /// Returns the time of the last solution, s.
    [[nodiscard]] double time() const { return instant(step_); }
    /// Returns true if a task's last step had two half steps, because it began with a discontinuity.
    [[nodiscard]] bool restarted(int task) const;
    [[nodiscard]] std::vector<Batch>& batches() { return batches_; }
    [[nodiscard]] const LineStore& lines() const { return *lines_; }
    [[nodiscard]] const ExchangeCounts& exchange_counts() const { return exchange_->counts(); }
    [[nodiscard]] const Kernels& kernels() const { return *options_.kernels; }
    [[nodiscard]] long unsettled() const { return unsettled_; }
    [[nodiscard]] std::size_t poles_that_move_by_themselves() const;
    /// Returns the injected work of this rank per step, µs.
    [[nodiscard]] double injected_us() const { return 1e6 * (boundary_s_ + inner_s_); }
    [[nodiscard]] std::size_t bytes_touched() const;
    [[nodiscard]] std::size_t bytes_written() const;

    /// Does every rank's own work in each step besides its tasks: the clock and the calendar. Measured as σ.
    [[nodiscard]] StepClock prologue(std::uint64_t step) const;
    /// Before the waves of a step arrive: saves the instant from which poles may move inside the step.
    void keep(std::size_t batch);
    /// Advances one batch by one step; its lines' histories must be in place. With `watch`, times each part, slower.
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
        bool armed;     // a breaker with an order to open: waits for its current zero
        const Switch* device = nullptr;
        const double* signal = nullptr;  // of its gate
        double before = 0;  // its current while closed, its voltage while open, at the instant before, A or V
        double gate = 0;    // start of its gate by a signal, in steps after t_n
        bool still = false; // cannot move in this step, whatever its voltage or current
        double entry = 0, earlier = 0;  // `before` at t_n and t_{n-1}; 0 if it has moved or been still since
        double from = 0;    // time of the order to open inside this step
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
        std::vector<double> fronts;  // 3 per end of a line: contribution of jumps inside this step to its waves, V
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
    /// Sends fronts as fronts: see engine_fronts.cpp.
    void meet_fronts(std::size_t first, std::size_t last, std::uint64_t step);
    void meet_fronts(std::size_t batch, const std::vector<Operation>& operations, std::uint64_t step);
    [[nodiscard]] double passed(const Batch& batch, const Pole& pole, const double* v) const;
    [[nodiscard]] double instant_of(const Batch& batch, const Pole& pole, double x, double now, std::uint64_t step) const;
    [[nodiscard]] double gate_from(const Pole& pole, double x, std::uint64_t step) const;
    void set_waves(Watch& watch, const Batch& batch, int lane, double x);
    /// Computes the voltages at the end of a step or half step; finish() makes its state. Lanes of `skip` may be wrong.
    void solve(Batch& batch, const BatchView& view, const StepClock& clock, int kind, unsigned skip, StopWatch* watch);
    void complete(Batch& batch, const BatchView& view, unsigned outside, unsigned skip);
    void finish_batch(const Batch& batch, const BatchView& view, unsigned mask, std::uint64_t step) const;
    void half_steps(Restart& restart);
    void half_step(Batch& batch, const BatchView& view, unsigned lanes, const StepTimes& times);
    /// Returns the time of a step plus a part of one, s. All instants come from here: t + dt and (n + 1)·dt round
    /// differently, and a source's value would depend on the division into batches.
    [[nodiscard]] double instant(std::uint64_t step, double part = 0) const;
    [[nodiscard]] StepClock clock(double t_old_s, double t_new_s) const;
    [[nodiscard]] unsigned restart_lanes(std::size_t batch) const;
    /// `t_s`: time of the pole's operation, for the message.
    void refactor(Batch& batch, int lane, const BatchView& view, int pole, double t_s) const;

    const Network& net_;
    const Decomposition& parts_;
    EngineOptions options_;
    std::vector<Batch> batches_;
    std::size_t boundary_ = 0;           // the first batches have all cut lines
    double boundary_s_ = 0, inner_s_ = 0;  // injected, for these and the other batches
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
