#include "solver/sparse_factors.hpp"

#include <Eigen/Sparse>
#include <Eigen/SparseCholesky>
#include <algorithm>
#include <numeric>
#include <type_traits>

namespace emt {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

/// Calls act with a number of columns as a constant, so that its loops unroll.
template <class Act>
void with_constant(int columns, Act&& act) {
    static_assert(SparseFactors::kGroup == 4);
    switch (columns) {
        case 1: return act(std::integral_constant<int, 1>{});
        case 2: return act(std::integral_constant<int, 2>{});
        case 3: return act(std::integral_constant<int, 3>{});
        default: return act(std::integral_constant<int, 4>{});
    }
}

}  // namespace

struct SparseFactors::Eigens {
    Eigen::SparseMatrix<double> y;
    /// matrixL() holds the part of L below its unit diagonal, rows ascending.
    Eigen::SimplicialLDLT<Eigen::SparseMatrix<double>> ldlt;
    bool analysed = false;
};

SparseFactors::SparseFactors(const Task& task) : task_(&task), eigens_(std::make_unique<Eigens>()) {
    for (std::size_t slot = 0; slot < task.machines.size(); ++slot)
        if (task.machines[slot].y_d() != task.machines[slot].y_q()) machines_.push_back(static_cast<int>(slot));
}
SparseFactors::~SparseFactors() = default;
SparseFactors::SparseFactors(SparseFactors&&) noexcept = default;
SparseFactors& SparseFactors::operator=(SparseFactors&&) noexcept = default;

void SparseFactors::factorise(double dt_s, const Topology& topology) {
    const Task& task = *task_;
    std::vector<Eigen::Triplet<double>> entries;
    stamp(task, topology.closed, slopes(task, dt_s, topology), [&](int i, int j, double g) { entries.emplace_back(i, j, g); });
    auto& y = eigens_->y;
    y.resize(task.size(), task.size());
    y.setFromTriplets(entries.begin(), entries.end());  // keeps zeros: the pattern never changes
    auto& ldlt = eigens_->ldlt;
    if (!eigens_->analysed) ldlt.analyzePattern(y);
    ldlt.factorize(y);
    const Eigen::VectorXd d = ldlt.vectorD();
    const auto& order = ldlt.permutationP().indices();
    place_.assign(order.data(), order.data() + order.size());
    for (int i = 0; i < task.size(); ++i)
        if (!(d[place(i)] > kSingular * y.coeff(i, i))) throw SingularNode(i);
    if (!eigens_->analysed) {
        regroup();
        find_changing();
    }
    eigens_->analysed = true;
    inverse_d_.resize(place_.size());
    for (std::size_t k = 0; k < inverse_d_.size(); ++k) inverse_d_[k] = 1 / d[static_cast<Eigen::Index>(k)];
    const auto& l = ldlt.matrixL().nestedExpression();
    for (const Group& g : group_)
        for (int k = 0; k < g.width; ++k) {
            const double* column = l.valuePtr() + l.outerIndexPtr()[g.first + k];
            double* const value = value_.data() + g.value + k;
            value[k * g.width] = d[g.first + k];
            for (int r = k + 1; r < g.width + g.rows; ++r) value[r * g.width] = *column++;
        }
    keep_base();
}

void SparseFactors::regroup() {
    const auto& l = eigens_->ldlt.matrixL().nestedExpression();
    const int n = static_cast<int>(l.cols());
    const auto rows = [&](int k) { return std::span(l.innerIndexPtr() + l.outerIndexPtr()[k], l.innerIndexPtr() + l.outerIndexPtr()[k + 1]); };
    for (int k = 0; k < n; ++k) {
        // In the elimination tree the next column is this one's parent if it is the first row; then it has all other rows, too.
        const bool joins = k > 0 && group_.back().width < kGroup && !rows(k - 1).empty() && rows(k - 1).front() == k &&
                           rows(k - 1).size() == rows(k).size() + 1;
        if (!joins) group_.push_back({k, 0, 0, 0, 0});
        ++group_.back().width;
        group_of_.push_back(static_cast<int>(group_.size()) - 1);
    }
    std::size_t values = 0;
    for (Group& g : group_) {
        const auto below = rows(g.first + g.width - 1);
        g.rows = static_cast<int>(below.size());
        g.row = static_cast<int>(row_.size());
        row_.insert(row_.end(), below.begin(), below.end());
        g.value = values;
        values += g.size();
    }
    value_.resize(values);
}

