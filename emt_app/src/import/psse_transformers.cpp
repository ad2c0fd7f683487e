// A transformer is a ratio t = t1/t2 at its first bus and the impedance t2²·Z: the turns t1 and t2 are at both ends of
// the impedance Z. PSS/E gives Z per unit of the bases of the buses, for every NOMV. ANG is positive if the winding's
// bus leads.
//
// Three windings are a star: Z1 = (Z12 + Z31 - Z23)/2 and so on, each with a ratio at its bus. The voltages of the
// windings give the voltage of the star bus. If a winding has no own impedance, its bus is the star bus.
#include "import/psse_transformers.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace emt {
namespace {

constexpr double kPsseMostShift = 55;       // degrees, largest shift of the simulator
constexpr double kNoImpedance = 1e-9;       // per unit; sums of impedances that cancel
constexpr long kFirstStarBus = 1'000'001;   // beyond the numbers of buses

struct PsseWinding {
    long index = 1, number = 0;        // number of the winding, and of its bus
    const std::size_t* bus = nullptr;  // null if the winding is off or its bus isolated
    double turns = 1, angle = 0;
    GridPhasor z{};                    // impedance of its branch of the star
};

class TransformerReader {
public:
    explicit TransformerReader(PsseNetwork& network) : net_(network) {}

    void run() {
        for (const PsseRecord& record : net_.file[PsseSection::transformer]) read(record);
        net_.note(static_cast<std::size_t>(stars_), "transformers of three windings: stars, with the buses B" + std::to_string(kFirstStarBus) + " and following");
        net_.note(controlled_, "windings with control of taps or angles (COD): stay as the case has them");
    }

private:
    void read(const PsseRecord& record) {
        PsseRow r = net_.row(record.front());
        const bool three = record.size() == 5;
        const long count = three ? 3 : 2;
        const std::vector<long> number{r.whole(0, "I"), r.whole(1, "J"), r.whole(2, "K", 0)};
        const long cw = code(r, 4, "CW", 3), cz = code(r, 5, "CZ", 3), cm = code(r, 6, "CM", 2), status = r.whole(11, "STAT", 1);
        const double mag1 = r.number(7, "MAG1", 0.0), mag2 = r.number(8, "MAG2", 0.0);
        const std::string id = r.id(3);
        if (!r.sound() || !net_.first(r, "transformer", {number.begin(), number.end()}, id)) return;
        if (status < 0 || status > (three ? 4 : 1)) return r.refuse("STAT (field 12) is " + std::to_string(status) + ": expected 0 to " + (three ? "4" : "1"));
        if (status == 0) return;

        PsseWinding w[3];
        for (long k = 0; k < count; ++k) {
            w[k].index = k + 1;
            w[k].number = number[static_cast<std::size_t>(k)];
            const bool off = three && status == (k == 0 ? 4 : k + 1);  // for three windings, status 2 and 3 turn that winding off, 4 the first
            if (!off) w[k].bus = net_.bus(r, w[k].number);
        }
        if (!r.sound()) return;
        double nomv1 = 0;
        for (long k = 0; k < count; ++k) {
            PsseRow winding = net_.row(record[static_cast<std::size_t>(2 + k)]);
            if (w[k].bus == nullptr) continue;
            const GridBus& b = net_.grid.bus[*w[k].bus];
            const double nomv = winding.number(1, "NOMV", 0.0);
            if (k == 0) nomv1 = nomv;
            if (!net_.has_kv(*w[k].bus) && (cw == 2 || nomv > 0)) winding.refuse("bus " + std::to_string(b.number) + " has no base voltage: expected BASKV in its record");
            w[k].turns = psse_turns(cw, winding.number(0, "WINDV", cw == 2 ? b.kv : 1.0), nomv, b.kv);
            w[k].angle = three || k == 0 ? winding.number(2, "ANG", 0.0) : 0;
            if (!(w[k].turns > 0)) winding.refuse("WINDV (field 1) must be positive, and NOMV (field 2) not negative");
            if (three || k == 0) control(winding);
            if (!winding.sound()) return;
        }
        PsseRow z = net_.row(record[1]);
        if (three)
            star(z, r, w, cz, id);
        else if (w[0].bus != nullptr && w[1].bus != nullptr)
            add(z, "T" + std::to_string(number[0]) + "_" + std::to_string(number[1]) + "_" + id, w[0], *w[1].bus, w[1].turns, 0, impedance(z, cz, 0));
        const double sbase = z.number(2, "SBASE1-2", net_.grid.mva);
        if (w[0].bus == nullptr || (!three && w[1].bus == nullptr) || !z.sound()) return;
        GridBus& b = net_.grid.bus[*w[0].bus];
        if (cm == 2 && mag2 * sbase < mag1 * 1e-6) return r.refuse("the exciting current MAG2 (field 9) is below the loss current of MAG1 (field 8, W): expected more");
        const GridPhasor y = psse_magnetizing(cm, mag1, mag2, sbase, nomv1, b.kv, net_.grid.mva);
        b.g += y.real() * net_.grid.mva;
        b.b += y.imag() * net_.grid.mva;
    }

