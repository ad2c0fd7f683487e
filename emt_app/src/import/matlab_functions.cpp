#include "import/matlab_functions.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace emt {
namespace {

using Arguments = std::vector<MatlabValue>;
using Results = std::optional<std::vector<MatlabValue>>;

struct Constant {
    const char* name;
    double value;
};

// In the order in which idx_bus and the others return them (MATPOWER User's Manual, 2024, appendix B).
const std::vector<Constant> kBus{{"PQ", 1}, {"PV", 2}, {"REF", 3}, {"NONE", 4}, {"BUS_I", 1}, {"BUS_TYPE", 2}, {"PD", 3}, {"QD", 4}, {"GS", 5}, {"BS", 6},
                                 {"BUS_AREA", 7}, {"VM", 8}, {"VA", 9}, {"BASE_KV", 10}, {"ZONE", 11}, {"VMAX", 12}, {"VMIN", 13}, {"LAM_P", 14},
                                 {"LAM_Q", 15}, {"MU_VMAX", 16}, {"MU_VMIN", 17}};
const std::vector<Constant> kBranch{{"F_BUS", 1}, {"T_BUS", 2}, {"BR_R", 3}, {"BR_X", 4}, {"BR_B", 5}, {"RATE_A", 6}, {"RATE_B", 7}, {"RATE_C", 8},
                                    {"TAP", 9}, {"SHIFT", 10}, {"BR_STATUS", 11}, {"PF", 14}, {"QF", 15}, {"PT", 16}, {"QT", 17}, {"MU_SF", 18},
                                    {"MU_ST", 19}, {"ANGMIN", 12}, {"ANGMAX", 13}, {"MU_ANGMIN", 20}, {"MU_ANGMAX", 21}};
const std::vector<Constant> kGenerator{{"GEN_BUS", 1}, {"PG", 2}, {"QG", 3}, {"QMAX", 4}, {"QMIN", 5}, {"VG", 6}, {"MBASE", 7}, {"GEN_STATUS", 8},
                                       {"PMAX", 9}, {"PMIN", 10}, {"MU_PMAX", 22}, {"MU_PMIN", 23}, {"MU_QMAX", 24}, {"MU_QMIN", 25}, {"PC1", 11},
                                       {"PC2", 12}, {"QC1MIN", 13}, {"QC1MAX", 14}, {"QC2MIN", 15}, {"QC2MAX", 16}, {"RAMP_AGC", 17}, {"RAMP_10", 18},
                                       {"RAMP_30", 19}, {"RAMP_Q", 20}, {"APF", 21}};
const std::vector<Constant> kCost{{"PW_LINEAR", 1}, {"POLYNOMIAL", 2}, {"MODEL", 1}, {"STARTUP", 2}, {"SHUTDOWN", 3}, {"NCOST", 4}, {"COST", 5}};

using OfOne = double (*)(double);
const std::map<std::string, OfOne> kOfOne{
    {"abs", [](double x) { return std::abs(x); }},     {"sqrt", [](double x) { return std::sqrt(x); }},   {"exp", [](double x) { return std::exp(x); }},
    {"log", [](double x) { return std::log(x); }},     {"log10", [](double x) { return std::log10(x); }}, {"sin", [](double x) { return std::sin(x); }},
    {"cos", [](double x) { return std::cos(x); }},     {"tan", [](double x) { return std::tan(x); }},     {"asin", [](double x) { return std::asin(x); }},
    {"acos", [](double x) { return std::acos(x); }},   {"atan", [](double x) { return std::atan(x); }},   {"floor", [](double x) { return std::floor(x); }},
    {"ceil", [](double x) { return std::ceil(x); }},   {"fix", [](double x) { return std::trunc(x); }},   {"round", [](double x) { return std::round(x); }},
    {"isinf", [](double x) { return std::isinf(x) ? 1.0 : 0.0; }}, {"isnan", [](double x) { return std::isnan(x) ? 1.0 : 0.0; }}};

const MatlabValue& the_one(const Arguments& arguments) {
    if (arguments.size() != 1 || !arguments[0].is_matrix()) throw MatlabError("takes one table of numbers");
    return arguments[0];
}

MatlabValue of_each(const std::string& name, OfOne f, const MatlabValue& a) {
    MatlabValue out = a;
    out.logical = name == "isinf" || name == "isnan";
    for (double& x : out.number) {
        const bool was_number = !std::isnan(x);
        x = f(x);
        if (was_number && std::isnan(x)) throw MatlabError("has no real value");
    }
    return out;
}

MatlabValue filled(const Arguments& arguments, double x) {
    std::vector<double> size;
    for (const MatlabValue& a : arguments) {
        if (!a.is_matrix()) throw MatlabError("takes sizes");
        for (const double n : a.number) size.push_back(n);
    }
    if (size.empty()) size = {1, 1};
    if (size.size() == 1) size.push_back(size[0]);
    const auto sound = [](double n) { return n >= 0 && n == std::floor(n); };
    if (size.size() != 2 || !sound(size[0]) || !sound(size[1]) || size[0] * size[1] > static_cast<double>(kMatlabNumbers)) throw MatlabError("takes two sizes");
    return {static_cast<std::size_t>(size[0]), static_cast<std::size_t>(size[1]), x};
}

MatlabValue found(const MatlabValue& a) {
    std::vector<double> at;
    for (std::size_t i = 0; i < a.number.size(); ++i)
        if (a.down(i) != 0) at.push_back(static_cast<double>(i + 1));
    MatlabValue out = a.rows == 1 ? MatlabValue(1, at.size()) : MatlabValue(at.size(), 1);
    out.number = at;
    return out;
}

MatlabValue sized(const std::string& name, const Arguments& arguments) {
    const MatlabValue& a = arguments.at(0);
    if (!a.is_matrix()) throw MatlabError("takes a table of numbers");
    const auto rows = static_cast<double>(a.rows), columns = static_cast<double>(a.columns);
    if (name == "numel") return rows * columns;
    if (name == "length") return a.number.empty() ? 0.0 : std::max(rows, columns);
    if (arguments.size() == 2 && arguments[1].scalar() && (arguments[1].number[0] == 1 || arguments[1].number[0] == 2)) return arguments[1].number[0] == 1 ? rows : columns;
    if (arguments.size() != 1) throw MatlabError("takes a table and 1 or 2");
    MatlabValue out(1, 2);
    out.number = {rows, columns};
    return out;
}

/// Returns the sum, minimum or maximum of a row, or of each column.
MatlabValue reduced(const std::string& name, const Arguments& arguments) {
    const MatlabValue& a = the_one(arguments);
    if (a.number.empty()) {
        if (name == "sum") return 0.0;
        throw MatlabError("of nothing");
    }
    const auto both = [&](double x, double y) { return name == "sum" ? x + y : name == "min" ? std::fmin(x, y) : std::fmax(x, y); };
    if (a.rows == 1) {
        double out = a.number[0];
        for (std::size_t i = 1; i < a.number.size(); ++i) out = both(out, a.number[i]);
        return out;
    }
    MatlabValue out(1, a.columns);
    for (std::size_t k = 0; k < a.columns; ++k) {
        out.at(0, k) = a.at(0, k);
        for (std::size_t i = 1; i < a.rows; ++i) out.at(0, k) = both(out.at(0, k), a.at(i, k));
    }
    return out;
}

}  // namespace

