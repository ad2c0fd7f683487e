// A network as power-flow programs describe it: per unit, one phase, powers at buses.
#pragma once
#include <complex>
#include <cstddef>
#include <numbers>
#include <string>
#include <vector>

namespace emt {

using GridPhasor = std::complex<double>;

inline constexpr double kDegree = std::numbers::pi / 180;  // rad

struct GridBus {
    std::string where;           // in its file, for messages
    long number;
    double kv;                   // base, line to line
    double vm, va;               // per unit, degrees
    double p = 0, q = 0;         // MW and MVAr that loads draw at any voltage
    double g = 0, b = 0;         // MW and MVAr of shunts at 1 per unit: drawn and delivered
    bool slack = false;          // the angle is given; its machines deliver the remaining power
    bool regulated = false;      // its machines hold its voltage

    [[nodiscard]] std::string name() const { return "B" + std::to_string(number); }
    [[nodiscard]] GridPhasor voltage() const;
};

struct GridMachine {
    std::string where, name;
    std::size_t bus;
    double p, q;                 // MW, MVAr delivered
    double q_low, q_high;        // MVAr
    double v;                    // per unit, held when the power flow is solved
    double rating_mva;
    GridPhasor step_up{};        // per unit of the grid's base, between the machine and the bus; 0: none
    double step_up_ratio = 1;    // v(bus)/v(machine) without load
};

struct GridBranch {
    std::string where, name;
    std::size_t from, to;
    double r, x, b;              // per unit
    double tap = 1, shift = 0;   // v(from)/v(to) without load, and degrees by which `from` leads
    bool transformer = false;

    [[nodiscard]] GridPhasor impedance() const { return {r, x}; }
    /// v(from)/v(to) without load.
    [[nodiscard]] GridPhasor ratio() const;
};

struct Grid {
    std::string title;
    double mva = 0;              // base
    double frequency_hz = 0;     // 0: not stated
    double rounding = 0;         // of the voltages as the file has them, per unit
    std::vector<GridBus> bus;
    std::vector<GridMachine> machine;
    std::vector<GridBranch> branch;
    std::vector<std::string> notes;  // assumptions and changes
};

}  // namespace emt