void SparseFactors::find_changing() {
    std::vector<int> changing_at(group_.size(), -1);
    std::vector<char> met(group_.size(), 0);
    for (const int m : machines_)
        for (const int node : task_->machines[at(m)].node)
            for (int g = group_of_[at(place(node))]; g >= 0 && met[at(g)] == 0;) {
                met[at(g)] = 1;
                g = group(g).rows == 0 ? -1 : group_of_[at(row_[at(group(g).row)])];
            }
    for (int g = 0; g < static_cast<int>(group_.size()); ++g) {
        if (met[at(g)] == 0) continue;
        changing_at[at(g)] = static_cast<int>(changing_.size());
        changing_.push_back({g, {}, {}});
    }
    for (int g = 0; g < static_cast<int>(group_.size()); ++g) {
        const auto target = [&, first = group(g).row](int r) { return group_of_[at(row_[at(first + r)])]; };
        for (int r = 0, end = 0; r < group(g).rows; r = end) {
            while (end < group(g).rows && target(end) == target(r)) ++end;
            if (const int c = changing_at[at(target(r))]; c >= 0)
                (met[at(g)] != 0 ? changing_[at(c)].changing : changing_[at(c)].fixed).push_back({g, r, end});
        }
    }
    for (const int m : machines_)
        for (std::size_t i = 0; i < 3; ++i)
            for (std::size_t k = 0; k <= i; ++k) changed_.push_back(value_of(place(task_->machines[at(m)].node[i]), place(task_->machines[at(m)].node[k])));
    target_row_.resize(changing_.empty() ? 0 : place_.size());
}

/// Returns where value_ has an entry of L.
std::size_t SparseFactors::value_of(int place, int other) const {
    const auto [column, row] = std::minmax(place, other);
    const Group& g = group(group_of_[at(column)]);
    const auto first = row_.begin() + g.row;
    const auto below = static_cast<int>(std::lower_bound(first, first + g.rows, row) - first);
    const int r = row < g.first + g.width ? row - g.first : g.width + below;
    return g.value + at(r * g.width + column - g.first);
}

void SparseFactors::keep_base() {
    base_.clear();
    if (changing_.empty()) return;
    const auto& y = eigens_->y;
    std::vector<int> node(place_.size());
    for (std::size_t i = 0; i < place_.size(); ++i) node[at(place_[i])] = static_cast<int>(i);
    for (const Changing& c : changing_) {
        const Group& g = group(c.group);
        std::fill_n(value_.begin() + static_cast<std::ptrdiff_t>(g.value), g.size(), 0.0);
        for (int k = g.first; k < g.first + g.width; ++k)
            for (Eigen::SparseMatrix<double>::InnerIterator entry(y, node[at(k)]); entry; ++entry)
                if (const int row = place(static_cast<int>(entry.row())); row >= k) value_[value_of(row, k)] = entry.value();
        aim(g);
        for (const Source& s : c.fixed) subtract(s, g);
        const double* const value = value_.data() + g.value;
        base_.insert(base_.end(), value, value + g.size());
    }
}

void SparseFactors::change(std::span<const std::array<double, 3>> p) {
    const double* base = base_.data();
    for (const Changing& c : changing_) {
        std::copy_n(base, group(c.group).size(), value_.data() + group(c.group).value);
        base += group(c.group).size();
    }
    const std::size_t* entry = changed_.data();
    for (const auto& direction : p)
        for (std::size_t i = 0; i < direction.size(); ++i)
            for (std::size_t k = 0; k <= i; ++k) value_[*entry++] += direction[i] * direction[k];
    for (const Changing& c : changing_) {
        const Group& g = group(c.group);
        aim(g);
        for (const Source& s : c.changing) subtract(s, g);
        with_constant(g.width, [&](auto width) { eliminate<width>(g); });
    }
}

void SparseFactors::aim(const Group& target) {
    for (int k = 0; k < target.width; ++k) target_row_[at(target.first + k)] = k;
    for (int r = 0; r < target.rows; ++r) target_row_[at(row_[at(target.row + r)])] = target.width + r;
}

void SparseFactors::subtract(const Source& source, const Group& target) {
    const Group& from = group(source.group);
    with_constant(from.width, [&](auto width) {
        with_constant(source.end - source.first, [&](auto columns) { subtract<width, columns>(from, source.first, target); });
    });
}

