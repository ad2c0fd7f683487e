#include "import/psse.hpp"

#include <algorithm>
#include <cmath>

#include "import/grid_flow.hpp"
#include "import/psse_dc_lines.hpp"
#include "import/psse_network.hpp"
#include "import/psse_transformers.hpp"

namespace emt {
namespace {

class PsseReader {
public:
    explicit PsseReader(PsseFile file) : net_(std::move(file)), grid_(net_.grid) {}

    Grid run() {
        each(PsseSection::load, &PsseReader::load);
        each(PsseSection::fixed_shunt, &PsseReader::fixed_shunt);
        each(PsseSection::generator, &PsseReader::machine);
        for (const PsseRecord& record : net_.file[PsseSection::branch]) {
            PsseRow r = net_.row(record.front());
            branch(r, net_.branch(r), "branch", "L");
        }
        for (const PsseRecord& record : net_.file[PsseSection::switching_device]) {
            PsseRow r = net_.row(record.front());
            branch(r, net_.switching_device(r), "switching device", "SW");
        }
        read_psse_transformers(net_);
        each(PsseSection::switched_shunt, &PsseReader::switched_shunt);
        read_psse_dc_lines(net_);
        refuse_if_on(PsseSection::vsc_dc, "a VSC DC line", 1, "MDC");
        refuse_if_on(PsseSection::multi_terminal_dc, "a multi-terminal DC line", 4, "MDC");
        refuse_if_on(PsseSection::facts, "a FACTS device", 3, "MODE");
        refuse_if_on(PsseSection::induction_machine, "an induction machine", 2, "STAT");
        if (!net_.problems.empty()) throw CaseError(net_.problems.text());
        if (grid_.bus.empty()) throw CaseError(net_.file.origin + ": has no bus\n");
        net_.note(currents_, "loads of constant current: their powers at the case's voltages");
        net_.note(unused_, "machines at buses of type 1 (IDE): left out");
        net_.note(remote_, "machines regulate another bus (IREG): with --solve they hold their own bus at the case's voltage");
        net_.note(wind_, "machines with limits by power factor (WMOD): with --solve QT and QB are their limits");
        net_.note(step_ups_, "machines have a step-up transformer: each with a bus, from B2000001 on");
        net_.note(controlled_, "switched shunts with control (MODSW): stay at BINIT");
        choose_slack(grid_, net_.file.origin);
        return std::move(grid_);
    }

private:
    void each(PsseSection section, void (PsseReader::*read)(PsseRow&)) {
        for (const PsseRecord& record : net_.file[section]) {
            PsseRow r = net_.row(record.front());
            (this->*read)(r);
        }
    }
    /// Returns the bus of a device, or nothing if it is off or not the first device with its identifier.
    GridBus* bus_of(PsseRow& r, const char* kind, const std::string& id, bool on) {
        const long number = r.whole(0, "I");
        if (!r.sound() || !net_.first(r, kind, {number}, id) || !on) return nullptr;
        const std::size_t* const at = net_.bus(r, number);
        return at != nullptr ? &grid_.bus[*at] : nullptr;
    }

    void load(PsseRow& r) {
        const bool on = r.whole(2, "STATUS", 1) != 0, generates = net_.file.version >= 34 && r.whole(16, "DGENM", 0) != 0;
        const GridPhasor power{r.number(5, "PL", 0.0), r.number(6, "QL", 0.0)}, current{r.number(7, "IP", 0.0), r.number(8, "IQ", 0.0)};
        const double yp = r.number(9, "YP", 0.0), yq = r.number(10, "YQ", 0.0);
        const GridPhasor generated = generates ? GridPhasor(r.number(14, "DGENP", 0.0), r.number(15, "DGENQ", 0.0)) : GridPhasor();
        GridBus* const b = bus_of(r, "load", r.id(1), on);
        if (b == nullptr) return;
        const GridPhasor s = power + current * b->vm - generated;
        b->p += s.real();
        b->q += s.imag();
        b->g += yp;
        b->b += yq;  // positive: a capacitance
        currents_ += current != GridPhasor() ? 1 : 0;
    }

    void fixed_shunt(PsseRow& r) {
        const bool on = r.whole(2, "STATUS", 1) != 0;
        const double g = r.number(3, "GL", 0.0), b = r.number(4, "BL", 0.0);
        if (GridBus* const at = bus_of(r, "fixed shunt", r.id(1), on); at != nullptr) {
            at->g += g;
            at->b += b;
        }
    }

