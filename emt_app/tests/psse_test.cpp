// Cases of PSS/E: their grid, and refused records.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "import/grid_flow.hpp"
#include "import/matpower.hpp"
#include "import/psse.hpp"
#include "import/psse_dc_lines.hpp"
#include "import/psse_transformers.hpp"
#include "import/read_grid.hpp"

namespace emt::test {
namespace {

/// Records for each section, of four buses and one that is isolated.
struct RawCase {
    int version = 33;
    std::string bus = "1,'ONE, / \"A\" ',138.0,3,1,1,1,1.02,0.0,1.1,0.9,1.1,0.9 / the slack\n"
                      "2 \"TWO\" 138 2 1 1 1 1.01 -1.0\n\n"
                      "3,'O'THREE',138.,,1,1,1,0.99,-4\n"
                      "4,'FO''UR ',69.0,1,1,1,1,9.8E-1,-6.0\n"
                      "9,'GONE',138.0,4\n";
    std::string load = "3,'1 ',1,1,1,40.0,10.0\n3,'2 ',1,1,1,20,5,0,0,0,0\n3,'3',0,1,1,500,0\n4,,1,,,3.0D1,+8.0\n9,1,1,1,1,7,7\n";
    std::string shunt = "3,'1 ',1,1.0,10.0\n3,'2 ',0,1.0,10.0\n";
    std::string machine = "1,'1 ',50,0,100,-100,1.02,0,200,0,0.2,0,0,1,1\n2,'1 ',45.0,5.0,60,-60,1.01,0,80.0\n2,'2 ',9,9,9,-9,1,0,50,0,1,0,0,1,0\n";
    std::string transformer = "3,4,0,'1 ',1,1,1,0,0,2,'T',1\n0, 0.1\n0.95,0,5.0\n1.0,0\n";
    std::string switched = "4,1,0,1,1.1,0.9,0,100,' ',6.0,1,6.0\n";
    std::string switches, dc, vsc, multi_terminal, facts, gne, induction, general = "GENERAL, THRSHZ=0.0001, PQBRAK=0.7\n";
    std::string more_branches;