template <int Width, int Columns>
void SparseFactors::subtract(const Group& source, int first, const Group& target) {
    const double *const own = value_.data() + source.value, *const below = own + Width * Width;
    const int* const row = row_.data() + source.row;
    double factor[Columns][Width];
    int column[Columns];
    for (int c = 0; c < Columns; ++c) {
        column[c] = row[first + c] - target.first;
        for (int k = 0; k < Width; ++k) factor[c][k] = below[(first + c) * Width + k] * own[k * Width + k];
    }
    double* const to = value_.data() + target.value;
    for (int r = first; r < source.rows; ++r) {
        const double* const known = below + r * Width;
        double* const sum = to + static_cast<std::ptrdiff_t>(target_row_[at(row[r])]) * target.width;
        for (int c = 0; c < Columns; ++c) {
            double taken = known[0] * factor[c][0];
            for (int k = 1; k < Width; ++k) taken += known[k] * factor[c][k];
            sum[column[c]] -= taken;
        }
    }
}

template <int Width>
void SparseFactors::eliminate(const Group& g) {
    double *const own = value_.data() + g.value, *const inverse = inverse_d_.data() + g.first;
    for (int k = 0; k < Width; ++k) {
        inverse[k] = 1 / own[k * Width + k];
        for (int c = k + 1; c < Width; ++c) {
            const double l = own[c * Width + k] * inverse[k];
            for (int r = c; r < Width; ++r) own[r * Width + c] -= own[r * Width + k] * l;
        }
        for (int r = k + 1; r < Width; ++r) own[r * Width + k] *= inverse[k];
    }
    double* below = own + Width * Width;
    for (int r = 0; r < g.rows; ++r, below += Width)
        for (int k = 0; k < Width; ++k) {
            for (int c = k + 1; c < Width; ++c) below[c] -= below[k] * own[c * Width + k];
            below[k] *= inverse[k];
        }
}

template <int Width>
void SparseFactors::forward(const Group& g, double* x) const {
    const double* value = value_.data() + g.value;
    double* const own = x + g.first;
    double known[Width];
    for (int k = 0; k < Width; ++k) {
        known[k] = own[k];
        for (int i = k + 1; i < Width; ++i) own[i] -= value[i * Width + k] * known[k];
    }
    value += Width * Width;
    const int* const row = row_.data() + g.row;
    for (int r = 0; r < g.rows; ++r, value += Width) {
        double sum = x[row[r]];
        for (int k = 0; k < Width; ++k) sum -= value[k] * known[k];
        x[row[r]] = sum;
    }
}

template <int Width>
void SparseFactors::backward(const Group& g, double* x) const {
    const double *const triangle = value_.data() + g.value, *value = triangle + Width * Width;
    double* const own = x + g.first;
    double sum[Width];
    for (int k = 0; k < Width; ++k) sum[k] = own[k] * inverse_d_[at(g.first + k)];
    const int* const row = row_.data() + g.row;
    for (int r = 0; r < g.rows; ++r, value += Width) {
        const double known = x[row[r]];
        for (int k = 0; k < Width; ++k) sum[k] -= value[k] * known;
    }
    for (int k = Width - 1; k >= 0; --k) {
        for (int i = k + 1; i < Width; ++i) sum[k] -= triangle[i * Width + k] * sum[i];
        own[k] = sum[k];
    }
}

void SparseFactors::solve(double* x) const {
    for (const Group& g : group_) with_constant(g.width, [&](auto width) { forward<width>(g, x); });
    for (auto g = group_.rbegin(); g != group_.rend(); ++g) with_constant(g->width, [&](auto width) { backward<width>(*g, x); });
}

std::size_t SparseFactors::bytes() const {
    std::size_t sources = 0;
    for (const Changing& c : changing_) sources += c.changing.size();
    return (value_.size() + inverse_d_.size() + base_.size()) * sizeof(double) + (row_.size() + target_row_.size()) * sizeof(int) +
           group_.size() * sizeof(Group) + sources * sizeof(Source) + changed_.size() * sizeof(std::size_t);
}

SparseFactors::Work SparseFactors::work() const {
    Work out{2 * value_.size(), 0};
    for (const Changing& c : changing_)
        for (const Source& s : c.changing)
            out.change += at(group(s.group).width) * at(s.end - s.first) * at(group(s.group).rows - s.first);
    return out;
}

}  // namespace emt