    void switched_shunt(PsseRow& r) {
        const long mode = r.whole(1, "MODSW", 1);
        const bool on = r.whole(3, "STAT", 1) != 0;
        const double b = r.number(9, "BINIT", 0.0);
        if (GridBus* const at = bus_of(r, "switched shunt", "1", on); at != nullptr) {
            at->b += b;
            controlled_ += mode != 0 ? 1 : 0;
        }
    }

    void machine(PsseRow& r) {
        const double p = r.number(2, "PG", 0.0), q = r.number(3, "QG", 0.0), most = r.number(4, "QT", 9999.0), least = r.number(5, "QB", -9999.0),
                     v = r.number(6, "VS", 1.0), rating = r.number(8, "MBASE", grid_.mva), rt = r.number(11, "RT", 0.0), xt = r.number(12, "XT", 0.0),
                     ratio = r.number(13, "GTAP", 1.0);
        const long regulated = r.whole(7, "IREG", 0), wind = r.whole(26, "WMOD", 0);
        const std::string id = r.id(1);
        GridBus* const b = bus_of(r, "machine", id, r.whole(14, "STAT", 1) > 0);
        if (b == nullptr) return;
        if (!b->regulated) {
            ++unused_;
            return;
        }
        if (least > most) return r.refuse("QB (field 6) is above QT (field 5): expected at most that");
        if (!(v > 0)) return r.refuse("VS (field 7) must be positive");
        const double mva = rating > 0 ? rating : grid_.mva;
        const bool remote = regulated != 0 && net_.bus(r, regulated) != nullptr && &grid_.bus[*net_.bus(r, regulated)] != b;
        remote_ += remote ? 1 : 0;
        wind_ += wind > 1 ? 1 : 0;
        grid_.machine.push_back({r.where(), "G" + std::to_string(r.whole(0, "I")) + "_" + id, static_cast<std::size_t>(b - grid_.bus.data()), p, q, least, most,
                                 remote ? b->vm : v, mva});
        if (rt == 0 && xt == 0) return;
        if (rt < 0 || !(xt > 0) || !(ratio > 0)) return r.refuse("RT, XT and GTAP (fields 12 to 14) are no step-up transformer: expected XT and GTAP above 0");
        ++step_ups_;
        grid_.machine.back().step_up = GridPhasor(rt, xt) * (grid_.mva / mva);
        grid_.machine.back().step_up_ratio = ratio;
    }

    void branch(PsseRow& r, const PsseBranch& e, const char* kind, const char* letter) {
        if (!r.sound() || !net_.first(r, kind, {e.i, e.j}, e.id) || !e.on) return;
        const std::size_t *const from = net_.bus(r, e.i), *const to = net_.bus(r, e.j);
        if (from == nullptr || to == nullptr) return;
        if (e.i == e.j) return r.refuse("it begins and ends at bus " + std::to_string(e.i) + ": expected two buses");
        const auto shunt = [&](std::size_t at, GridPhasor y) {
            grid_.bus[at].g += y.real() * grid_.mva;
            grid_.bus[at].b += y.imag() * grid_.mva;
        };
        shunt(*from, e.at_i);
        shunt(*to, e.at_j);
        if (*from == *to) return shunt(*from, {0, e.b});  // its ends are one bus: no current flows through it
        const bool transformer = grid_.bus[*from].kv != grid_.bus[*to].kv;
        grid_.branch.push_back({r.where(), letter + std::to_string(e.i) + "_" + std::to_string(e.j) + "_" + e.id, *from, *to, e.r, e.x, e.b, 1, 0, transformer});
    }

    /// Refuses such devices if they are on: the simulator has none.
    void refuse_if_on(PsseSection section, const char* what, std::size_t place, const char* status) {
        for (const PsseRecord& record : net_.file[section]) {
            PsseRow r = net_.row(record.front());
            if (r.whole(place, status, 1) != 0)
                r.refuse(std::string(what) + " that is on is not supported: expected " + status + " (field " + std::to_string(place + 1) + ") 0, and loads at its buses");
        }
    }

    PsseNetwork net_;
    Grid& grid_;
    std::size_t currents_ = 0, unused_ = 0, remote_ = 0, wind_ = 0, step_ups_ = 0, controlled_ = 0;
};

}  // namespace

Grid read_psse(const std::string& text, const std::string& origin) { return PsseReader(read_psse_file(text, origin)).run(); }

}  // namespace emt
