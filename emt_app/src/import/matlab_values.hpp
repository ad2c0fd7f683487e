// Values of the MATLAB language, as far as tables of numbers need them.
#pragma once
#include <cstddef>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace emt {

/// An expression that cannot be evaluated; the program adds the line.
struct MatlabError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct MatlabValue {
    enum class Kind { matrix, text, cell, structure };
    Kind kind = Kind::matrix;
    std::size_t rows = 0, columns = 0;
    std::vector<double> number;               // by rows
    std::vector<int> line;                    // line of each row in the file; empty for computed rows
    bool logical = false;                     // numbers are 0 and 1; as an index, they select
    std::string text;
    std::map<std::string, MatlabValue> member;

    MatlabValue() = default;
    MatlabValue(double x) : rows(1), columns(1), number{x} {}  // NOLINT(google-explicit-constructor): a number is a matrix of one
    MatlabValue(std::size_t rows_, std::size_t columns_, double x = 0) : rows(rows_), columns(columns_), number(rows_ * columns_, x) {}

    [[nodiscard]] bool is_matrix() const { return kind == Kind::matrix; }
    [[nodiscard]] bool scalar() const { return is_matrix() && number.size() == 1; }
    [[nodiscard]] double& at(std::size_t i, std::size_t k) { return number[i * columns + k]; }
    [[nodiscard]] double at(std::size_t i, std::size_t k) const { return number[i * columns + k]; }
    /// Element by a single index, which counts down the columns as in MATLAB.
    [[nodiscard]] double& down(std::size_t i) { return number[i % rows * columns + i / rows]; }
    [[nodiscard]] double down(std::size_t i) const { return number[i % rows * columns + i / rows]; }
};

/// One of several indices: all, or these numbers, counted from 0.
struct MatlabIndex {
    bool all = false;
    std::vector<std::size_t> places{};
    std::size_t rows = 0, columns = 0;  // the shape of the index, which the result of a single index takes
};
using MatlabIndices = std::vector<MatlabIndex>;

/// Converts the value of an index. Throws MatlabError unless it has only whole numbers above zero.
[[nodiscard]] MatlabIndex matlab_index(const MatlabValue& value);

// All of these throw MatlabError for operands that do not fit together.

/// `operation` is the operator as written.
[[nodiscard]] MatlabValue matlab_binary(const std::string& operation, const MatlabValue& a, const MatlabValue& b);
[[nodiscard]] MatlabValue matlab_unary(char operation, const MatlabValue& a);
[[nodiscard]] MatlabValue matlab_transposed(const MatlabValue& a);
[[nodiscard]] MatlabValue matlab_range(double first, double step, double last);
[[nodiscard]] MatlabValue matlab_taken(const MatlabValue& from, const MatlabIndices& indices);
/// Executes into(indices) = value; `into` grows if necessary.
void matlab_put(MatlabValue& into, const MatlabIndices& indices, const MatlabValue& value, int line);
/// Executes into(indices) = [].
void matlab_removed(MatlabValue& into, const MatlabIndices& indices);
/// Joins values one below the other, or side by side.
[[nodiscard]] MatlabValue matlab_below(std::vector<MatlabValue> parts);
[[nodiscard]] MatlabValue matlab_beside(std::vector<MatlabValue> parts);

/// Largest number of numbers in one value.
inline constexpr std::size_t kMatlabNumbers = 20'000'000;

}  // namespace emt
