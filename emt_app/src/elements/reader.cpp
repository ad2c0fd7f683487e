#include "elements/reader.hpp"

#include <algorithm>

namespace emt {
using nlohmann::json;

namespace {

constexpr ValueKind kFlagKind{R"({"type": "boolean", "default": false})"};
constexpr ValueKind kNameKind{R"({"type": "string", "minLength": 1, "not": {"const": "0"}})", "name"};
constexpr ValueKind kTextKind{R"({"type": "string"})"};
constexpr ValueKind kNodeOrGroundKind{R"({"type": "string", "default": "0"})"};
constexpr ValueKind kPairKind{R"({"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 2})", "pair"};
constexpr ValueKind kTerminalsKind{R"({"properties": {"nodes": {"$ref": "#/$defs/pair"}, "buses": {"$ref": "#/$defs/pair"}}, "oneOf": [{"required": ["nodes"]}, {"required": ["buses"]}]})", "terminals"};
constexpr ValueKind kOperationsKind{R"({"type": "array", "items": {"type": "object", "required": ["time", "action"], "additionalProperties": false, "properties": {"time": {"type": "number", "minimum": 0}, "action": {"enum": ["open", "close"]}}}, "description": "in the order of time, s"})", "operations"};
constexpr ValueKind kSignalKind{R"({"type": "string", "minLength": 1, "description": "a block, or ELEMENT.output of an element that measures"})", "signal"};

}  // namespace

bool Reader::has(const std::string& key) const {
    if (description_ != nullptr) return description_->decide({Decision::By::presence, key, {"given", "left out"}}) == 0;
    return object_.contains(key);
}

bool Reader::steady_start() const {
    if (description_ != nullptr) return description_->decide({Decision::By::start, "", {"steady", "zero"}}) == 0;
    return net_.steady_start;
}

const json* Reader::find(const std::string& key) {
    used_.insert(key);
    const auto it = object_.find(key);
    return it == object_.end() ? nullptr : &*it;
}

const json* Reader::find(const std::string& key, const ValueKind& kind, std::string_view meaning, bool required) {
    if (description_ != nullptr) description_->add(key, description_->of(kind), meaning, required);
    return find(key);
}

bool Reader::flag(const std::string& key, std::string_view meaning) {
    const json* value = find(key, kFlagKind, meaning, false);
    if (value == nullptr) return false;
    if (!value->is_boolean()) {
        report_("wrong-type", "'" + key + "' must be true or false, not " + value->dump());
        return false;
    }
    return value->get<bool>();
}

std::string Reader::choice(const std::string& key, const std::vector<std::string>& allowed, std::string_view meaning) {
    return picked(key, allowed, meaning, "");
}

std::string Reader::optional_choice(const std::string& key, const std::vector<std::string>& allowed, std::string_view meaning) {
    return picked(key, allowed, meaning, allowed.front());
}

std::string Reader::picked(const std::string& key, const std::vector<std::string>& allowed, std::string_view meaning,
                           const std::string& otherwise) {
    if (description_ != nullptr) return allowed[description_->decide({Decision::By::choice, key, allowed, std::string(meaning), otherwise})];
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

int Reader::node(const std::string& key, std::string_view meaning) {
    if (const json* value = find(key, kTextKind, meaning, true)) return lookup(key, *value);
    report_("missing-key", "needs the node '" + key + "'");
    return kGround;
}

int Reader::optional_node(const std::string& key, std::string_view meaning) {
    const json* value = find(key, kNodeOrGroundKind, meaning, false);
    return value == nullptr ? kGround : lookup(key, *value);
}

Nodes3 Reader::bus(const std::string& key, std::string_view meaning) { return found_bus(key, find(key, kNameKind, meaning, true), false); }

Nodes3 Reader::bus_or_ground(const std::string& key, std::string_view meaning) { return found_bus(key, find(key, kTextKind, meaning, true), true); }

Nodes3 Reader::found_bus(const std::string& key, const json* value, bool ground_allowed) {
    if (value != nullptr) return lookup_bus(key, *value, ground_allowed);
    report_("missing-key", "needs the bus '" + key + "'");
    return {kGround, kGround, kGround};
}

std::vector<Nodes2> Reader::terminals() {
    if (description_ != nullptr) {
        static_cast<void>(description_->of(kPairKind));  // which the terminals refer to
        description_->condition(description_->of(kTerminalsKind));
    }
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

Nodes2 Reader::one_phase_terminals() {
    if (description_ != nullptr) {
        description_->add("nodes", description_->of(kPairKind), "", true);
        return {};
    }
    const std::vector<Nodes2> ends = terminals();
    if (ends.size() > 1) report_("wrong-terminals", "the voltage of one phase needs 'nodes': [p, q]");
    return ends.empty() ? Nodes2{} : ends.front();
}

std::vector<std::pair<double, bool>> Reader::operations(const std::string& key) {
    std::vector<std::pair<double, bool>> out;
    const json* value = find(key, kOperationsKind, "", false);
    if (value == nullptr) return out;
    if (!value->is_array()) report_("wrong-type", "'" + key + "' must be a list");
    for (const json& item : *value) {
        const bool good = item.is_object() && item.size() == 2 && item.contains("time") && item["time"].is_number() &&
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

std::string Reader::signal(const std::string& key, std::string_view meaning) {
    if (const json* value = find(key, kSignalKind, meaning, true)) return signal_name(key, *value);
    report_("missing-key", "needs the signal '" + key + "'");
    return {};
}

std::string Reader::optional_signal(const std::string& key, std::string_view meaning) {
    const json* value = find(key, kSignalKind, meaning, false);
    return value == nullptr ? std::string() : signal_name(key, *value);
}

std::string Reader::signal_name(const std::string& key, const json& value) {
    if (value.is_string() && !value.get<std::string>().empty()) return value.get<std::string>();
    report_("wrong-type", "'" + key + "' must be the name of a signal (a block, or ELEMENT.output), not " + value.dump());
    return {};
}

std::vector<std::string> Reader::signals(const std::string& key, std::string_view meaning, std::size_t least, std::size_t most) {
    if (description_ != nullptr) description_->add(key, Description::list(description_->of(kSignalKind), least, most), meaning, true);
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

void Reader::each(const std::string& key, const std::string& what, std::size_t least, std::size_t most, std::string_view meaning,
                  const std::function<void(Reader&)>& read) {
    const auto read_item = [&](Reader& item) {
        item.used_.clear();
        if (const json* label = item.find("name", kTextKind, "", false); label != nullptr && !label->is_string())
            item.report_("wrong-type", "'name' must be a text, not " + label->dump());
        read(item);
        item.finish();
    };
    if (description_ != nullptr)
        description_->add(key, Description::list(describe(read_item, description_->defs()), least, most), what + ", " + std::string(meaning), true);
    const json* value = find(key);
    if (value == nullptr || !value->is_array()) {
        report_("wrong-type", "'" + key + "' must be a list");
        return;
    }
    if (value->size() < least || value->size() > most) {
        report_("wrong-" + key, "'" + key + "' must list " + std::to_string(least) + " to " + std::to_string(most) + " " + what + ", not " + std::to_string(value->size()));
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
        read_item(reader);
        report_.join(inner);
    }
}

Waveform Reader::waveform() {
    Waveform w;
    const std::string shape = optional_choice("shape", {"sine", "step", "double_exponential"}, "");
    w.amplitude = number("amplitude", Range::any, "peak, V or A");
    w.start_s = optional("start", Range::not_negative, "s; zero until then").value_or(-1);
    if (shape == "sine") {
        w.shape = Waveform::Shape::sine;
        w.frequency_hz = optional("frequency", Range::positive, "Hz; the case's frequency, if left out").value_or(net_.frequency_hz);
        w.phase_turns = number("phase", Range::any, "degrees", 0) / 360;
    } else if (shape == "step") {
        w.shape = Waveform::Shape::step;
        w.start_s = std::max(w.start_s, 0.0);
    } else {
        w.shape = Waveform::Shape::double_exponential;
        w.start_s = std::max(w.start_s, 0.0);
        w.tau_front_s = number("tau_front", Range::positive, "s");
        w.tau_tail_s = number("tau_tail", Range::positive, "s, longer than tau_front");
        if (!(w.tau_tail_s > w.tau_front_s)) report_("out-of-range", "'tau_tail' must be longer than 'tau_front'");
    }
    if (!report_.failed() && net_.steady_start && w.start_s < 0 && !w.steady(net_.frequency_hz))
        report_("not-steady", "a steady start needs a sine at " + std::to_string(net_.frequency_hz) +
                                  " Hz or a 'start' time; this source has " + std::to_string(w.frequency_hz) + " Hz");
    return w;
}

SourceWave Reader::source_wave() {
    if (!has("signal")) return {waveform(), {}};
    SourceWave out{{}, signal("signal", "multiplies the amplitude; in a steady start it begins at 1, or at 0 if the shape is constant")};
    const bool sine = optional_choice("shape", {"sine", "constant"}, "at the case's frequency, or the signal as it is") == "sine";
    out.wave.shape = sine ? Waveform::Shape::sine : Waveform::Shape::step;
    out.wave.amplitude = number("amplitude", Range::any, "peak, V or A, per unit of the signal");
    if (sine) {
        out.wave.frequency_hz = net_.frequency_hz;
        out.wave.phase_turns = number("phase", Range::any, "degrees", 0) / 360;
    }
    return out;
}

void Reader::together(const std::string& one, const std::string& other, const std::string& message) {
    needs(one, other, message);
    needs(other, one, message);
}

void Reader::needs(const std::string& key, const std::string& other, const std::string& message) {
    if (description_ != nullptr) description_->needs(key, other);
    if (object_.contains(key) && !object_.contains(other)) report_("missing-key", message);
}

void Reader::refuse(std::initializer_list<const char*> keys, const std::string& message) {
    bool given = false;
    for (const char* key : keys) given = find(key) != nullptr || given;
    if (given) report_("contradiction", message);
}

void Reader::refuse_at_steady_start(const std::string& key) {
    if (net_.steady_start) refuse({key.c_str()}, "'" + key + "' is only meaningful with \"start\": \"zero\"");
}

void Reader::rule_out(const std::string& rule, const std::string& message) {
    if (description_ != nullptr) description_->rule_out();
    report_(rule, message);
}

void Reader::makes_node(const std::string& name) {
    if (nodes_.node.contains(name)) report_("duplicate-name", "makes a node '" + name + "': give the other node another name");
}

void Reader::finish() {
    for (const auto& [key, value] : object_.items())
        if (!used_.contains(key)) report_("unknown-key", "does not know the key '" + key + "'");
}

}  // namespace emt
