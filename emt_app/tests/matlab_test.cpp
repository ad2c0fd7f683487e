// The part of the MATLAB language that case files use: evaluated statements, and refused ones with their line.
#include <gtest/gtest.h>

#include "base/diagnostics.hpp"
#include "import/matlab_program.hpp"

namespace emt::test {
namespace {

const MatlabValue& variable(const MatlabVariables& all, const std::string& name) { return all.value.at(name); }

/// The numbers of variable x after the statements, by rows.
std::vector<double> x_after(const std::string& statements) { return variable(run_matlab(statements, "x.m"), "x").number; }

std::string refused_with(const std::string& statements) {
    try {
        static_cast<void>(run_matlab(statements, "x.m"));
    } catch (const CaseError& e) {
        return e.what();
    }
    return "none";
}

using Numbers = std::vector<double>;

TEST(Matlab, BlanksDivideColumnsByItsRules) {
    EXPECT_EQ(x_after("x = [100-10]"), Numbers{90});
    EXPECT_EQ(x_after("x = [100 -10]"), (Numbers{100, -10}));
    EXPECT_EQ(x_after("x = [100 - 10]"), Numbers{90});
    EXPECT_EQ(x_after("x = [100- 10]"), Numbers{90});
    EXPECT_EQ(x_after("x = [1 -2 + 3]"), (Numbers{1, 1}));
    EXPECT_EQ(x_after("x = [1, 2\t3;4 5 6]"), (Numbers{1, 2, 3, 4, 5, 6}));
    EXPECT_EQ(x_after("a = 2; x = [a' (a) a']"), (Numbers{2, 2, 2}));
    EXPECT_EQ(x_after("x = [1 ... the rest\n 2\n 3 4 % four\n]"), (Numbers{1, 2, 3, 4}));
    EXPECT_EQ(x_after("x = [1.5e3 .5 5. 2D-1]"), (Numbers{1500, 0.5, 5, 0.2}));
    EXPECT_EQ(x_after("x = [135/sqrt(9) 2^-1 -2^2]"), (Numbers{45, 0.5, -4}));
}

TEST(Matlab, ArithmeticIsEvaluated) {
    EXPECT_EQ(x_after("x = 50/4;"), Numbers{12.5});
    EXPECT_EQ(x_after("x = -[1 2]*3 + 1"), (Numbers{-2, -5}));
    EXPECT_EQ(x_after("x = [1 2; 3 4]*[1; 1]"), (Numbers{3, 7}));
    EXPECT_EQ(x_after("x = [1 2; 3 4]'"), (Numbers{1, 3, 2, 4}));
    EXPECT_EQ(x_after("x = 5:-2:1"), (Numbers{5, 3, 1}));
    EXPECT_EQ(x_after("x = 0:0.1:0.3").size(), 4U);
    EXPECT_EQ(x_after("x = ~(2 > 1) + (1 && 1)"), Numbers{1});
    EXPECT_EQ(x_after("x = find([0 3 0 4] > 2)"), (Numbers{2, 4}));
    EXPECT_EQ(x_after("x = sum([1 2; 3 4])"), (Numbers{4, 6}));
}

TEST(Matlab, PartsOfTablesAreReadAndAssigned) {
    const std::string table = "x = [1 2 3; 4 5 6];\n";
    EXPECT_EQ(x_after(table + "x(:, 2) = 10 * x(:, 2);"), (Numbers{1, 20, 3, 4, 50, 6}));
    EXPECT_EQ(x_after(table + "x(2, [1 3]) = [7 8];"), (Numbers{1, 2, 3, 7, 5, 8}));
    EXPECT_EQ(x_after(table + "x(end, end) = 0;"), (Numbers{1, 2, 3, 4, 5, 0}));
    EXPECT_EQ(x_after(table + "x(x > 4) = 4;"), (Numbers{1, 2, 3, 4, 4, 4}));
    EXPECT_EQ(x_after(table + "x = x(3);"), Numbers{2});  // down the columns
    EXPECT_EQ(x_after(table + "x(1, :) = [];"), (Numbers{4, 5, 6}));
    EXPECT_EQ(x_after(table + "x(end+1, :) = 9;"), (Numbers{1, 2, 3, 4, 5, 6, 9, 9, 9}));
    EXPECT_EQ(x_after(table + "k = find(x(:, 1) == 4); x(k, 2) = 0;"), (Numbers{1, 2, 3, 4, 0, 6}));
    EXPECT_EQ(x_after("s.a.b = [1 2]; s.a.b(2) = 5; t = s; x = t.a.b"), (Numbers{1, 5}));
    EXPECT_EQ(x_after("[PQ, PV, REF, NONE, BUS_I, BUS_TYPE, PD] = idx_bus; x = [PV PD]"), (Numbers{2, 3}));
    EXPECT_EQ(x_after("define_constants; x = [BR_X ANGMAX PMIN]"), (Numbers{4, 13, 10}));
}

TEST(Matlab, WhatIsNotExecutedHasNoEffect) {
    EXPECT_EQ(x_after("x = 1;\n%{\nx = 2;\n  %{\n  x = 3;\n  %}\n%}\n"), Numbers{1});
    EXPECT_EQ(x_after("x = 1; % {\nx = 2; %}\n"), Numbers{2});
    EXPECT_EQ(x_after("x = 1;\nif 0\n  x = 2;\n  for k = 1:3, x = g(k); end\nend\n"), Numbers{1});
    EXPECT_EQ(x_after("x = 1; if x > 1, x = 2; elseif x == 1, x = 3; else, x = 4; end"), Numbers{3});
    EXPECT_EQ(x_after("x = 1;\nreturn;\nx = 2;"), Numbers{1});
    EXPECT_EQ(x_after("function x = f\nx = 1;\nend\nfunction y = g\nx = 2;\nend\n"), Numbers{1});
    EXPECT_EQ(x_after("x = 1; s = 'x = 2;'; c = {'x = 3'; 'end'};"), Numbers{1});
}

TEST(Matlab, LoopsAreExecuted) {
    EXPECT_EQ(x_after("x = [1 2 3]; for k = 1:3, x(k) = x(k) * 2; end"), (Numbers{2, 4, 6}));
    EXPECT_EQ(x_after("x = 0; for k = [1 5]\n for m = 1:2\n x = x + k*m; end\n end"), Numbers{18});
    EXPECT_EQ(x_after("x = 7; for k = 1:0, x = k; end"), Numbers{7});
    EXPECT_EQ(x_after("x = 0; for k = 1:9, if k == 2, continue; end, if k > 3, break; end, x = x + k; end"), Numbers{4});
    EXPECT_EQ(x_after("x = 1; while x < 100, x = x * 2; end"), Numbers{128});
    const MatlabVariables of_function = run_matlab("function x = f\nx = 0;\nfor k = 1:3\n x = x + k;\nend\nwhile x < 10, x = x * 2; end\nx = x + 1;\nend\n", "x.m");
    EXPECT_EQ(variable(of_function, "x").number, Numbers{13});
    EXPECT_NE(refused_with("for k = 1:3, x = k; else, x = 0; end"), "none");
}

TEST(Matlab, WhatIsNotEvaluatedIsRefusedWithItsLine) {
    const auto told = [](const std::string& statements, const std::string& what) {
        const std::string message = refused_with(statements);
        EXPECT_NE(message.find(what), std::string::npos) << message;
    };
    told("x = 1;\nx = f(x);", "x.m, line 2: 'f' is neither a value");
    told("x = 1;\n\n[x, y] = deal(1, 2);", "x.m, line 3: 'deal' is neither a value");
    told("x = 1;\nfprintf('x');", "x.m, line 2: 'fprintf'");
    told("x = 1;\nhold on", "line 2: ");
    told("x = [1 2\n3];", "a row of 1 columns in a table of 2");
    told("x = [1 2", "[ is never closed");
    told("x = 1);", ") closes nothing");
    told("x = 1;\nend", "line 2: 'end' closes nothing");
    told("if 1\nx = 1;", "this block has no 'end'");
    told("x = 'a", "a text lacks its closing quote");
    told("x = 6y;", "'6y' is not a number");
    told("x = 3i;", "'3i' is not a number");
    told("x = @(y) y;", "'@'");
    told("x = [1 2]; x(3.5) = 1;", "an index is not a whole number");
    told("x = [1 2]; y = x(3);", "beyond a table of 1 x 2");
    told("x = 1;\nswitch x\ncase 1\nx = 2;\nend", "line 2: 'switch' is not evaluated");
    told("x.y = 1; x{1} = 2;", "a cell is not evaluated");
    told("function [a, b] = f\na = 1;", "version 1");
    told("%{\nx = 1;", "line 1: the comment that %{ begins has no %}");
    told("x = sqrt(-1);", "has no real value");
    told("function x = f\nx = 1;\nend\nx = 2;", "statements follow the end of the function");
}

TEST(Matlab, HostileTextsEnd) {
    for (const std::string& text : {std::string("while 1, end"), std::string("for k = 1:1e7, x = k; end"), std::string("x = 1:1e9;"), std::string("x = zeros(1e5, 1e5);"),
                                    std::string("x = 1; for k = 1:99, x = [x x]; end"), "x = " + std::string(100000, '('), "x = " + std::string(100000, '-') + "1",
                                    "x = " + std::string(100000, '['), std::string("x(1e7, 1e7) = 1;"), std::string("s.x = 1; for k = 1:99, s.a = s; s.b = s; end"),
                                    std::string("s.x = 1; for k = 1:1e5, s.a = s; end"), std::string("s.x = ones(1, 1e7); for k = 1:1e6, t = s; end"), std::string("x = ones(1, 1e7); for k = 1:1e6, x = x + 1; end")})
        EXPECT_NE(refused_with(text), "none") << text.substr(0, 40);
}

}  // namespace
}  // namespace emt::test
