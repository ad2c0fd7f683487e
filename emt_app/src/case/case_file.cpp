#include "case/case_file.hpp"

#include <algorithm>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>

#include "base/fnv1a.hpp"
#include "case/checks.hpp"

namespace emt {
using nlohmann::json;

namespace {

/// Follows the parser through a text. Throws CaseError for a key that an object has twice: the parser would keep only
/// the last value.
class KeysOnce {
public:
    explicit KeysOnce(const std::string& origin) : origin_(origin) {}

    bool operator()(json::parse_event_t event, const json& parsed) {
        using Event = json::parse_event_t;
        if (event == Event::key) {
            open_.back().keys.push_back(parsed.get<std::string>());
        } else if (event == Event::object_end || event == Event::array_end) {
            check();
            open_.pop_back();
        } else {
            if (!open_.empty() && open_.back().list) ++open_.back().items;
            if (event != Event::value) open_.push_back({event == Event::array_start, 0, {}});
        }
        return true;
    }

private:
    struct Open {
        bool list;
        std::size_t items;
        std::vector<std::string> keys;
    };
    void check() {
        std::vector<std::string> keys = open_.back().keys;
        std::sort(keys.begin(), keys.end());
        const auto twice = std::adjacent_find(keys.begin(), keys.end());
        if (twice == keys.end()) return;
        std::string path;
        for (std::size_t i = 0; i + 1 < open_.size(); ++i)
            path += open_[i].list ? "[" + std::to_string(open_[i].items - 1) + "]" : (path.empty() ? "" : ".") + open_[i].keys.back();
        throw CaseError(origin_ + ": [duplicate-key] '" + path + (path.empty() ? "" : ".") + *twice + "' is given twice\n");
    }

