#include "solver/sparse_factors.hpp"

#include <Eigen/Sparse>
#include <Eigen/SparseCholesky>
#include <algorithm>
#include <numeric>

namespace emt {

/// matrixL() of a factorisation holds the part of L below its unit diagonal, rows ascending.
struct SparseFactors::Eigens {
    Eigen::SimplicialLDLT<Eigen::SparseMatrix<double>> ldlt;
    bool analysed = false;
};

SparseFactors::SparseFactors() : eigens_(std::make_unique<Eigens>()) {}
SparseFactors::~SparseFactors() = default;
SparseFactors::SparseFactors(SparseFactors&&) noexcept = default;
SparseFactors& SparseFactors::operator=(SparseFactors&&) noexcept = default;

void SparseFactors::factorise(const Task& task, double dt_s, const Topology& topology) {
    std::vector<Eigen::Triplet<double>> entries;
    stamp(task, topology.closed, slopes(task, dt_s, topology), [&](int i, int j, double g) { entries.emplace_back(i, j, g); });
    Eigen::SparseMatrix<double> y(task.size(), task.size());
    y.setFromTriplets(entries.begin(), entries.end());  // keeps zeros: the pattern never changes
    auto& ldlt = eigens_->ldlt;
    if (!eigens_->analysed) ldlt.analyzePattern(y);
    ldlt.factorize(y);
    const Eigen::VectorXd d = ldlt.vectorD();
    const auto& order = ldlt.permutationP().indices();
    place_.assign(order.data(), order.data() + order.size());
    for (int i = 0; i < task.size(); ++i)
        if (!(d[place(i)] > kSingular * y.coeff(i, i))) throw SingularNode(i);
    if (!eigens_->analysed) regroup();
    eigens_->analysed = true;
    inverse_d_.resize(place_.size());
    for (std::size_t k = 0; k < inverse_d_.size(); ++k) inverse_d_[k] = 1 / d[static_cast<Eigen::Index>(k)];
    const auto& l = ldlt.matrixL().nestedExpression();
    value_.clear();
    for (Group& g : group_) {
        g.value = value_.size();
        const auto column = [&](int k) { return l.valuePtr() + l.outerIndexPtr()[g.first + k]; };
        for (int k = 0; k < g.width; ++k)
            for (int i = 0; i < g.width - 1 - k; ++i) value_.push_back(column(k)[i]);
        for (int r = 0; r < g.rows; ++r)
            for (int k = 0; k < g.width; ++k) value_.push_back(column(k)[g.width - 1 - k + r]);
    }
}

void SparseFactors::regroup() {
    const auto& l = eigens_->ldlt.matrixL().nestedExpression();
    const int n = static_cast<int>(l.cols());
    const auto rows = [&](int k) { return std::span(l.innerIndexPtr() + l.outerIndexPtr()[k], l.innerIndexPtr() + l.outerIndexPtr()[k + 1]); };
    group_.clear();
    row_.clear();
    for (int k = 0; k < n; ++k) {
        // In the elimination tree the next column is this one's parent if it is the first row; then it has all other rows, too.
        const bool joins = k > 0 && group_.back().width < kGroup && !rows(k - 1).empty() && rows(k - 1).front() == k &&
                           rows(k - 1).size() == rows(k).size() + 1;
        if (!joins) group_.push_back({k, 0, 0, 0, 0});
        ++group_.back().width;
        group_of_.push_back(static_cast<int>(group_.size()) - 1);
    }
    for (Group& g : group_) {
        const auto below = rows(g.first + g.width - 1);
        g.rows = static_cast<int>(below.size());
        g.row = static_cast<int>(row_.size());
        row_.insert(row_.end(), below.begin(), below.end());
    }
    all_.resize(group_.size());
    std::iota(all_.begin(), all_.end(), 0);
}

std::vector<int> SparseFactors::path(std::span<const int> nodes) const {
    std::vector<char> met(group_.size(), 0);
    for (const int node : nodes)
        for (int g = group_of_[static_cast<std::size_t>(place(node))]; g >= 0 && met[static_cast<std::size_t>(g)] == 0;) {
            met[static_cast<std::size_t>(g)] = 1;
            const Group& at = group_[static_cast<std::size_t>(g)];
            g = at.rows == 0 ? -1 : group_of_[static_cast<std::size_t>(row_[static_cast<std::size_t>(at.row)])];
        }
    std::vector<int> out;
    std::copy_if(all_.begin(), all_.end(), std::back_inserter(out), [&](int g) { return met[static_cast<std::size_t>(g)] != 0; });
    return out;
}

template <int Width>
void SparseFactors::forward(const Group& g, double* x) const {
    const double* value = value_.data() + g.value;
    double* const own = x + g.first;
    double known[Width];
    for (int k = 0; k < Width; ++k) {
        known[k] = own[k];
        for (int i = k + 1; i < Width; ++i) own[i] -= *value++ * known[k];
    }
    const int* const row = row_.data() + g.row;
    for (int r = 0; r < g.rows; ++r, value += Width) {
        double sum = x[row[r]];
        for (int k = 0; k < Width; ++k) sum -= value[k] * known[k];
        x[row[r]] = sum;
    }
}

template <int Width>
void SparseFactors::backward(const Group& g, double* x) const {
    const double *const triangle = value_.data() + g.value, *value = triangle + Width * (Width - 1) / 2;
    double* const own = x + g.first;
    double sum[Width];
    for (int k = 0; k < Width; ++k) sum[k] = own[k] * inverse_d_[static_cast<std::size_t>(g.first + k)];
    const int* const row = row_.data() + g.row;
    for (int r = 0; r < g.rows; ++r, value += Width) {
        const double known = x[row[r]];
        for (int k = 0; k < Width; ++k) sum[k] -= value[k] * known;
    }
    const double* below = triangle + Width * (Width - 1) / 2;  // the end of each column of the triangle
    for (int k = Width - 1; k >= 0; --k) {
        below -= Width - 1 - k;
        for (int i = k + 1; i < Width; ++i) sum[k] -= below[i - k - 1] * sum[i];
        own[k] = sum[k];
    }
}

void SparseFactors::forward(std::span<const int> groups, double* x) const {
    for (const int at : groups) {
        const Group& g = group_[static_cast<std::size_t>(at)];
        switch (g.width) {
            case 1: forward<1>(g, x); break;
            case 2: forward<2>(g, x); break;
            case 3: forward<3>(g, x); break;
            default: forward<kGroup>(g, x);
        }
    }
}

void SparseFactors::backward(std::span<const int> groups, double* x) const {
    for (auto at = groups.rbegin(); at != groups.rend(); ++at) {
        const Group& g = group_[static_cast<std::size_t>(*at)];
        switch (g.width) {
            case 1: backward<1>(g, x); break;
            case 2: backward<2>(g, x); break;
            case 3: backward<3>(g, x); break;
            default: backward<kGroup>(g, x);
        }
    }
}

}  // namespace emt
