// The inverter holds VSCHD = V(inverter) + RCOMP·I, the rectifier the power or the current SETVL. A bridge has the voltage
// V = 3√2/π·E·cos(α) - 3/π·X·I and the overlap u with cos(α + u) = cos(α) - √2·X·I/E. The fundamental of its current lags by φ,
// tan(φ) = (2u + sin 2α - sin 2(α + u))/(cos 2α - cos 2(α + u)) (E. W. Kimbark, Direct Current Transmission I, 1971, ch. 3).
#include "import/psse_dc_lines.hpp"

#include <cmath>
#include <numbers>

namespace emt {
namespace {

class DcLineReader {
public:
    explicit DcLineReader(PsseNetwork& network) : net_(network) {}

    void run() {
        std::size_t lines = 0;
        for (const PsseRecord& record : net_.file[PsseSection::two_terminal_dc]) lines += read(record) ? 1 : 0;
        net_.note(lines, "two-terminal DC lines: constant powers at their ends, from their set points and taps");
    }

private:
    bool read(const PsseRecord& record) {
        PsseRow r = net_.row(record[0]);
        const long mode = r.whole(1, "MDC", 0);
        const double rdc = r.number(2, "RDC", 0.0), setting = r.number(3, "SETVL", 0.0), kv = r.number(4, "VSCHD", 0.0), compound = r.number(6, "RCOMP", 0.0);
        if (!r.sound() || mode == 0 || setting == 0) return false;
        // Returns the current from (kv + slope·I)·I = |SETVL| MW, at the rectifier if SETVL is positive, else at the
        // inverter.
        const double slope = (setting > 0 ? rdc : 0) - compound, root = kv * kv + 4 * slope * std::abs(setting);
        const double ka = mode == 2 ? setting / 1000 : 2 * std::abs(setting) / (kv + std::sqrt(root)), inverter_kv = kv - compound * ka;
        if (!(kv > 0) || !(ka > 0) || !(inverter_kv > 0)) {
            r.refuse("MDC, RDC, SETVL, VSCHD and RCOMP (fields 2 to 7) give no current: expected MDC 1 or 2 and a power that the line can carry");
            return false;
        }
        converter(record[1], inverter_kv + rdc * ka, ka, 1);
        converter(record[2], inverter_kv, ka, -1);
        return true;
    }

    void converter(const PsseLine& line, double dc_kv, double dc_ka, double sign) {
        PsseRow r = net_.row(line);
        const long number = r.whole(0, "IP");
        const double bridges = r.number(1, "NB"), rc = r.number(4, "RC", 0.0), xc = r.number(5, "XC", 0.0), kv = r.number(6, "EBAS"), ratio = r.number(7, "TR", 1.0),
                     tap = r.number(8, "TAP", 1.0);
        const long commutating = r.whole(12, "IC", 0);
        if (rc != 0 || r.number(16, "XCAP", 0.0) != 0 || (commutating != 0 && commutating != number))
            r.refuse("a converter with RC, XCAP or another commutating bus IC (fields 5, 17, 13) is not supported: expected 0");
        if (!r.sound()) return;
        const std::size_t* const at = net_.bus(r, number);
        if (at == nullptr) {
            if (r.sound()) r.refuse("bus " + std::to_string(number) + " of a DC line that is on is isolated: expected MDC 0");
            return;
        }
        GridBus& b = net_.grid.bus[*at];
        const GridPhasor power = PsseConverter{bridges, xc, b.vm * kv * ratio / tap}.power(dc_kv, dc_ka);
        if (!std::isfinite(power.imag())) return r.refuse("the converter does not reach " + std::to_string(dc_kv) + " kV at this voltage and tap: expected other NB, EBAS, TR or TAP");
        b.p += sign * power.real();
        b.q += power.imag();
    }

    PsseNetwork& net_;
};

}  // namespace

GridPhasor PsseConverter::power(double dc_kv, double dc_ka) const {
    using std::numbers::pi, std::numbers::sqrt2;
    const double cosine = (dc_kv / bridges + 3 / pi * reactance_ohm * dc_ka) / (3 * sqrt2 / pi * volt_kv);
    const double alpha = std::acos(cosine), end = std::acos(cosine - sqrt2 * reactance_ohm * dc_ka / volt_kv), overlap = end - alpha;
    const double tangent = overlap > 0 ? (2 * overlap + std::sin(2 * alpha) - std::sin(2 * end)) / (std::cos(2 * alpha) - std::cos(2 * end)) : std::tan(alpha);
    const double p = dc_kv * dc_ka;
    return {p, p * tangent};
}

void read_psse_dc_lines(PsseNetwork& network) { DcLineReader(network).run(); }

}  // namespace emt