Results matlab_call(const std::string& name, const Arguments& arguments) {
    static const std::map<std::string, double> kNumbers{{"pi", std::numbers::pi}, {"Inf", std::numeric_limits<double>::infinity()}, {"inf", std::numeric_limits<double>::infinity()},
                                                        {"NaN", std::numeric_limits<double>::quiet_NaN()}, {"nan", std::numeric_limits<double>::quiet_NaN()},
                                                        {"eps", std::numeric_limits<double>::epsilon()}};
    static const std::map<std::string, const std::vector<Constant>*> kColumns{{"idx_bus", &kBus}, {"idx_brch", &kBranch}, {"idx_gen", &kGenerator}, {"idx_cost", &kCost}};
    const auto one = [](MatlabValue value) { return Results{{std::move(value)}}; };
    if (const auto it = kNumbers.find(name); it != kNumbers.end() && arguments.empty()) return one(it->second);
    if (name == "true" || name == "false") {
        MatlabValue out = filled(arguments, name == "true" ? 1 : 0);
        out.logical = true;
        return one(out);
    }
    if (const auto it = kColumns.find(name); it != kColumns.end() && arguments.empty()) {
        std::vector<MatlabValue> out;
        for (const Constant& c : *it->second) out.emplace_back(c.value);
        return out;
    }
    if (const auto it = kOfOne.find(name); it != kOfOne.end()) return one(of_each(name, it->second, the_one(arguments)));
    if (name == "zeros" || name == "ones") return one(filled(arguments, name == "ones" ? 1 : 0));
    if (name == "find") return one(found(the_one(arguments)));
    if ((name == "size" || name == "numel" || name == "length") && !arguments.empty()) return one(sized(name, arguments));
    if (name == "sum" || ((name == "min" || name == "max") && arguments.size() == 1)) return one(reduced(name, arguments));
    return std::nullopt;
}

const std::map<std::string, double>& matpower_constants() {
    static const std::map<std::string, double> out = [] {
        std::map<std::string, double> all;
        for (const auto* table : {&kBus, &kBranch, &kGenerator, &kCost})
            for (const Constant& c : *table) all[c.name] = c.value;
        return all;
    }();
    return out;
}

}  // namespace emt
