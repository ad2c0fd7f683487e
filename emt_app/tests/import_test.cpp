// Cases of MATPOWER as cases of this program, and what is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "import/grid_flow.hpp"
#include "import/matpower.hpp"
#include "network/phasor.hpp"
#include "simulation.hpp"

namespace emt::test {
namespace {

/// The nine-bus system of P. M. Anderson, A. A. Fouad, Power System Control and Stability, 1977, ch. 2, with its solution to all digits.
const std::string kNine = R"(function mpc = nine
%% comments, 'texts' and cells are passed over
mpc.version = '2';
mpc.baseMVA = 100;
mpc.bus_name = { 'one'; 'mpc.bus = [1]' };
mpc.bus = [
	1	3	0	0	0	0	1	1.04	0	16.5	1	1.1	0.9;
	2	2	0	0	0	0	1	1.025	9.280006309103804	18	1	1.1	0.9;
	3	2	0	0	0	0	1	1.025	4.66475143442148	13.8	1	1.1	0.9; % with a comment
	4	1	0	0	0	0	1	1.0257883809564483	-2.2167882459096324	230	1	1.1	0.9
	5	1	125	50	0	0	1	0.9956308362724556	-3.98880594703332	230	1	1.1	0.9;
	6, 1, 90, 30, 0, 0, 1, 1.0126543072190608, -3.68739689464804, 230, 1, 1.1, 0.9;
	7	1	0	0	0	0	1	1.0257693579057632	3.7197010473189067 ...
		230	1	1.1	0.9;
	8	1	100	35	0	0	1	1.0158825638274673	0.7275354979599395	230	1	1.1	0.9;
	9	1	0	0	0	0	1	1.032352938234129	1.9667156279474265	230	1	1.1	0.9;
	10	4	7	3	0	0	1	1	0	230	1	1.1	0.9;
];
mpc.gen = [
	1	71.6410214	27.0459247	Inf	-Inf	1.04	100	1	250	10	0	0	0	0	0	0	0	0	0	0	0;
	2	163	6.6536601	300	-300	1.025	200	1	300	10	0	0	0	0	0	0	0	0	0	0	0;
	3	85	-10.8597092	300	-300	1.025	100	1	270	10	0	0	0	0	0	0	0	0	0	0	0;
	3	50	0	300	-300	1.025	100	0	270	10	0	0	0	0	0	0	0	0	0	0	0;
];
mpc.branch = [
	1	4	0	0.0576	0	250	250	250	1	0	1	-360	360;
	2	7	0	0.0625	0	250	250	250	1	0	1	-360	360;
	3	9	0	0.0586	0	300	300	300	1	0	1	-360	360;
	4	5	0.01	0.085	0.176	250	250	250	0	0	1	-360	360;
	4	6	0.017	0.092	0.158	250	250	250	0	0	1	-360	360;
	5	7	0.032	0.161	0.306	250	250	250	0	0	1	-360	360;
	6	9	0.039	0.17	0.358	150	150	150	0	0	1	-360	360;
	7	8	0.0085	0.072	0.149	250	250	250	0	0	1	-360	360;
	8	9	0.0119	0.1008	0.209	150	150	150	0	0	1	-360	360;
	4	9	0.01	0.08	0.1	150	150	150	0	0	0	-360	360;
	4	10	0.01	0.08	0.1	150	150	150	0	0	1	-360	360;
];
mpc.gencost = [ 2 1500 0 3 0.11 5 150 ];
)";

struct Voltage {
    double kv, v, degrees;
};
constexpr Voltage kSolution[]{{16.5, 1.04, 0}, {18, 1.025, 9.280006309103804}, {13.8, 1.025, 4.66475143442148}, {230, 1.0257883809564483, -2.2167882459096324},
                              {230, 0.9956308362724556, -3.98880594703332}, {230, 1.0126543072190608, -3.68739689464804}, {230, 1.0257693579057632, 3.7197010473189067},
                              {230, 1.0158825638274673, 0.7275354979599395}, {230, 1.032352938234129, 1.9667156279474265}};

/// Largest difference of a voltage from the solution, per unit.
double difference(const nlohmann::ordered_json& imported) {
    const Case c = parse_case(imported.dump(), "nine");
    const std::vector<Complex> x = solve_phasors(c.network);
    double out = 0;
    for (std::size_t i = 0; i < 9; ++i) {
        const Voltage& s = kSolution[i];
        out = std::max(out, std::abs(x[3 * i] / (s.kv * 1e3 * std::sqrt(2.0 / 3)) - std::polar(s.v, s.degrees * std::numbers::pi / 180)));
    }
    return out;
}

TEST(Matpower, ASolvedCaseHasItsVoltages) {
    for (const double dt : {10e-6, 50e-6, 200e-6})
        for (const bool machines : {true, false}) {
            const double pi = difference(import_matpower(kNine, "nine", {{dt, 60, false, machines}}).emt_case);
            const double waves = difference(import_matpower(kNine, "nine", {{dt, 60, true, machines}}).emt_case);
            std::printf("nine buses, %.0f us, %s: voltages off by %.1e per unit with pi sections, %.1e with travelling waves\n", dt * 1e6, machines ? "machines" : "EMFs", pi, waves);
            EXPECT_LT(pi, 1e-7);  // the solution is of branches with 1e-8 per unit more
            EXPECT_LT(waves, 1e-3);
        }
}

TEST(Matpower, LinesAreTravellingWavesWhereTheyTakeAStep) {
    const auto count = [](double dt, bool waves, const char* type) {
        const auto imported = import_matpower(kNine, "nine", {{dt, 60, waves, true}});
        return std::count_if(imported.emt_case["elements"].begin(), imported.emt_case["elements"].end(), [&](const auto& e) { return e["type"] == type; });
    };
    EXPECT_EQ(count(50e-6, true, "line"), 6);
    EXPECT_EQ(count(50e-6, true, "coupled_rl"), 0);
    EXPECT_EQ(count(50e-6, false, "line"), 0);
    EXPECT_EQ(count(50e-6, false, "coupled_rl"), 6);
    EXPECT_EQ(count(400e-6, true, "line"), 2);  // the others take 275 to 385 us
    EXPECT_EQ(count(50e-6, true, "transformer"), 3);
    EXPECT_EQ(count(50e-6, true, "synchronous_machine"), 3);
}

TEST(Matpower, AnImportedCaseStaysInItsSteadyState) {
    Simulation s(import_matpower(kNine, "nine", {}).emt_case.dump());
    s.run(20000);
    EXPECT_NEAR(s.signal("G1.speed"), 1, 1e-9);
    EXPECT_NEAR(s.signal("G2.vt"), 1.025, 1e-9);
    EXPECT_NEAR(s.signal("G2.pe"), 163.0 / 200, 1e-9);
}

/// Solved first.
MatpowerOptions solved(bool waves = false, Solve solve = Solve::with_limits) {
    MatpowerOptions out;
    out.waves = waves;
    out.solve = solve;
    return out;
}

TEST(Matpower, TransformersHaveTheirTapsAndShifts) {
    // Without load the voltage of the far side is that of the near one by the ratio; 1 at bus 2 stands for 20 kV.
    for (const double shift : {0.0, 30.0, -30.0, 54.0, -54.0}) {
        const std::string text = "mpc.baseMVA = 100;\nmpc.bus = [1 3 0 0 0 0 1 1.02 10 110; 2 1 0 0 1e-9 0 1 1 0 20];\n"
                                 "mpc.gen = [1 0 0 0 0 1.02 100 1];\nmpc.branch = [1 2 0.01 0.1 0 0 0 0 0.95 " + std::to_string(shift) + " 1];\n";
        const Case c = parse_case(import_matpower(text, "tap", solved()).emt_case.dump(), "tap");
        const std::vector<Complex> x = solve_phasors(c.network);
        EXPECT_NEAR(std::abs(x[3]) / (20e3 * std::sqrt(2.0 / 3)), 1.02 / 0.95, 1e-8);
        EXPECT_NEAR(std::remainder(std::arg(x[3]) * 180 / std::numbers::pi - 10 + shift, 360), 0, 1e-6);
    }
}

std::string refusal(const std::string& from, const std::string& to) {
    std::string text = kNine;
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    try {
        static_cast<void>(import_matpower(text, "nine.m", {}));
    } catch (const CaseError& e) {
        return e.what();
    }
    return "none";
}

TEST(Matpower, SaysWhatIsWrongAndInWhichLine) {
    const auto told = [](const std::string& from, const std::string& to, const std::string& what) {
        const std::string message = refusal(from, to);
        EXPECT_NE(message.find(what), std::string::npos) << message;
    };
    told("mpc.version = '2'", "mpc.version = '1'", "nine.m: version '1'");
    told("mpc.baseMVA = 100", "mpc.baseMVA = base", "nine.m, line 4: 'base' is neither a value");
    told("mpc.gencost = ", "mpc.bus(:, 3) = 1.1 * ", "nine.m, line 38: a table of 1 x 7 does not fill 10 places");
    told("\t4\t6\t0.017", "\t4\t6x\t0.017", "nine.m, line 30: '6x' is not a number");
    told("\t4\t6\t0.017", "\t4\t16\t0.017", "nine.m, line 30: [matpower] there is no bus 16");
    told("0.01\t0.085", "0\t0", "nine.m, line 29: [matpower] a branch without impedance");
    told("\t1\t0\t1\t-360", "\t1\t80\t1\t-360", "nine.m, line 26: [matpower] a phase shifter of more than 55 degrees");
    told("\t5\t1\t125", "\t4\t1\t125", "nine.m, line 11: [matpower] bus 4 occurs twice");
    told("\t5\t1\t125", "\t5\t1\tNaN", "nine.m, line 11: [matpower] column 3 is not finite");
    told("\t5\t1\t125\t50\t0\t0\t1\t0.9956308362724556", "\t5", "nine.m, line 11: a row of 6 columns in a table of 13");
    told("mpc.gencost = [ 2 1500 0 3 0.11 5 150 ]", "mpc.gencost = [ 2", "[ is never closed");
    told("mpc.gen = [", "mpc.generators = [", "has no table 'mpc.gen'");
    told("\t8\t9\t0.0119", "\t8\t10\t0.0119", "the case is not solved");
}

/// The case with one text in place of another.
std::string nine(const std::string& from, const std::string& to) {
    std::string text = kNine;
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
}

bool noted(const std::vector<std::string>& notes, const std::string& what) {
    return std::any_of(notes.begin(), notes.end(), [&](const std::string& n) { return n.find(what) != std::string::npos; });
}

std::ptrdiff_t of_type(const nlohmann::ordered_json& emt_case, const char* type) {
    return std::count_if(emt_case["elements"].begin(), emt_case["elements"].end(), [&](const auto& e) { return e["type"] == type; });
}

TEST(Matpower, StatementsThatChangeTheCaseAreExecuted) {
    const Grid plain = read_matpower(kNine, "nine.m");
    const auto reactances = [&](const std::string& statements) {
        std::vector<double> out;
        const Grid grid = read_matpower(kNine + statements, "nine.m");
        for (std::size_t i = 0; i < plain.branch.size(); ++i) out.push_back(grid.branch.at(i).x / plain.branch[i].x);
        return out;
    };
    const std::vector<double> one(plain.branch.size(), 1), two(plain.branch.size(), 2);
    EXPECT_EQ(reactances("x = 2; mpc.branch(:, 4) = x * mpc.branch(:, 4);"), two);
    EXPECT_EQ(reactances("for k = 1:11, mpc.branch(k, 4) = mpc.branch(k, 4) * 2; end"), two);
    EXPECT_EQ(reactances("%{\nmpc.branch(:, 4) = 0;\n%}"), one);
    EXPECT_EQ(reactances("if 0\nmpc.branch(:, 4) = 0;\nend"), one);
    EXPECT_EQ(reactances("return;\nmpc.branch(:, 4) = 0;"), one);
    EXPECT_THROW(static_cast<void>(read_matpower(kNine + "mpc = ext2int(mpc);", "nine.m")), CaseError);
    EXPECT_THROW(static_cast<void>(read_matpower(kNine + "[mpc.branch, k] = f(mpc.branch);", "nine.m")), CaseError);
}

TEST(Matpower, WhatIsNotSolvedIsRefusedOrSolved) {
    const std::string flat = nine("0.9956308362724556\t-3.98880594703332", "1\t0");
    EXPECT_THROW(static_cast<void>(import_matpower(flat, "flat", {})), CaseError);
    EXPECT_LT(difference(import_matpower(flat, "flat", solved()).emt_case), 1e-7);
    MatpowerOptions tolerant;
    tolerant.tolerance_mva = 1e6;
    EXPECT_GT(difference(import_matpower(flat, "flat", tolerant).emt_case), 1e-4);
    EXPECT_THROW(static_cast<void>(import_matpower(nine("\t5\t1\t125", "\t5\t1\t12500"), "heavy", solved())), CaseError);
}

TEST(Matpower, MachinesKeepTheirReactiveLimits) {
    // Machine 2 delivers 6.65 MVAr where it may.
    const std::string narrow = nine("6.6536601\t300\t-300", "6.6536601\t2\t-300");
    const MatpowerImport kept = import_matpower(narrow, "narrow", solved());
    EXPECT_TRUE(noted(kept.notes, "machines of 1 buses are at their reactive limits: 2"));
    EXPECT_GT(difference(kept.emt_case), 1e-4);
    EXPECT_LT(difference(import_matpower(narrow, "narrow", solved(false, Solve::without_limits)).emt_case), 1e-7);
    Grid grid = read_matpower(narrow, "narrow");
    settle_grid(grid, Solve::with_limits, 0, "narrow");
    EXPECT_LT(voltage_error(grid, kept.emt_case).per_unit, 1e-8);
    EXPECT_LT(grid.bus[1].vm, 1.025);
    EXPECT_NEAR(grid.machine[1].q, 2, 1e-6);
}

TEST(Matpower, DcLinesAreLoadsAtTheirEnds) {
    const std::string line = "mpc.dcline = [5 8 1 50 48 1 2 1 1 0 100 -10 10 -10 10 1 0.02];\n";
    EXPECT_THROW(static_cast<void>(import_matpower(kNine + line, "dc", {})), CaseError);  // its powers are missing
    const Grid grid = read_matpower(kNine + line, "dc");
    EXPECT_EQ(grid.bus[4].p, 175);
    EXPECT_EQ(grid.bus[4].q, 49);
    EXPECT_EQ(grid.bus[7].p, 100 - (50 - (1 + 0.02 * 50)));
    EXPECT_EQ(grid.bus[7].q, 33);
    EXPECT_TRUE(noted(import_matpower(kNine + line, "dc", solved()).notes, "DC lines"));
}

TEST(Matpower, DispatchableLoadsAreNoMachines) {
    // Bus 8 has 100 MW of load, of which 40 are dispatchable here.
    std::string text = nine("\t8\t1\t100\t35", "\t8\t1\t60\t20");
    text += "mpc.gen(end + 1, :) = [8 -40 -15 0 -15 1 100 1 0 -40 0 0 0 0 0 0 0 0 0 0 0];\n";
    const MatpowerImport imported = import_matpower(text, "dispatchable", {});
    EXPECT_EQ(of_type(imported.emt_case, "synchronous_machine"), 3);
    EXPECT_LT(difference(import_matpower(text, "dispatchable", solved()).emt_case), 1e-7);
    EXPECT_TRUE(noted(imported.notes, "1 generators are dispatchable loads"));
}

TEST(Matpower, MachinesAtTheSlackKeepTheirPowerButTheFirst) {
    const std::string text = kNine + "mpc.gen(end + 1, :) = mpc.gen(1, :);\nmpc.gen(end, 2:3) = [20 5];\n";
    Simulation s(import_matpower(text, "two", {{10e-6, 60, false, true}}).emt_case.dump());
    s.run(1);
    EXPECT_NEAR(s.signal("G5.pe"), 20.0 / 100, 1e-3);
    EXPECT_NEAR(s.signal("G1.pe"), 51.641 / 100, 1e-3);
}

TEST(Matpower, WhatDeliversPowerOrIsNegativeStartsAndStays) {
    struct Change {
        const char *from, *to;
    };
    for (const Change& c : {Change{"\t5\t1\t125\t50\t0", "\t5\t1\t-25\t-10\t0"},     // a negative load
                            Change{"\t5\t1\t125\t50\t0", "\t5\t1\t12\t5\t-30"},      // a negative shunt
                            Change{"0.032\t0.161", "0.032\t-0.03"},                       // a series capacitor
                            Change{"0.032\t0.161", "-0.01\t0.161"},                       // negative resistance
                            Change{"0.032\t0.161", "-0.01\t-0.161"},
                            Change{"0.032\t0.161", "0.032\t0"},
                            Change{"0.161\t0.306", "0.161\t-0.306"},                      // negative charging
                            Change{"0\t0.0625\t0", "-0.002\t0.0625\t0.1"},                // of a transformer
                            Change{"0\t0.0625\t0", "0.002\t-0.03\t0"},
                            Change{"0\t0.0625\t0", "-0.002\t-0.03\t0"},
                            Change{"0\t0.0625\t0", "0.01\t0\t0"},
                            Change{"\t250\t1\t0\t1\t-360", "\t250\t0.98\t-20\t1\t-360"}}) {  // a phase shifter
        Grid grid = read_matpower(nine(c.from, c.to), "nine.m");
        settle_grid(grid, Solve::without_limits, 0, "nine.m");
        std::vector<std::string> notes;
        const auto emt_case = grid_case(grid, {50e-6, 60, false, true}, notes);
        EXPECT_LT(voltage_error(grid, emt_case).per_unit, 1e-8) << c.to;
        Simulation s(emt_case.dump());
        s.run(20000);
        EXPECT_NEAR(s.signal("G1.speed"), 1, 1e-9) << c.to;
        EXPECT_NEAR(s.signal("G2.vt"), grid.bus[1].vm, 1e-9) << c.to;
    }
}

TEST(Matpower, DamagedTextsAreRefusedOrRead) {
    // Every text that is cut off, or with a byte changed, either gives a case or says what is wrong.
    MatpowerOptions tolerant;
    tolerant.tolerance_mva = 1e300;  // also of what is not solved
    int refused = 0, read = 0;
    const auto attempt = [&](const std::string& text) {
        try {
            static_cast<void>(import_matpower(text, "damaged", tolerant));
            ++read;
        } catch (const CaseError&) {
            ++refused;
        }
    };
    for (std::size_t n = 0; n < kNine.size(); n += 7) attempt(kNine.substr(0, n));
    for (std::size_t n = 0; n < kNine.size(); n += 3)
        for (const char c : {'\0', ']', '\'', '.', '-', 'e', '\n', '(', '\xff'}) {
            std::string text = kNine;
            text[n] = c;
            attempt(text);
        }
    EXPECT_GT(refused, 1000);
    EXPECT_GT(read, 500);
}

}  // namespace
}  // namespace emt::test
