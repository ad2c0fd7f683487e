// Figures: medians and rounding.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <vector>

namespace measure {

using nlohmann::json;

// Returns the median of at least one value; for an even number of values, the mean of the middle two.
inline double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    if (values.size() % 2 == 1) {
        return *middle;
    }
    return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

// Rounds to six significant digits; no measurement here is more exact.
inline double rounded(double value) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.6g", value);
    return std::strtod(text.data(), nullptr);
}

// Medians of the samples of each repeat, one list per series, in µs with six digits.
class Medians {
  public:
    explicit Medians(std::size_t series) : samples_(series), found_(series, json::array()) {}

    void add(std::size_t series, double seconds) { samples_[series].push_back(seconds); }
    void end_of_repeat() {
        for (std::size_t series = 0; series < samples_.size(); ++series) {
            if (!samples_[series].empty()) {
                found_[series].push_back(rounded(median(samples_[series]) * 1e6));
                samples_[series].clear();
            }
        }
    }
    [[nodiscard]] const json& operator[](std::size_t series) const { return found_[series]; }

  private:
    std::vector<std::vector<double>> samples_;
    std::vector<json> found_;
};

}  // namespace measure