    [[nodiscard]] std::string line(const std::string& impedance, const std::string& rest) const {
        return impedance + (version >= 34 ? ",'LINE, 1',1,2,3,4,5,6,7,8,9,10,11,12" : ",1,2,3") + rest + "\n";
    }
    [[nodiscard]] std::string text() const {
        const bool is34 = version >= 34;
        return " 0, 100.0, " + std::to_string(version) + ", 0, 1, 50.0 / a case\nTITLE\n0 / A TITLE, TOO\n" +
               (is34 ? general + "RATING, 1, \"RATE1 \", \"SET 1\"\n0 / END OF SYSTEM-WIDE DATA, BEGIN BUS DATA\n" : "") + bus +
               "0 / END OF BUS DATA, BEGIN LOAD DATA\n" + load + "0 / END OF LOAD DATA, BEGIN FIXED SHUNT DATA\n" + shunt +
               "0 / END OF FIXED SHUNT DATA, BEGIN GENERATOR DATA\n" + machine + "0 / END OF GENERATOR DATA, BEGIN BRANCH DATA\n" +
               line("1,2,'1 ',0.01,0.085,0.088", ",0,0,0,0,1,1,0,1,1") + line("1,-3,'1 ',0.017,0.092,0.079", "") + line("2,3,'1 ',0.02,0.1,0.1", "") +
               line("3,2,'2 ',0.02,0.1,0.1", ",,,,,0") + more_branches +
               (is34 ? "0 / END OF BRANCH DATA, BEGIN SYSTEM SWITCHING DEVICE DATA\n" + switches + "0\n" : "0 / END OF BRANCH DATA, BEGIN TRANSFORMER DATA\n") + transformer +
               "0 / END OF TRANSFORMER DATA, BEGIN AREA DATA\n1,2,0,0,'A'\n0\n" + dc + "0\n" + vsc + "0\n" +
               (is34 ? "1, 0.9,1.1,0,1,1,0\n 0.0,0.0,0.0\n" : "1, 0.9,1.1,1,1,1.1,0.9\n") + "0\n" + multi_terminal + "0\n0\n1,'Z'\n0\n0\n1,'O'\n0\n" + facts +
               "0 / END OF FACTS DEVICE DATA, BEGIN SWITCHED SHUNT DATA\n" + switched + "0\n" + gne + "0\n" + (version > 32 ? induction + "0\n" : "") + "Q\n";
    }
    [[nodiscard]] Grid grid() const { return read_psse(text(), "four.raw"); }
};

const std::string kFour = R"(mpc.baseMVA = 100;
mpc.bus = [ 1 3 0 0 0 0 1 1.02 0 138; 2 2 0 0 0 0 1 1.01 -1 138; 3 1 60 15 1 10 1 0.99 -4 138; 4 1 30 8 0 6 1 0.98 -6 69 ];
mpc.gen = [ 1 50 0 100 -100 1.02 200 1; 2 45 5 60 -60 1.01 80 1 ];
mpc.branch = [ 1 2 0.01 0.085 0.088 0 0 0 0 0 1; 1 3 0.017 0.092 0.079 0 0 0 0 0 1; 2 3 0.02 0.1 0.1 0 0 0 0 0 1; 3 4 0 0.1 0 0 0 0 0.95 5 1 ];
)";

void expect_same(const Grid& a, const Grid& b) {
    EXPECT_EQ(a.mva, b.mva);
    ASSERT_EQ(a.bus.size(), b.bus.size());
    for (std::size_t i = 0; i < a.bus.size(); ++i) {
        const GridBus &x = a.bus[i], &y = b.bus[i];
        EXPECT_EQ(std::tuple(x.number, x.kv, x.vm, x.va, x.p, x.q, x.g, x.b, x.slack, x.regulated), std::tuple(y.number, y.kv, y.vm, y.va, y.p, y.q, y.g, y.b, y.slack, y.regulated));
    }
    ASSERT_EQ(a.machine.size(), b.machine.size());
    for (std::size_t i = 0; i < a.machine.size(); ++i) {
        const GridMachine &x = a.machine[i], &y = b.machine[i];
        EXPECT_EQ(std::tuple(x.bus, x.p, x.q, x.q_low, x.q_high, x.v, x.rating_mva), std::tuple(y.bus, y.p, y.q, y.q_low, y.q_high, y.v, y.rating_mva));
    }
    ASSERT_EQ(a.branch.size(), b.branch.size());
    for (std::size_t i = 0; i < a.branch.size(); ++i) {
        const GridBranch &x = a.branch[i], &y = b.branch[i];
        EXPECT_EQ(std::tuple(x.from, x.to, x.r, x.x, x.b, x.tap, x.shift, x.transformer), std::tuple(y.from, y.to, y.r, y.x, y.b, y.tap, y.shift, y.transformer));
    }
}

/// Solves it; the largest error of a voltage after the start with pi sections.
double start_error(Grid& grid) {
    settle_grid(grid, Solve::without_limits, {}, "four");
    insert_step_ups(grid);
    std::vector<std::string> notes;
    GridCaseOptions pi;
    pi.waves = false;
    return voltage_error(grid, grid_case(grid, pi, notes)).per_unit;
}

/// The only transformer, or those of three windings, in place of the case's.
Grid with_transformer(const std::string& records) {
    RawCase c;
    c.transformer = records;
    return c.grid();
}

TEST(Psse, TheSameNetworkIsTheSameGridAsFromMatpower) {
    for (const int version : {32, 33, 34}) {
        RawCase c;
        c.version = version;
        Grid grid = c.grid();
        expect_same(grid, read_matpower(kFour, "four.m"));
        EXPECT_EQ(grid.frequency_hz, 50);
        EXPECT_EQ(grid.machine[1].name, "G2_1");
        EXPECT_EQ(grid.branch[1].name, "L1_3_1");
        EXPECT_LT(start_error(grid), 1e-8);
    }
}

TEST(Psse, AFileIsKnownByItsNameOrItsFirstLine) {
    const std::string raw = RawCase().text();
    EXPECT_EQ(read_grid(raw, "four.RAW").bus.size(), 4U);
    EXPECT_EQ(read_grid(raw, "four").bus.size(), 4U);
    EXPECT_EQ(read_grid(raw, "four.m", "psse").bus.size(), 4U);
    EXPECT_EQ(read_grid(kFour, "four").bus.size(), 4U);
    EXPECT_EQ(read_grid(kFour, "four.raw", "matpower").bus.size(), 4U);
    EXPECT_THROW(static_cast<void>(read_grid(raw, "four.m")), CaseError);
}

TEST(Psse, LoadsArePowersCurrentsAndAdmittances) {
    RawCase c;
    c.version = 34;
    // Bus 4 has 0.98 per unit, and a switched shunt of 6 MVAr. The second load generates, the third would.
    c.load = "4,1,1,1,1,10,5,20,10,30,-15\n4,2,1,1,1,7,2,0,0,0,0,1,1,0,3,1,1\n4,3,1,1,1,1,0,0,0,0,0,1,1,0,3,1,0\n";
    const GridBus b = c.grid().bus[3];
    EXPECT_DOUBLE_EQ(b.p, 10 + 20 * 0.98 + 4 + 1);
    EXPECT_DOUBLE_EQ(b.q, 5 + 10 * 0.98 + 1);
    EXPECT_DOUBLE_EQ(b.g, 30);
    EXPECT_DOUBLE_EQ(b.b, 6 - 15);
}

TEST(Psse, WindingCodes) {
    EXPECT_DOUBLE_EQ(psse_turns(1, 1.05, 230, 220), 1.05);
    EXPECT_DOUBLE_EQ(psse_turns(2, 231, 230, 220), 1.05);
    EXPECT_DOUBLE_EQ(psse_turns(3, 1.1, 210, 220), 1.05);
    EXPECT_DOUBLE_EQ(psse_turns(3, 1.05, 0, 220), 1.05);
    EXPECT_EQ(psse_impedance(1, 0.01, 0.1, 50, 100), GridPhasor(0.01, 0.1));
    EXPECT_EQ(psse_impedance(2, 0.01, 0.1, 50, 100), GridPhasor(0.02, 0.2));
    // 1.5 MW of 50 MVA are 0.03 per unit; with 0.05 the reactance is 0.04.
    EXPECT_NEAR(std::abs(psse_impedance(3, 1.5e6, 0.05, 50, 100) - GridPhasor(0.06, 0.08)), 0, 1e-15);
    EXPECT_EQ(psse_magnetizing(1, 0.001, -0.02, 50, 0, 220, 100), GridPhasor(0.001, -0.02));
    // 0.03 and 0.05 per unit of 50 MVA at half the bus's base voltage: four times 0.015 - j0.02 of 100 MVA.
    EXPECT_NEAR(std::abs(psse_magnetizing(2, 1.5e6, 0.05, 50, 110, 220, 100) - GridPhasor(0.06, -0.08)), 0, 1e-15);
}

TEST(Psse, TransformersOfTwoWindings) {
    // 144.9 kV of 138 and 67.62 kV of 69; 0.1 per unit of 50 MVA; the no-load loss and current of 50 MVA at 138 kV.
    Grid grid = with_transformer("3,4,0,'1 ',2,2,2,1.5E5,0.005,2,'T',1\n0, 0.1,50\n144.9,138,-5.0\n67.62,0\n");
    const GridBranch& t = grid.branch.back();
    EXPECT_DOUBLE_EQ(t.tap, 1.05 / 0.98);
    EXPECT_DOUBLE_EQ(t.x, 0.2 * 0.98 * 0.98);
    EXPECT_EQ(t.shift, -5);
    EXPECT_DOUBLE_EQ(grid.bus[2].g, 1 + 0.15);
    EXPECT_DOUBLE_EQ(grid.bus[2].b, 10 - 0.2);
    EXPECT_LT(start_error(grid), 1e-8);
    EXPECT_EQ(with_transformer("3,4,0,'1 ',1,1,1,0,0,2,'T',0\n0,0.1\n1\n1\n3,4,0,2,1,1,1,0,0,2,'T',1\n0,0.1\n1\n1\n").branch.size(), 4U);
}

TEST(Psse, TransformersOfThreeWindingsAreStars) {
    // 0.1, 0.3 and 0.15 per unit make -0.025, 0.125 and 0.175; of 50 MVA twice that.
    Grid grid = with_transformer("1,3,4,'1 ',1,2,1,0.001,-0.002,2,'T',1\n0,0.1,50,0.004,0.3,50,0,0.15,50\n1.02\n0.99,0,3\n1\n");
    ASSERT_EQ(grid.bus.size(), 5U);
    const auto expect_branch = [&](std::size_t of, std::size_t bus, double r, double x, double tap, double shift) {
        const GridBranch& e = grid.branch.at(3 + of);
        EXPECT_EQ(std::pair(e.from, e.to), std::pair(bus, std::size_t{4}));
        EXPECT_NEAR(e.r, r, 1e-15);
        EXPECT_NEAR(e.x, x, 1e-15);
        EXPECT_EQ(std::pair(e.tap, e.shift), std::pair(tap, shift));
    };
    expect_branch(0, 0, -0.004, -0.05, 1.02, 0);
    expect_branch(1, 2, 0.004, 0.25, 0.99, 3);
    expect_branch(2, 3, 0.004, 0.35, 1, 0);
    EXPECT_DOUBLE_EQ(grid.bus[0].g, 0.1);
    EXPECT_DOUBLE_EQ(grid.bus[0].b, -0.2);
    EXPECT_EQ(grid.bus[4].name(), "B1000001");
    EXPECT_LT(start_error(grid), 1e-8);
    EXPECT_NE(largest_mismatch(with_transformer("1,3,4,'1 '\n0,0.1,,,0.3,,,0.15\n1\n1\n1\n")).bus, 4U);  // its voltage follows from the others
}

TEST(Psse, AWindingWithoutImpedanceOfItsOwnIsTheStarPoint) {
    // 0.1, 0.3 and 0.2 make 0, 0.1 and 0.2: two transformers to the first bus, whose winding has 1.02 turns and 3 degrees.
    Grid grid = with_transformer("1,3,4,'1 '\n0,0.1,,,0.3,,,0.2\n1.02,0,3\n0.99\n1\n");
    EXPECT_EQ(grid.bus.size(), 4U);
    const GridBranch& e = grid.branch.at(3);
    EXPECT_EQ(std::pair(e.from, e.to), std::pair(std::size_t{2}, std::size_t{0}));
    EXPECT_NEAR(e.x, 0.1 * 1.02 * 1.02, 1e-15);
    EXPECT_EQ(std::pair(e.tap, e.shift), std::pair(0.99 / 1.02, -3.0));
    EXPECT_LT(start_error(grid), 1e-8);
}

TEST(Psse, WindingsThatAreOffAreLeftOut) {
    const auto froms = [](int status) {
        std::vector<std::size_t> out;
        const Grid grid = with_transformer("1,3,4,'1 ',1,1,1,0,0,2,'T'," + std::to_string(status) + "\n0,0.1,,,0.3,,,0.15\n1\n1\n1\n3,4,0,2\n0,0.1\n1\n1\n");
        for (std::size_t i = 3; i + 1 < grid.branch.size(); ++i) out.push_back(grid.branch[i].from);
        return out;
    };
    EXPECT_EQ(froms(1), (std::vector<std::size_t>{0, 2, 3}));
    EXPECT_EQ(froms(2), (std::vector<std::size_t>{0, 3}));
    EXPECT_EQ(froms(3), (std::vector<std::size_t>{0, 2}));
    EXPECT_EQ(froms(4), (std::vector<std::size_t>{2, 3}));
    EXPECT_EQ(froms(0), std::vector<std::size_t>{});
}

TEST(Psse, BusesThatLinesWithoutImpedanceConnectAreOne) {
    RawCase c;
    c.version = 34;
    c.bus += "5,'FIVE',69,1,1,1,1,0.98,-6\n6,'SIX',69,1,1,1,1,0.98,-6\n7,'SEVEN',69\n";
    c.load += "6,1,1,1,1,12,3\n";
    c.more_branches = c.line("4,5,1,0,1E-4,0.02", "") + c.line("6,4,1,0.01,0.1,0.04", ",0,0.01");
    c.switches = "5,6,1,0.0001,1,2,3,4,5,6,7,8,9,10,11,12,1,1\n5,7,1,0,1,2,3,4,5,6,7,8,9,10,11,12,0,1\n4,7,1,0.05\n";
    Grid grid = c.grid();
    ASSERT_EQ(grid.bus.size(), 5U);  // 4, 5 and 6 are one
    EXPECT_EQ(grid.bus[3].p, 42);
    EXPECT_DOUBLE_EQ(grid.bus[3].b, 6 + 2 + 4 + 1);  // their charging and a line's shunt stay
    EXPECT_EQ(grid.branch.size(), 5U);
    EXPECT_EQ(grid.branch[3].x, 0.05);
    EXPECT_LT(start_error(grid), 1e-8);
    c.general = "GENERAL, THRSHZ = 0.00001\n";
    EXPECT_EQ(c.grid().bus.size(), 7U);
    RawCase through;  // bus 9, which is isolated, joins nothing
    through.more_branches = through.line("1,9,1,0,0", "") + through.line("9,2,1,0,0", "");
    EXPECT_EQ(through.grid().bus.size(), 4U);
}

TEST(Psse, DcLinesArePowersAtTheirEnds) {
    // Without overlap the power factor is cos(alpha), here 0.8; with an overlap of 60 degrees from alpha = 0 on tan(phi) is
    // (2*pi/3 - sin(120))/(1 - cos(120)), and the voltage three quarters of 135.05 kV.
    constexpr double kNoLoad = 1.3504744742356593;  // 3*sqrt(2)/pi
    const GridPhasor steep = PsseConverter{2, 0, 100}.power(2 * 0.8 * 100 * kNoLoad, 0.5), wide = PsseConverter{1, 50 / std::sqrt(2.0), 100}.power(75 * kNoLoad, 1);
    EXPECT_NEAR(steep.imag() / steep.real(), 0.75, 1e-12);
    EXPECT_NEAR(wide.real(), 75 * kNoLoad, 1e-12);
    EXPECT_NEAR(wide.imag() / wide.real(), 0.8189132, 1e-6);

    // 40 MW at the inverter with 250 kV: 160 A, and 0.2 MW of losses.
    RawCase c;
    const Grid without = c.grid();
    c.dc = "'L',1,8.0,-40.0,250\n2,2,20,5,0,5,138,0.75\n4,2,20,5,0,5,69,1.5\n";
    Grid with = c.grid();
    EXPECT_NEAR(with.bus[1].p - without.bus[1].p, 40 + 8 * 0.16 * 0.16, 1e-12);
    EXPECT_NEAR(with.bus[3].p - without.bus[3].p, -40, 1e-12);
    EXPECT_GT(with.bus[1].q, without.bus[1].q);
    EXPECT_GT(with.bus[3].q, without.bus[3].q);
    EXPECT_LT(start_error(with), 1e-8);
    const double taken = with.bus[1].p;
    c.dc.replace(c.dc.find("-40.0"), 5, "40.0");  // at the rectifier
    EXPECT_LT(c.grid().bus[1].p, taken);
    EXPECT_NEAR(c.grid().bus[1].p - without.bus[1].p, 40, 1e-12);
    c.dc.replace(c.dc.find(",1,8.0,40.0"), 11, ",2,8.0,160.");  // A
    EXPECT_NEAR(c.grid().bus[1].p, taken, 1e-12);
}

TEST(Psse, VoltagesHaveTheDecimalsThatPsseWrites) {
    RawCase c;
    Grid grid = c.grid();
    settle_grid(grid, Solve::with_limits, {}, "four");
    for (GridBus& b : grid.bus) b.vm = std::round(b.vm * 1e5) / 1e5;
    EXPECT_EQ(largest_mismatch(grid).mva, 0);
    grid.rounding = 0;
    EXPECT_GT(largest_mismatch(grid).mva, 1e-4);
    grid.rounding = 5.1e-6;
    grid.bus[2].vm += 1e-3;
    EXPECT_GT(largest_mismatch(grid).mva, 1);
}

TEST(Psse, MachinesStandBehindTheirStepUpTransformers) {
    // 45 MW and 0 MVAr at 1.01 per unit through j0.1 per unit of 80 MVA, and 1.05 turns.
    RawCase c;
    c.machine = "1,'1 ',50,0,100,-100,1.02,0,200,0,0.2,0.002,0.12,1,1\n2,'1 ',45.0,5.0,60,-60,1.01,0,80.0,0,1,0,0.1,1.05\n";
    Grid grid = c.grid();
    EXPECT_LT(start_error(grid), 1e-8);
    ASSERT_EQ(grid.bus.size(), 6U);
    EXPECT_TRUE(grid.bus[4].slack);
    EXPECT_FALSE(grid.bus[0].slack);
    const GridMachine& m = grid.machine[1];
    EXPECT_EQ(m.bus, 5U);
    EXPECT_NEAR(m.p, 45, 1e-9);  // the transformer has no losses
    const GridPhasor at_bus = grid.bus[1].voltage();
    const GridPhasor through = at_bus * std::conj((at_bus / 1.05 - grid.bus[5].voltage()) / GridPhasor(0, 0.125) / 1.05) * -100.0;
    EXPECT_NEAR(through.real(), 45, 1e-9);
    EXPECT_NEAR(std::abs(largest_mismatch(grid).mva), 0, 1e-6);
}

TEST(Psse, MachinesAtBusesOfTypeOneAndRemoteRegulation) {
    RawCase c;
    c.machine += "3,'1 ',9,1,9,-9\n";
    EXPECT_EQ(c.grid().machine.size(), 2U);
    c.machine = "1,'1 ',50,0\n2,'1 ',45.0,5.0,60,-60,1.3,3,80.0\n";
    const Grid grid = c.grid();
    EXPECT_EQ(grid.machine[1].v, 1.01);  // 1.3 is for bus 3
    EXPECT_EQ(std::pair(grid.machine[0].q_low, grid.machine[0].q_high), std::pair(-9999.0, 9999.0));
}

std::string raw_refusal(const std::string& text) {
    try {
        static_cast<void>(read_psse(text, "four.raw"));
    } catch (const CaseError& e) {
        return e.what();
    }
    return "none";
}

TEST(Psse, SaysWhatIsWrongInWhichLineAndWhatIsExpected) {
    const auto told = [](const std::string& from, const std::string& to, const std::string& what) {
        std::string text = RawCase().text();
        const std::size_t at = text.find(from);
        ASSERT_NE(at, std::string::npos) << from;
        const std::string message = raw_refusal(text.replace(at, from.size(), to));
        EXPECT_NE(message.find(what), std::string::npos) << message;
    };
    told("100.0, 33", "100.0, 31", "four.raw, line 1: [psse] version 33 or 34 expected (32 has the same records), found 31");
    told("100.0, 33", "100.0", "found none");
    told(" 0, 100.0", " 1, 100.0", "IC (field 1) is not 0");
    told("50.0 / a case", "fifty", "BASFRQ (field 6) is 'fifty': expected a number");
    told("100.0, 33", "100.0, 34", "line 4: [psse] expected system-wide data");
    told("'O'THREE'", "'THREE", "four.raw, line 7: [psse] the text after ' is never closed");
    told("4,'FO''UR '", "3,'FOUR'", "line 8: [psse] bus 3 occurs twice");
    told("69.0,1", "69.0,5", "line 8: [psse] IDE (field 4) is 5: expected 1, 2, 3 or 4");
    told("4,,1,,,3.0D1", "8,,1,,,3.0D1", "line 14: [psse] there is no bus 8: expected one of the bus data");
    told("4,,1,,,3.0D1", "4,,1,,,3*1", "PL (field 6) is '3*1': expected a number");
    told("3,'2 ',1,1,1,20", "3,'1',1,1,1,20", "line 12: [psse] a second load 3 '1': expected another identifier");
    told("0.085,", ",", "line 24: [psse] X (field 5) is missing: expected a number");
    told("1,-3", "1,-1", "line 25: [psse] it begins and ends at bus 1");
    told("2,3,'1 '", "1,3,'1 '", "line 26: [psse] a second branch 1 3 '1'");
    told("'1 ',1,1,1,0,0,2", "'1 ',4,1,1,0,0,2", "CW (field 5) is 4: expected 1 to 3");
    told("0.95,0,5.0", "0.95,0,60", "a phase shift of more than 55 degrees");
    told("0.95,0,5.0", "0.95,0,5.0,1,2,3,0,0,1.1,.9,1.1,.9,33,1", "impedance correction table 1");
    told("1.0,0\n0 / END OF TRANS", "0 / END OF TRANS", "line 29: [psse] a record of transformer data has 3 lines: expected 4");
    told("BEGIN TRANSFORMER DATA", "BEGIN SYSTEM SWITCHING DEVICE DATA", "line 28: [psse] system switching device data are announced: expected transformer data in version 33");
    std::string cut = RawCase().text();
    cut.resize(cut.find("0 / END OF TRANS"));
    EXPECT_NE(raw_refusal(cut).find("the file ends in or before its transformer data: expected 'Q'"), std::string::npos) << raw_refusal(cut);
}

TEST(Psse, DevicesThatTheSimulatorLacksAreRefusedIfOn) {
    const auto told = [](std::string RawCase::*section, const std::string& on, const std::string& off, const std::string& what) {
        RawCase c;
        c.*section = on;
        const std::string message = raw_refusal(c.text());
        EXPECT_NE(message.find(what), std::string::npos) << message;
        c.*section = off;
        EXPECT_EQ(raw_refusal(c.text()), "none");
    };
    told(&RawCase::dc, "'L',1,8,40,250\n2,2,0,0,1,5,138\n3,2,0,0,0,5,138\n", "'L',0,8,40,250\n0,2\n3,2\n", "line 37: [psse] a converter with RC");
    told(&RawCase::dc, "'L',1,8,40,250\n2,1,0,0,0,5,138\n3,2,0,0,0,5,138\n", "'L',0,8,40,250\n0,2\n3,2\n", "line 37: [psse] the converter does not reach");
    told(&RawCase::vsc, "'V',1,8\n1,2\n3,2\n", "'V',0,8\n1,2\n3,2\n", "line 37: [psse] a VSC DC line");
    told(&RawCase::multi_terminal, "'M',1,1,1,1\n0\n0\n0\n", "'M',1,1,1,0\n0\n0\n0\n", "a multi-terminal DC line");
    told(&RawCase::facts, "'F',1,0,1\n", "'F',1,0,0\n", "a FACTS device");
    told(&RawCase::induction, "1,'1',1\n", "1,'1',0\n", "an induction machine");
    told(&RawCase::gne, "'G','M',1,3\n", "", "a GNE device is not supported");
}

}  // namespace
}  // namespace emt::test
