// Values of MATLAB's language, as far as tables of numbers need them.
#pragma once
#include <cstddef>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace emt {

/// What an expression cannot do; the program adds the line.
struct MatlabError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct MatlabValue {
    enum class Kind { matrix, text, cell, structure };
    Kind kind = Kind::matrix;
    std::size_t rows = 0, columns = 0;
    std::vector<double> number;               // by rows
    std::vector<int> line;                    // of each row in the file; empty if the rows are computed
    bool logical = false;                     // numbers are 0 and 1, and as an index choose
    std::string text;
    std::map<std::string, MatlabValue> member;

    MatlabValue() = default;
    MatlabValue(double x) : rows(1), columns(1), number{x} {}  // NOLINT(google-explicit-constructor): a number is a matrix of one
    MatlabValue(std::size_t rows_, std::size_t columns_, double x = 0) : rows(rows_), columns(columns_), number(rows_ * columns_, x) {}

    [[nodiscard]] bool is_matrix() const { return kind == Kind::matrix; }
    [[nodiscard]] bool scalar() const { return is_matrix() && number.size() == 1; }
    [[nodiscard]] double& at(std::size_t i, std::size_t k) { return number[i * columns + k]; }
    [[nodiscard]] double at(std::size_t i, std::size_t k) const { return number[i * columns + k]; }
    /// By the one index that MATLAB counts down the columns.
    [[nodiscard]] double& down(std::size_t i) { return number[i % rows * columns + i / rows]; }
    [[nodiscard]] double down(std::size_t i) const { return number[i % rows * columns + i / rows]; }
};

/// One index of several: all there is, or these, from 0.
struct MatlabIndex {
    bool all = false;
    std::vector<std::size_t> places{};
    std::size_t rows = 0, columns = 0;  // of the index itself, whose shape a single one gives to what it takes
};
using MatlabIndices = std::vector<MatlabIndex>;

/// From the value of an index. Throws MatlabError if that is not made of whole numbers above zero.
[[nodiscard]] MatlabIndex matlab_index(const MatlabValue& value);

// All of these throw MatlabError for what does not go together.

/// `operation` is the operator as it is written.
[[nodiscard]] MatlabValue matlab_binary(const std::string& operation, const MatlabValue& a, const MatlabValue& b);
[[nodiscard]] MatlabValue matlab_unary(char operation, const MatlabValue& a);
[[nodiscard]] MatlabValue matlab_transposed(const MatlabValue& a);
[[nodiscard]] MatlabValue matlab_range(double first, double step, double last);
[[nodiscard]] MatlabValue matlab_taken(const MatlabValue& from, const MatlabIndices& indices);
/// The assignment into(indices) = value; `into` grows where it has to.
void matlab_put(MatlabValue& into, const MatlabIndices& indices, const MatlabValue& value, int line);
/// The assignment into(indices) = [].
void matlab_removed(MatlabValue& into, const MatlabIndices& indices);
/// One below the other, or beside.
[[nodiscard]] MatlabValue matlab_below(std::vector<MatlabValue> parts);
[[nodiscard]] MatlabValue matlab_beside(std::vector<MatlabValue> parts);

/// More numbers than this in one value are refused.
inline constexpr std::size_t kMatlabNumbers = 20'000'000;

}  // namespace emt
