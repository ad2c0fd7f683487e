#include "elements/reader.hpp"

#include <algorithm>
#include <cmath>

namespace emt {
using nlohmann::json;

const json* Reader::find(const std::string& key) {
    used_.insert(key);
    const auto it = object_.find(key);
    return it == object_.end() ? nullptr : &*it;
}

double Reader::number(const std::string& key, Range range) {
    const json* value = find(key);
    if (value == nullptr) {
        report_("missing-key", "needs the number '" + key + "'");
        return 1;
    }
    if (!value->is_number()) {
        report_("wrong-type", "'" + key + "' must be a number, not " + value->dump());
        return 1;
    }
    const double x = value->get<double>();
    const bool bad = !std::isfinite(x) || (range == Range::positive && !(x > 0)) ||
                     (range == Range::not_negative && !(x >= 0));
    if (bad) {
        report_(x < 0 ? "negative-value" : "out-of-range",
                "'" + key + "' is " + value->dump() + " but must be " +
                    (range == Range::positive ? "greater than zero" : range == Range::any ? "finite" : "zero or more"));
        return 1;
    }
    return x;
}

double Reader::number(const std::string& key, Range range, double otherwise) {
    used_.insert(key);
    return has(key) ? number(key, range) : otherwise;
}

double Reader::initial(const std::string& key) {
    if (has(key) && net_.steady_start) report_("contradiction", "'" + key + "' is only meaningful with \"start\": \"zero\"");
    return number(key, Range::any, 0);
}

std::vector<double> Reader::initial(const std::string& key, std::size_t count) {
    if (!has(key) || !object_.at(key).is_array()) return std::vector<double>(count, initial(key));
    if (net_.steady_start) report_("contradiction", "'" + key + "' is only meaningful with \"start\": \"zero\"");
    std::vector<double> out = numbers(key, count);
    if (std::any_of(out.begin(), out.end(), [](double x) { return !std::isfinite(x); }))
        report_("out-of-range", "'" + key + "' must be finite");
    out.resize(count);
    return out;
}

bool Reader::flag(const std::string& key, bool otherwise) {
    const json* value = find(key);
    if (value == nullptr) return otherwise;
    if (!value->is_boolean()) {
        report_("wrong-type", "'" + key + "' must be true or false, not " + value->dump());
        return otherwise;
    }
    return value->get<bool>();
}

std::string Reader::choice(const std::string& key, const std::vector<std::string>& allowed,
                           const std::string& otherwise) {
    const json* value = find(key);
    if (value == nullptr && !otherwise.empty()) return otherwise;
    if (value != nullptr && value->is_string() &&
        std::find(allowed.begin(), allowed.end(), value->get<std::string>()) != allowed.end())
        return value->get<std::string>();
    std::string list;
    for (const std::string& a : allowed) list += (list.empty() ? "" : ", ") + a;
    report_("unknown-choice", "'" + key + "' must be one of: " + list);
    return allowed.front();
}

std::string Reader::name() { return object_.value("name", std::string{}); }

int Reader::lookup(const std::string& key, const json& value) {
    if (value.is_string()) {
        const std::string text = value.get<std::string>();
        if (text == "0") return kGround;
        if (const auto it = nodes_.node.find(text); it != nodes_.node.end()) return it->second;
    }
    report_("unknown-reference", "'" + key + "' names the node " + value.dump() +
                                     ", which is neither in 'nodes', a phase BUS.a/.b/.c of 'buses', nor \"0\"");
    return kGround;
}

Nodes3 Reader::lookup_bus(const std::string& key, const json& value, bool ground_allowed) {
    if (value.is_string()) {
        const std::string text = value.get<std::string>();
        if (ground_allowed && text == "0") return {kGround, kGround, kGround};
        if (const auto it = nodes_.bus.find(text); it != nodes_.bus.end()) return it->second;
        // A one-phase node serves as the common point of three branches: a neutral.
        if (const auto it = nodes_.node.find(text); ground_allowed && it != nodes_.node.end())
            return {it->second, it->second, it->second};
    }
    report_("unknown-reference", "'" + key + "' names the bus " + value.dump() + ", which is not in 'buses'");
    return {kGround, kGround, kGround};
}

int Reader::node(const std::string& key) {
    const json* value = find(key);
    if (value == nullptr) {
        report_("missing-key", "needs the node '" + key + "'");
        return kGround;
    }
    return lookup(key, *value);
}

Nodes3 Reader::bus(const std::string& key, bool ground_allowed) {
    const json* value = find(key);
    if (value == nullptr) {
        report_("missing-key", "needs the bus '" + key + "'");
        return {kGround, kGround, kGround};
    }
    return lookup_bus(key, *value, ground_allowed);
}

std::vector<Nodes2> Reader::terminals() {
    const json* nodes = find("nodes");
    const json* buses = find("buses");
    const json* list = nodes != nullptr ? nodes : buses;
    if ((nodes == nullptr) == (buses == nullptr) || !list->is_array() || list->size() != 2) {
        report_("wrong-terminals", "needs either 'nodes': [p, q] (one phase) or 'buses': [P, Q] (three phases)");
        return {};
    }
    std::vector<Nodes2> out;
    if (nodes != nullptr) {
        out.push_back({lookup("nodes", (*list)[0]), lookup("nodes", (*list)[1])});
    } else {
        const Nodes3 p = lookup_bus("buses", (*list)[0], true), q = lookup_bus("buses", (*list)[1], true);
        for (std::size_t k = 0; k < 3; ++k) out.push_back({p[k], q[k]});
    }
    if (!report_.failed() && out.front()[0] == out.front()[1])
        report_("shorted-element", "both terminals are the same node");
    return out;
}

Mat3 Reader::matrix(const std::string& key) {
    Mat3 m{};
    const json* value = find(key);
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

void Reader::curve(const std::string& key, std::vector<double>& x, std::vector<double>& i) {
    x.assign(1, 0.0);
    i.assign(1, 0.0);
    const json* value = find(key);
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

std::vector<std::pair<double, bool>> Reader::operations(const std::string& key) {
    std::vector<std::pair<double, bool>> out;
    const json* value = find(key);
    if (value == nullptr) return out;
    if (!value->is_array()) report_("wrong-type", "'" + key + "' must be a list");
    for (const json& item : *value) {
        const bool good = item.is_object() && item.contains("time") && item["time"].is_number() &&
                          item["time"].get<double>() >= 0 && item.contains("action") &&
                          (item["action"] == "open" || item["action"] == "close");
        if (!good) {
            report_("wrong-type", "'" + key + "' must list {\"time\": seconds >= 0, \"action\": \"open\" or \"close\"}, not " +
                                      item.dump());
            return out;
        }
        out.emplace_back(item["time"].get<double>(), item["action"] == "close");
        if (out.size() > 1 && out.back().first <= (out.end() - 2)->first)
            report_("times-not-ascending", "'" + key + "' must be in the order of time");
    }
    return out;
}

std::string Reader::signal(const std::string& key) {
    const json* value = find(key);
    if (value == nullptr) {
        report_("missing-key", "needs the signal '" + key + "'");
        return {};
    }
    if (!value->is_string() || value->get<std::string>().empty()) {
        report_("wrong-type", "'" + key + "' must be the name of a signal (a block, or ELEMENT.output), not " + value->dump());
        return {};
    }
    return value->get<std::string>();
}

void Reader::each(const std::string& key, const std::function<void(Reader&)>& read) {
    const json* value = find(key);
    if (value == nullptr || !value->is_array()) {
        report_("wrong-type", "'" + key + "' must be a list");
        return;
    }
    for (std::size_t i = 0; i < value->size(); ++i) {
        const std::string item = key + "[" + std::to_string(i) + "]";
        if (!(*value)[i].is_object()) {
            report_("wrong-type", "'" + item + "' must be an object, not " + (*value)[i].dump());
            continue;
        }
        Reporter inner = report_.of(item);
        Reader reader((*value)[i], nodes_, net_, inner);
        read(reader);
        reader.finish();
        report_.join(inner);
    }
}

std::vector<std::string> Reader::signals(const std::string& key, std::size_t least, std::size_t most) {
    std::vector<std::string> out;
    const json* value = find(key);
    bool good = value != nullptr && value->is_array() && value->size() >= least && value->size() <= most;
    for (std::size_t k = 0; good && k < value->size(); ++k) {
        good = (*value)[k].is_string() && !(*value)[k].get<std::string>().empty();
        if (good) out.push_back((*value)[k].get<std::string>());
    }
    if (good) return out;
    report_("wrong-type", "'" + key + "' must be a list of " + std::to_string(least) + " to " + std::to_string(most) + " names of signals");
    return std::vector<std::string>(least);
}

std::vector<double> Reader::numbers(const std::string& key, std::size_t count) {
    std::vector<double> out;
    const json* value = find(key);
    if (value == nullptr) return out;
    bool good = value->is_array() && value->size() == count;
    for (std::size_t k = 0; good && k < count; ++k) {
        good = (*value)[k].is_number();
        if (good) out.push_back((*value)[k].get<double>());
    }
    if (!good) report_("wrong-type", "'" + key + "' must be a list of " + std::to_string(count) + " numbers");
    return good ? out : std::vector<double>();
}

std::vector<double> Reader::some_positive(const std::string& key, std::size_t most) {
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

void Reader::table(const std::string& key, std::vector<double>& x, std::vector<double>& y) {
    x = {0, 1};
    y = {0, 0};
    const json* value = find(key);
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

Waveform Reader::waveform() {
    Waveform w;
    const std::string shape = choice("shape", {"sine", "step", "double_exponential"}, "sine");
    w.amplitude = number("amplitude", Range::any);
    w.start_s = number("start", Range::not_negative, -1);
    if (shape == "sine") {
        w.shape = Waveform::Shape::sine;
        w.frequency_hz = number("frequency", Range::positive, net_.frequency_hz);
        w.phase_turns = number("phase", Range::any, 0) / 360;
    } else if (shape == "step") {
        w.shape = Waveform::Shape::step;
        w.start_s = std::max(w.start_s, 0.0);
    } else {
        w.shape = Waveform::Shape::double_exponential;
        w.start_s = std::max(w.start_s, 0.0);
        w.tau_front_s = number("tau_front", Range::positive);
        w.tau_tail_s = number("tau_tail", Range::positive);
        if (!(w.tau_tail_s > w.tau_front_s)) report_("out-of-range", "'tau_tail' must be longer than 'tau_front'");
    }
    if (!report_.failed() && net_.steady_start && w.start_s < 0 && !w.steady(net_.frequency_hz))
        report_("not-steady", "a steady start needs a sine at " + std::to_string(net_.frequency_hz) +
                                  " Hz or a 'start' time; this source has " + std::to_string(w.frequency_hz) + " Hz");
    return w;
}

void Reader::makes_node(const std::string& name) {
    if (nodes_.node.contains(name)) report_("duplicate-name", "makes the node '" + name + "' itself: give the other one another name");
}

void Reader::finish() {
    for (const auto& [key, value] : object_.items())
        if (!used_.contains(key)) report_("unknown-key", "does not know the key '" + key + "'");
}

}  // namespace emt