    const std::string& origin_;
    std::vector<Open> open_;  // outermost first
};

struct Bounds {
    double low, high;
    const char* unit;
};
// The bounds are far beyond all uses, so a value outside is a mistake. A steady start takes at least four steps per
// period: with two, the trapezoidal rule makes a capacitance a short circuit.
constexpr Bounds kStepBounds{1e-12, 1, "s"}, kFrequencyBounds{1e-6, 1e6, "Hz"};
constexpr double kStepPerPeriod = 0.25;
constexpr double kUsualStep_s = 50e-6, kUsualFrequency_hz = 60;  // used after a wrong value, to read the rest

const char* phase_name(std::size_t k) { return k == 0 ? ".a" : k == 1 ? ".b" : ".c"; }

/// Returns the names in a list of strings; reports every other entry.
std::vector<std::string> names(const json& root, const char* key, Diagnostics& problems) {
    std::vector<std::string> out;
    const auto it = root.find(key);
    if (it == root.end()) return out;
    if (!it->is_array()) {
        problems.add(key, "wrong-type", "must be a list of names");
        return out;
    }
    for (const json& item : *it) {
        if (!item.is_string() || item.get<std::string>().empty() || item == "0")
            problems.add(key, "bad-name", item.dump() + " is not a name (a text other than \"0\")");
        else
            out.push_back(item.get<std::string>());
    }
    return out;
}

void declare_nodes(const json& root, Network& net, NodeTable& table, Diagnostics& problems) {
    const auto add = [&](const std::string& name) {
        const int id = net.nodes();
        if (!table.node.emplace(name, id).second)
            problems.add("nodes", "duplicate-name", "'" + name + "' is declared twice");
        net.node_names.push_back(name);
        return id;
    };
    for (const std::string& bus : names(root, "buses", problems)) {
        std::array<int, 3> id{};
        for (std::size_t k = 0; k < 3; ++k) id[k] = add(bus + phase_name(k));
        table.bus.emplace(bus, id);
    }
    for (const std::string& node : names(root, "nodes", problems)) add(node);
}

std::optional<double> setting(const json& root, const char* key, Diagnostics& problems) {
    const auto it = root.find(key);
    if (it != root.end() && it->is_number()) return it->get<double>();
    problems.add(key, it == root.end() ? "missing-key" : "wrong-type",
                 "the case needs a number here" + (it == root.end() ? std::string() : ", not " + it->dump()));
    return std::nullopt;
}

/// Returns true if the setting exists and is within its bounds.
bool within(const std::optional<double>& x, const char* key, const Bounds& bounds, Diagnostics& problems) {
    if (!x) return false;
    if (*x >= bounds.low && *x <= bounds.high) return true;
    problems.add(key, "out-of-range", "is " + json(*x).dump() + " but must be " + json(bounds.low).dump() + " to " + json(bounds.high).dump() + " " + bounds.unit);
    return false;
}

/// `dt_s` replaces the case's step if it is greater than zero.
void read_settings(const json& root, double dt_s, Network& net, Diagnostics& problems) {
    const json start = root.value("start", json("steady"));
    if (start != "steady" && start != "zero")
        problems.add("start", "unknown-choice", "must be \"steady\" or \"zero\", not " + start.dump());
    net.steady_start = start == "steady";
    const std::optional<double> dt = dt_s > 0 ? dt_s : setting(root, "dt", problems), frequency = setting(root, "frequency", problems);
    const bool good_dt = within(dt, "dt", kStepBounds, problems), good_frequency = within(frequency, "frequency", kFrequencyBounds, problems);
    net.dt_s = good_dt ? *dt : kUsualStep_s;
    net.frequency_hz = good_frequency ? *frequency : kUsualFrequency_hz;
    if (good_dt && good_frequency && net.steady_start && net.dt_s * net.frequency_hz > kStepPerPeriod)
        problems.add("dt", "out-of-range", "is " + json(net.dt_s).dump() + " s, more than a quarter of a period of " + json(net.frequency_hz).dump() +
                                               " Hz: too coarse for a steady start");
}

std::unique_ptr<Element> make_element(const json& object, Reader& reader, Reporter& report) {
    const std::string type = object["type"].get<std::string>();
    const auto& types = element_types();
    const auto it = std::find_if(types.begin(), types.end(), [&](const ElementType& t) { return t.name == type; });
    if (it == types.end()) {
        std::string known;
        for (const ElementType& t : types) known += (known.empty() ? "" : ", ") + std::string(t.name);
        report("unknown-type", "unknown element type; known are: " + known);
        return nullptr;
    }
    auto element = it->make(reader);
    reader.finish();
    return element;
}

void read_elements(const json& root, Case& out, const NodeTable& table, Diagnostics& problems) {
    const auto list = root.find("elements");
    if (list == root.end() || !list->is_array()) {
        problems.add("elements", "missing-key", "the case needs a list of elements");
        return;
    }
    std::set<std::string> seen;
    for (std::size_t i = 0; i < list->size(); ++i) {
        const json& object = (*list)[i];
        std::string where = "elements[" + std::to_string(i) + "]";
        if (!object.is_object() || !object.contains("type") || !object["type"].is_string() ||
            !object.contains("name") || !object["name"].is_string()) {
            problems.add(where, "missing-key", "an element needs the texts 'type' and 'name'");
            continue;
        }
        const std::string name = object["name"].get<std::string>(), type = object["type"].get<std::string>();
        where += " '" + name + "' (" + type + ")";
        Reporter report(problems, where);
        if (!seen.insert(name).second) report("duplicate-name", "another element has the same name");
        Reader reader(object, table, out.network, report);
        const auto element = make_element(object, reader, report);
        if (element == nullptr || report.failed()) continue;
        out.network.channels.of(name);
        element->lower(out.network, report);
        out.census += element->census();
        if (const std::string what = element->simplified(); !what.empty()) out.simplified[type] = what;
    }
}

void read_initial(const json& root, Network& net, const NodeTable& table, Diagnostics& problems) {
    const auto it = root.find("initial_voltage");
    if (it == root.end()) return;
    if (net.steady_start) problems.add("initial_voltage", "contradiction", "only meaningful with \"start\": \"zero\"");
    for (const auto& [name, value] : it->items()) {
        const auto node = table.node.find(name);
        if (node == table.node.end() || !value.is_number())
            problems.add("initial_voltage", "unknown-reference", "'" + name + "' must be a node with a number in volts");
        else
            net.initial_voltage[node->second] = value.get<double>();
    }
}

}  // namespace

Case parse_case(const std::string& text, const std::string& origin, double dt_s, bool channels) {
    json root;
    try {
        KeysOnce keys(origin);
        root = json::parse(text, [&](int, json::parse_event_t event, json& parsed) { return keys(event, parsed); });
    } catch (const json::parse_error& e) {
        throw CaseError(origin + ": not valid JSON: " + e.what());
    } catch (const json::out_of_range& e) {
        throw CaseError(origin + ": every number must fit double precision: " + e.what());
    }
    if (!root.is_object() || root.value("format", json()) != kCaseFormat)
        throw CaseError(origin + ": not an EMT case: needs \"format\": \"" + kCaseFormat + "\"");
    if (!root.contains("version") || root["version"] != kCaseVersion)
        throw CaseError(origin + ": case version " + root.value("version", json()).dump() + " is not supported; this program reads version " +
                        std::to_string(kCaseVersion));
    Diagnostics problems;
    static const std::set<std::string> known{"format", "version", "title", "description", "dt", "frequency", "start",
                                             "buses", "nodes", "initial_voltage", "elements"};
    for (const auto& [key, value] : root.items())
        if (!known.contains(key)) problems.add(key, "unknown-key", "not a key of a case");
    Case out;
    out.hash = fnv1a(text.data(), text.size());
    for (const char* key : {"title", "description"})
        if (root.contains(key) && !root[key].is_string()) problems.add(key, "wrong-type", "must be a text, not " + root[key].dump());
    if (root.contains("title") && root["title"].is_string()) out.title = root["title"].get<std::string>();
    out.network.channels.wanted = channels;
    read_settings(root, dt_s, out.network, problems);
    NodeTable table;
    declare_nodes(root, out.network, table, problems);
    out.census.nodes = out.network.nodes();  // without the nodes inside elements
    read_elements(root, out, table, problems);
    read_initial(root, out.network, table, problems);
    if (problems.empty()) check_network(out.network, problems);
    if (!problems.empty()) throw CaseError(origin, problems);
    return out;
}

Case load_case(const std::string& path, double dt_s, bool channels) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw CaseError(path + ": cannot be read");
    std::stringstream text;
    text << file.rdbuf();
    return parse_case(text.str(), path, dt_s, channels);
}

}  // namespace emt
