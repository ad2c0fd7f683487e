// Numbers: single ones, those of t = 0, lists, matrices and curves.
#include <algorithm>
#include <cmath>

#include "elements/reader.hpp"

namespace emt {
using nlohmann::json;

namespace {

constexpr ValueKind kNumberKind{R"({"type": "number"})"};
constexpr ValueKind kPositiveKind{R"({"type": "number", "exclusiveMinimum": 0})", "positive"};
constexpr ValueKind kNotNegativeKind{R"({"type": "number", "minimum": 0})", "not_negative"};
constexpr ValueKind kNumbersKind{R"({"type": "array", "items": {"type": "number"}})"};
constexpr ValueKind kMatrixKind{R"({"type": "array", "minItems": 3, "maxItems": 3, "items": {"type": "array", "items": {"type": "number"}, "minItems": 3, "maxItems": 3}})", "matrix"};
constexpr ValueKind kCurveKind{R"({"type": "array", "minItems": 1, "items": {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2}, "description": "points [x, i] of an odd characteristic, strictly ascending from the implied [0, 0]; the last slope goes on"})", "curve"};
constexpr ValueKind kPointsKind{R"({"type": "array", "minItems": 2, "items": {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2}, "description": "points [x, y], strictly ascending in x; the outer slopes go on"})", "points"};

const ValueKind& kind_of(Range range) { return range == Range::positive ? kPositiveKind : range == Range::not_negative ? kNotNegativeKind : kNumberKind; }

}  // namespace

double Reader::checked(const std::string& key, const json& value, Range range) {
    if (!value.is_number()) {
        report_("wrong-type", "'" + key + "' must be a number, not " + value.dump());
        return 1;
    }
    const double x = value.get<double>();
    const bool bad = !std::isfinite(x) || (range == Range::positive && !(x > 0)) ||
                     (range == Range::not_negative && !(x >= 0));
    if (bad) {
        report_(x < 0 ? "negative-value" : "out-of-range",
                "'" + key + "' is " + value.dump() + " but must be " +
                    (range == Range::positive ? "greater than zero" : range == Range::any ? "finite" : "zero or more"));
        return 1;
    }
    return x;
}

double Reader::number(const std::string& key, Range range, std::string_view meaning) {
    if (const json* value = find(key, kind_of(range), meaning, true)) return checked(key, *value, range);
    report_("missing-key", "needs the number '" + key + "'");
    return 1;
}

double Reader::number(const std::string& key, Range range, std::string_view meaning, double otherwise) {
    const std::optional<double> given = optional(key, range, meaning);
    if (description_ != nullptr) description_->set(key, "default", otherwise);
    return given.value_or(otherwise);
}

std::optional<double> Reader::optional(const std::string& key, Range range, std::string_view meaning) {
    if (const json* value = find(key, kind_of(range), meaning, false)) return checked(key, *value, range);
    return {};
}

double Reader::initial(const std::string& key, std::string_view meaning) {
    refuse_at_steady_start(key);
    return number(key, Range::any, std::string(meaning) + "; start zero only", 0);
}

std::vector<double> Reader::initial(const std::string& key, std::string_view meaning, std::size_t count) {
    if (description_ != nullptr) {
        const Schema number = description_->of(kNumberKind);
        Schema kinds = Schema::array({number});
        for (const std::size_t phases : {1U, 3U})  // both if the terminals decide, since a description has none
            if (count == 0 || count == phases) kinds.push_back(Description::list(number, phases, phases));
        description_->add(key, Schema::object({{"anyOf", kinds}, {"default", 0}}), std::string(meaning) + ", of all phases or of each; start zero only", false);
    }
    refuse_at_steady_start(key);
    const json* value = find(key);
    if (value == nullptr || !value->is_array()) return std::vector<double>(count, value == nullptr ? 0 : checked(key, *value, Range::any));
    std::vector<double> out = numbers(key, *value, count);
    if (std::any_of(out.begin(), out.end(), [](double x) { return !std::isfinite(x); }))
        report_("out-of-range", "'" + key + "' must be finite");
    out.resize(count);
    return out;
}

std::optional<double> Reader::found_by_steady_start(const std::string& key, Range range, std::string_view meaning) {
    if (!steady_start()) return number(key, range, std::string(meaning) + "; start zero only");
    refuse_at_steady_start(key);
    return {};
}

std::vector<double> Reader::numbers(const std::string& key, const json& value, std::size_t count) {
    std::vector<double> out;
    bool good = value.is_array() && value.size() == count;
    for (std::size_t k = 0; good && k < count; ++k) {
        good = value[k].is_number();
        if (good) out.push_back(value[k].get<double>());
    }
    if (!good) report_("wrong-type", "'" + key + "' must be a list of " + std::to_string(count) + " numbers");
    return good ? out : std::vector<double>();
}

std::vector<double> Reader::weights(const std::string& key, std::string_view meaning, std::size_t count) {
    const json* value = find(key, kNumbersKind, meaning, false);
    return value == nullptr ? std::vector<double>() : numbers(key, *value, count);
}

std::vector<double> Reader::some_positive(const std::string& key, std::string_view meaning, std::size_t most) {
    if (description_ != nullptr) description_->add(key, Description::list(description_->of(kPositiveKind), 0, most), meaning, false);
    std::vector<double> out;
    const json* value = find(key);
    if (value == nullptr) return out;
    bool good = value->is_array() && value->size() <= most;
    for (std::size_t k = 0; good && k < value->size(); ++k) {
        good = (*value)[k].is_number() && std::isfinite((*value)[k].get<double>()) && (*value)[k].get<double>() > 0;
        if (good) out.push_back((*value)[k].get<double>());
    }
    if (good) return out;
    report_("wrong-type", "'" + key + "' must be a list of up to " + std::to_string(most) + " numbers greater than zero, not " + value->dump());
    return {};
}

Mat3 Reader::matrix(const std::string& key, std::string_view meaning) {
    Mat3 m{};
    const json* value = find(key, kMatrixKind, meaning, true);
    bool good = value != nullptr && value->is_array() && value->size() == 3;
    for (std::size_t i = 0; good && i < 3; ++i) {
        good = (*value)[i].is_array() && (*value)[i].size() == 3;
        for (std::size_t j = 0; good && j < 3; ++j) {
            good = (*value)[i][j].is_number();
            if (good) m[i * 3 + j] = (*value)[i][j].get<double>();
        }
    }
    if (!good) report_("wrong-type", "'" + key + "' must be a 3 × 3 array of numbers");
    for (std::size_t i = 0; i < 3; ++i)
        for (std::size_t j = 0; j < i; ++j)
            if (m[i * 3 + j] != m[j * 3 + i]) {
                report_("not-symmetric", "'" + key + "' must be symmetric");
                return m;
            }
    return m;
}

void Reader::curve(const std::string& key, std::string_view meaning, std::vector<double>& x, std::vector<double>& i) {
    x.assign(1, 0.0);
    i.assign(1, 0.0);
    const json* value = find(key, kCurveKind, meaning, true);
    if (value == nullptr || !value->is_array() || value->empty()) {
        report_("wrong-type", "'" + key + "' must be a list of at least one point [x, i]");
        return;
    }
    for (const json& point : *value) {
        if (!point.is_array() || point.size() != 2 || !point[0].is_number() || !point[1].is_number()) {
            report_("wrong-type", "'" + key + "' has the point " + point.dump() + ", which is not [x, i]");
            return;
        }
        x.push_back(point[0].get<double>());
        i.push_back(point[1].get<double>());
        if (!(x.back() > *(x.end() - 2)) || !(i.back() > *(i.end() - 2))) {
            report_("curve-not-ascending", "'" + key + "' must ascend strictly in both coordinates from (0, 0); " +
                                               point.dump() + " does not");
            return;
        }
    }
}

void Reader::table(const std::string& key, std::vector<double>& x, std::vector<double>& y) {
    x = {0, 1};
    y = {0, 0};
    const json* value = find(key, kPointsKind, "", true);
    bool good = value != nullptr && value->is_array() && value->size() >= 2;
    std::vector<double> left, right;
    for (std::size_t k = 0; good && k < value->size(); ++k) {
        const json& point = (*value)[k];
        good = point.is_array() && point.size() == 2 && point[0].is_number() && point[1].is_number() &&
               (k == 0 || point[0].get<double>() > left.back());
        if (!good) break;
        left.push_back(point[0].get<double>());
        right.push_back(point[1].get<double>());
    }
    if (!good) {
        report_("wrong-type", "'" + key + "' must be a list of at least two points [x, y], strictly ascending in x");
        return;
    }
    x = std::move(left);
    y = std::move(right);
}

void Reader::at_least_one(std::initializer_list<const char*> keys, Range range, const std::string& rule, const std::string& message) {
    Schema ways = Schema::array();
    bool good = false;
    for (const char* key : keys) {
        const auto it = object_.find(key);
        good = good || (it != object_.end() && (range == Range::any || *it != 0));
        if (description_ == nullptr) continue;
        ways.push_back(Schema::object({{"required", Schema::array({key})}}));
        if (range != Range::any) ways.back()["properties"][key] = description_->of(kind_of(range));
    }
    if (description_ != nullptr) description_->condition(Schema::object({{"anyOf", ways}}));
    if (!good) report_(rule, message);
}

void Reader::above(const std::string& key, double value, double limit, const std::string& message) {
    if (description_ != nullptr) description_->set(key, "exclusiveMinimum", limit);
    if (!(value > limit)) report_("out-of-range", message);
}

}  // namespace emt
