#include "commands/nearest.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace emt {
namespace {

/// Returns the number of letters that differ, are missing or are superfluous.
std::size_t distance(const std::string& a, const std::string& b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < a.size(); ++i) {
        std::size_t diagonal = std::exchange(row[0], i + 1);
        for (std::size_t j = 0; j < b.size(); ++j)
            diagonal = std::exchange(row[j + 1], std::min({row[j] + 1, row[j + 1] + 1, diagonal + (a[i] == b[j] ? 0 : 1)}));
    }
    return row.back();
}

}  // namespace

std::vector<std::string> nearest(const std::string& name, const std::vector<std::string>& names, std::size_t most) {
    std::vector<std::pair<std::size_t, std::size_t>> ranked;  // distance and index
    for (std::size_t i = 0; i < names.size(); ++i) ranked.emplace_back(distance(name, names[i]), i);
    const std::size_t shown = std::min(most, ranked.size());
    std::partial_sort(ranked.begin(), ranked.begin() + static_cast<std::ptrdiff_t>(shown), ranked.end());
    std::vector<std::string> out;
    for (std::size_t i = 0; i < shown; ++i) out.push_back(names[ranked[i].second]);
    return out;
}

}  // namespace emt