    static long code(PsseRow& r, std::size_t place, const char* name, long most) {
        const long value = r.whole(place, name, 1);
        if (value < 1 || value > most) r.refuse(std::string(name) + " (field " + std::to_string(place + 1) + ") is " + std::to_string(value) + ": expected 1 to " + std::to_string(most));
        return value;
    }
    void control(PsseRow& winding) {
        const std::size_t cod = net_.file.version >= 34 ? 15 : 6;  // after 12 or 3 ratings
        controlled_ += winding.whole(cod, "COD", 0) > 0 ? 1 : 0;  // below 0: locked
        if (const long table = winding.whole(cod + 7, "TAB", 0); table != 0)
            winding.refuse("impedance correction table " + std::to_string(table) + " (TAB, field " + std::to_string(cod + 8) + ") is not supported: expected 0, and the impedance at this tap");
    }
    /// The impedance whose fields begin at `place`.
    GridPhasor impedance(PsseRow& z, long cz, std::size_t place) {
        const double r = z.number(place, "R", 0.0), x = z.number(place + 1, "X"), sbase = z.number(place + 2, "SBASE", net_.grid.mva);
        if (!(sbase > 0)) z.refuse("SBASE (field " + std::to_string(place + 3) + ") must be positive");
        if (cz == 3 && x < r * 1e-6 / sbase) z.refuse("the impedance X (field " + std::to_string(place + 2) + ") is below the resistance of the loss R (W): expected more");
        return z.sound() ? psse_impedance(cz, r, x, sbase, net_.grid.mva) : GridPhasor();
    }
    /// Adds a branch from the bus of winding `w` to one whose winding has these turns.
    void add(PsseRow& z, const std::string& name, const PsseWinding& w, std::size_t to, double turns, double angle, GridPhasor impedance) {
        if (!z.sound()) return;
        const double shift = w.angle - angle;
        if (*w.bus == to) return z.refuse("the transformer begins and ends at one bus, perhaps through lines of zero impedance: expected two");
        if (std::abs(impedance) < kNoImpedance) return z.refuse("a transformer without impedance is not supported: expected X (field 2) above 0");
        if (std::abs(shift) > kPsseMostShift) return z.refuse("a phase shift of more than 55 degrees is not supported: expected ANG within");
        const GridPhasor at_to = impedance * turns * turns;
        net_.grid.branch.push_back({z.where(), name, *w.bus, to, at_to.real(), at_to.imag(), 0, w.turns / turns, shift, true});
    }

    void star(PsseRow& z, PsseRow& r, PsseWinding (&w)[3], long cz, const std::string& id) {
        const GridPhasor z12 = impedance(z, cz, 0), z23 = impedance(z, cz, 3), z31 = impedance(z, cz, 6);
        if (!z.sound()) return;
        w[0].z = (z12 + z31 - z23) / 2.0;
        w[1].z = (z12 + z23 - z31) / 2.0;
        w[2].z = (z23 + z31 - z12) / 2.0;
        std::vector<PsseWinding> on;
        for (const PsseWinding& one : w)
            if (one.bus != nullptr) on.push_back(one);
        if (on.size() < 2) return;
        std::string name = "T";
        for (const PsseWinding& one : w) name += std::to_string(one.number) + "_";
        name += id + "_w";
        const auto center = std::find_if(on.begin(), on.end(), [](const PsseWinding& one) { return std::abs(one.z) < kNoImpedance; });
        if (center != on.end()) {
            for (const PsseWinding& one : on)
                if (&one != &*center) add(z, name + std::to_string(one.index), one, *center->bus, center->turns, center->angle, one.z);
            return;
        }
        GridPhasor current{}, admittance{};
        for (const PsseWinding& one : on) {
            current += net_.grid.bus[*one.bus].voltage() / std::polar(one.turns, one.angle * kDegree) / one.z;
            admittance += 1.0 / one.z;
        }
        const GridPhasor v = current / admittance;
        if (!(std::abs(v) > 0) || !std::isfinite(std::abs(v))) return z.refuse("the impedances of the three windings cancel each other: expected others");
        const std::size_t at = net_.grid.bus.size();
        net_.grid.bus.push_back({r.where(), kFirstStarBus + stars_++, net_.grid.bus[*on[0].bus].kv, std::abs(v), std::arg(v) / kDegree});
        for (const PsseWinding& one : on) add(z, name + std::to_string(one.index), one, at, 1, 0, one.z);
    }

    PsseNetwork& net_;
    long stars_ = 0;
    std::size_t controlled_ = 0;
};

}  // namespace

double psse_turns(long cw, double windv, double nomv_kv, double base_kv) {
    if (cw == 2) return windv / base_kv;
    return cw == 3 && nomv_kv != 0 ? windv * nomv_kv / base_kv : windv;
}

GridPhasor psse_impedance(long cz, double r, double x, double sbase_mva, double system_mva) {
    if (cz == 1) return {r, x};
    const double resistance = cz == 2 ? r : r * 1e-6 / sbase_mva;
    return GridPhasor(resistance, cz == 2 ? x : std::sqrt(x * x - resistance * resistance)) * (system_mva / sbase_mva);
}

GridPhasor psse_magnetizing(long cm, double mag1, double mag2, double sbase_mva, double nomv_kv, double base_kv, double system_mva) {
    if (cm == 1) return {mag1, mag2};
    const double by_voltage = nomv_kv > 0 ? base_kv * base_kv / (nomv_kv * nomv_kv) : 1;
    const double g = mag1 * 1e-6 / sbase_mva;
    return GridPhasor(g, -std::sqrt(mag2 * mag2 - g * g)) * (by_voltage * sbase_mva / system_mva);
}

void read_psse_transformers(PsseNetwork& network) { TransformerReader(network).run(); }

}  // namespace emt
