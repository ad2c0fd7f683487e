#include "import/matlab_values.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

namespace emt {
namespace {

std::string size_of(const MatlabValue& a) { return std::to_string(a.rows) + " x " + std::to_string(a.columns); }

void need_matrix(const MatlabValue& a) {
    if (!a.is_matrix()) throw MatlabError("an operation needs numbers");
}

void need_room(std::size_t rows, std::size_t columns) {
    if (columns != 0 && rows > kMatlabNumbers / columns) throw MatlabError("a table of more than " + std::to_string(kMatlabNumbers) + " numbers");
}

/// Applies an operation number by number; repeats a single number, a row or a column.
template <class F>
MatlabValue each(const MatlabValue& a, const MatlabValue& b, F&& f) {
    const auto common = [&](std::size_t m, std::size_t n) {
        if (m != n && m != 1 && n != 1) throw MatlabError("sizes " + size_of(a) + " and " + size_of(b) + " do not go together");
        return m == 1 ? n : m;
    };
    MatlabValue out(common(a.rows, b.rows), common(a.columns, b.columns));
    for (std::size_t i = 0; i < out.rows; ++i)
        for (std::size_t k = 0; k < out.columns; ++k)
            out.at(i, k) = f(a.at(a.rows == 1 ? 0 : i, a.columns == 1 ? 0 : k), b.at(b.rows == 1 ? 0 : i, b.columns == 1 ? 0 : k));
    return out;
}

MatlabValue product(const MatlabValue& a, const MatlabValue& b) {
    if (a.columns != b.rows) throw MatlabError("sizes " + size_of(a) + " and " + size_of(b) + " cannot be multiplied");
    if (a.number.size() > 0 && b.columns > kMatlabNumbers / a.number.size()) throw MatlabError("a product of more than " + std::to_string(kMatlabNumbers) + " terms");
    MatlabValue out(a.rows, b.columns);
    for (std::size_t i = 0; i < a.rows; ++i)
        for (std::size_t m = 0; m < a.columns; ++m)
            for (std::size_t k = 0; k < b.columns; ++k) out.at(i, k) += a.at(i, m) * b.at(m, k);
    return out;
}

/// Rows and columns selected by two indices in a table of this size.
std::vector<std::size_t> places(const MatlabIndex& index, std::size_t size) {
    if (!index.all) return index.places;
    std::vector<std::size_t> out(size);
    for (std::size_t i = 0; i < size; ++i) out[i] = i;
    return out;
}

std::size_t needed(const std::vector<std::size_t>& places) { return places.empty() ? 0 : *std::max_element(places.begin(), places.end()) + 1; }

void need_two(const MatlabIndices& indices) {
    if (indices.empty() || indices.size() > 2) throw MatlabError("a table has one or two indices");
}

void grow(MatlabValue& a, std::size_t rows, std::size_t columns, int line) {
    if (rows <= a.rows && columns <= a.columns) return;
    need_room(std::max(rows, a.rows), std::max(columns, a.columns));
    MatlabValue out(std::max(rows, a.rows), std::max(columns, a.columns));
    for (std::size_t i = 0; i < a.rows; ++i)
        for (std::size_t k = 0; k < a.columns; ++k) out.at(i, k) = a.at(i, k);
    if (!a.line.empty() || a.rows == 0) {
        out.line = a.line;
        out.line.resize(out.rows, line);
    }
    a = std::move(out);
}

}  // namespace

MatlabIndex matlab_index(const MatlabValue& value) {
    need_matrix(value);
    MatlabIndex out;
    if (value.logical) {
        for (std::size_t i = 0; i < value.number.size(); ++i)
            if (value.down(i) != 0) out.places.push_back(i);
        out.rows = value.rows == 1 ? 1 : out.places.size();
        out.columns = value.rows == 1 ? out.places.size() : 1;
        return out;
    }
    for (std::size_t i = 0; i < value.number.size(); ++i) {
        const double x = value.down(i);
        if (!(x >= 1) || x != std::floor(x) || x > static_cast<double>(kMatlabNumbers)) throw MatlabError("an index is not a whole number above zero");
        out.places.push_back(static_cast<std::size_t>(x) - 1);
    }
    out.rows = value.rows;
    out.columns = value.columns;
    return out;
}

MatlabValue matlab_binary(const std::string& operation, const MatlabValue& a, const MatlabValue& b) {
    need_matrix(a);
    need_matrix(b);
    const auto compared = [&](auto&& f) {
        MatlabValue out = each(a, b, [&](double x, double y) { return f(x, y) ? 1.0 : 0.0; });
        out.logical = true;
        return out;
    };
    if (operation == "+") return each(a, b, std::plus<>());
    if (operation == "-") return each(a, b, std::minus<>());
    if (operation == ".*" || (operation == "*" && (a.scalar() || b.scalar()))) return each(a, b, std::multiplies<>());
    if (operation == "*") return product(a, b);
    if (operation == "./" || (operation == "/" && b.scalar())) return each(a, b, std::divides<>());
    if (operation == ".\\" || (operation == "\\" && a.scalar())) return each(b, a, std::divides<>());
    if (operation == ".^" || (operation == "^" && a.scalar() && b.scalar())) {
        MatlabValue out = each(a, b, [](double x, double y) { return std::pow(x, y); });
        for (const double x : out.number)
            if (std::isnan(x)) throw MatlabError("a power is not a real number");
        return out;
    }
    if (operation == "==") return compared(std::equal_to<>());
    if (operation == "~=") return compared(std::not_equal_to<>());
    if (operation == "<") return compared(std::less<>());
    if (operation == ">") return compared(std::greater<>());
    if (operation == "<=") return compared(std::less_equal<>());
    if (operation == ">=") return compared(std::greater_equal<>());
    if (operation == "&") return compared([](double x, double y) { return x != 0 && y != 0; });
    if (operation == "|") return compared([](double x, double y) { return x != 0 || y != 0; });
    throw MatlabError("'" + operation + "' between tables of " + size_of(a) + " and " + size_of(b) + " is not evaluated");
}

MatlabValue matlab_unary(char operation, const MatlabValue& a) {
    need_matrix(a);
    MatlabValue out = a;
    out.logical = operation == '~';
    for (double& x : out.number) x = operation == '-' ? -x : operation == '~' ? (x == 0 ? 1 : 0) : x;
    return out;
}

MatlabValue matlab_transposed(const MatlabValue& a) {
    need_matrix(a);
    MatlabValue out(a.columns, a.rows);
    out.logical = a.logical;
    for (std::size_t i = 0; i < a.rows; ++i)
        for (std::size_t k = 0; k < a.columns; ++k) out.at(k, i) = a.at(i, k);
    return out;
}

MatlabValue matlab_range(double first, double step, double last) {
    if (!std::isfinite(first) || !std::isfinite(step) || !std::isfinite(last)) throw MatlabError("a range without an end");
    const double count = step == 0 ? -1 : std::floor((last - first) / step * (1 + 1e-15) + 1e-10);
    if (count < 0) return {1, 0};
    if (count >= static_cast<double>(kMatlabNumbers)) throw MatlabError("a range of more than " + std::to_string(kMatlabNumbers) + " numbers");
    MatlabValue out(1, static_cast<std::size_t>(count) + 1);
    for (std::size_t i = 0; i < out.columns; ++i) out.number[i] = first + static_cast<double>(i) * step;
    return out;
}

MatlabValue matlab_taken(const MatlabValue& from, const MatlabIndices& indices) {
    need_matrix(from);
    need_two(indices);
    if (indices.size() == 1) {
        const std::vector<std::size_t> at = places(indices[0], from.number.size());
        if (needed(at) > from.number.size()) throw MatlabError("index " + std::to_string(needed(at)) + " is beyond a table of " + size_of(from));
        // A row or a column keeps its direction; a table takes the direction of its index.
        const bool line = (from.rows == 1 || from.columns == 1) && (indices[0].rows == 1 || indices[0].columns == 1) && !from.scalar();
        MatlabValue out;
        if (indices[0].all) out = MatlabValue(at.size(), 1);
        else if (line) out = from.rows == 1 ? MatlabValue(1, at.size()) : MatlabValue(at.size(), 1);
        else out = MatlabValue(indices[0].rows, indices[0].columns);
        for (std::size_t i = 0; i < at.size(); ++i) out.down(i) = from.down(at[i]);
        out.logical = from.logical;
        return out;
    }
    const std::vector<std::size_t> row = places(indices[0], from.rows), column = places(indices[1], from.columns);
    if (needed(row) > from.rows || needed(column) > from.columns)
        throw MatlabError("row " + std::to_string(needed(row)) + " or column " + std::to_string(needed(column)) + " is beyond a table of " + size_of(from));
    need_room(row.size(), column.size());
    MatlabValue out(row.size(), column.size());
    for (std::size_t i = 0; i < row.size(); ++i) {
        for (std::size_t k = 0; k < column.size(); ++k) out.at(i, k) = from.at(row[i], column[k]);
        if (!from.line.empty()) out.line.push_back(from.line[row[i]]);
    }
    out.logical = from.logical;
    return out;
}

void matlab_put(MatlabValue& into, const MatlabIndices& indices, const MatlabValue& value, int line) {
    need_matrix(into);
    need_matrix(value);
    need_two(indices);
    const auto count = [&](std::size_t n) {
        if (!value.scalar() && value.number.size() != n)
            throw MatlabError("a table of " + size_of(value) + " does not fill " + std::to_string(n) + " places");
    };
    into.logical = into.logical && value.logical;
    if (indices.size() == 1) {
        const std::vector<std::size_t> at = places(indices[0], into.number.size());
        count(at.size());
        if (const std::size_t n = needed(at); n > into.number.size()) {
            if (into.rows > 1 && into.columns > 1) throw MatlabError("index " + std::to_string(n) + " is beyond a table of " + size_of(into));
            if (into.rows > 1) grow(into, n, 1, line);
            else grow(into, 1, n, line);
        }
        for (std::size_t i = 0; i < at.size(); ++i) into.down(at[i]) = value.scalar() ? value.number[0] : value.down(i);
        return;
    }
    const bool empty = into.number.empty();
    const std::vector<std::size_t> row = places(indices[0], empty && indices[0].all ? value.rows : into.rows),
                                   column = places(indices[1], empty && indices[1].all ? value.columns : into.columns);
    count(row.size() * column.size());
    const bool single = row.size() == 1 || column.size() == 1;
    if (!value.scalar() && !single && value.rows != row.size())
        throw MatlabError("a table of " + size_of(value) + " does not fill " + std::to_string(row.size()) + " x " + std::to_string(column.size()) + " places");
    if (!value.scalar() && single && value.rows != 1 && value.columns != 1) throw MatlabError("a table of " + size_of(value) + " does not fill a row or a column");
    grow(into, needed(row), needed(column), line);
    for (std::size_t i = 0; i < row.size(); ++i)
        for (std::size_t k = 0; k < column.size(); ++k)
            into.at(row[i], column[k]) = value.scalar() ? value.number[0] : single ? value.number[i * column.size() + k] : value.at(i, k);
}

void matlab_removed(MatlabValue& into, const MatlabIndices& indices) {
    need_matrix(into);
    if (indices.size() != 2 || indices[0].all == indices[1].all) throw MatlabError("only whole rows or whole columns can be removed");
    const bool of_rows = indices[1].all;
    const MatlabIndex& which = of_rows ? indices[0] : indices[1];
    const std::set<std::size_t> gone(which.places.begin(), which.places.end());
    const std::size_t size = of_rows ? into.rows : into.columns;
    if (!gone.empty() && *gone.rbegin() >= size) throw MatlabError("a removed row or column is outside a table of " + size_of(into));
    MatlabIndex kept;
    for (std::size_t i = 0; i < size; ++i)
        if (!gone.contains(i)) kept.places.push_back(i);
    const MatlabIndex all{.all = true};
    into = matlab_taken(into, of_rows ? MatlabIndices{kept, all} : MatlabIndices{all, kept});
}

MatlabValue matlab_below(std::vector<MatlabValue> parts) {
    std::erase_if(parts, [](const MatlabValue& p) { return p.is_matrix() && p.number.empty(); });
    if (parts.empty()) return {};
    if (parts.size() == 1) return std::move(parts[0]);
    MatlabValue out(0, parts[0].columns);
    out.logical = true;
    bool known = true;
    for (const MatlabValue& p : parts) {
        need_matrix(p);
        if (p.columns != out.columns) throw MatlabError("a row of " + std::to_string(p.columns) + " columns in a table of " + std::to_string(out.columns));
        out.rows += p.rows;
        need_room(out.rows, out.columns);
        out.number.insert(out.number.end(), p.number.begin(), p.number.end());
        out.line.insert(out.line.end(), p.line.begin(), p.line.end());
        out.logical = out.logical && p.logical;
        known = known && !p.line.empty();
    }
    if (!known) out.line.clear();
    return out;
}

MatlabValue matlab_beside(std::vector<MatlabValue> parts) {
    std::erase_if(parts, [](const MatlabValue& p) { return p.is_matrix() && p.number.empty(); });
    if (parts.empty()) return {};
    if (parts.size() == 1) return std::move(parts[0]);
    std::size_t columns = 0;
    for (const MatlabValue& p : parts) {
        need_matrix(p);
        if (p.rows != parts[0].rows) throw MatlabError("parts of " + std::to_string(parts[0].rows) + " and " + std::to_string(p.rows) + " rows do not go side by side");
        columns += p.columns;
    }
    need_room(parts[0].rows, columns);
    MatlabValue out(parts[0].rows, columns);
    out.line = parts[0].line;
    std::size_t begin = 0;
    for (const MatlabValue& p : parts) {
        for (std::size_t i = 0; i < p.rows; ++i)
            for (std::size_t k = 0; k < p.columns; ++k) out.at(i, begin + k) = p.at(i, k);
        begin += p.columns;
    }
    return out;
}

}  // namespace emt
