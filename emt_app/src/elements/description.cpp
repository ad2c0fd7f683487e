#include "elements/description.hpp"

#include <algorithm>

#include "elements/reader.hpp"

namespace emt {
namespace {

/// The keys that apply after some outcomes of a decision.
struct Alternative {
    std::vector<std::string> outcomes;
    Schema keys;
};

/// Returns true if this schema keyword has the entry: an item of a list, or a member of an object.
bool has_entry(const Schema& keys, const std::string& keyword, const std::string& name, const Schema& entry) {
    const auto at = keys.find(keyword);
    if (at == keys.end()) return false;
    if (at->is_array()) return std::find(at->begin(), at->end(), entry) != at->end();
    return at->contains(name) && at->at(name) == entry;
}

/// Moves the common entries out of all alternatives and returns them.
Schema take_common(std::vector<Alternative>& alternatives) {
    Schema common = Schema::object();
    std::vector<Schema> rest(alternatives.size(), Schema::object());
    const auto put = [](Schema& into, const std::string& keyword, const Schema& from, const auto& entry) {
        if (from.is_array()) into[keyword].push_back(entry.value());
        else into[keyword][entry.key()] = entry.value();
    };
    for (std::size_t b = 0; b < alternatives.size(); ++b)
        for (const auto& [keyword, entries] : alternatives[b].keys.items())
            for (const auto& entry : entries.items()) {
                const bool in_all = std::all_of(alternatives.begin(), alternatives.end(), [&, &keyword = keyword](const Alternative& other) {
                    return has_entry(other.keys, keyword, entry.key(), entry.value());
                });
                if (!in_all) put(rest[b], keyword, entries, entry);
                else if (b == 0) put(common, keyword, entries, entry);
            }
    for (std::size_t b = 0; b < alternatives.size(); ++b) alternatives[b].keys = std::move(rest[b]);
    return common;
}

/// Adds the key of the choice, and the further keys of each value.
void add_choice(Schema& out, const Decision& choice, const std::vector<Alternative>& alternatives) {
    Schema values = Schema::array(), variants = Schema::array();
    for (const Alternative& alternative : alternatives) {
        for (const std::string& value : alternative.outcomes) values.push_back(value);
        Schema variant = alternative.keys, key;
        if (alternative.outcomes.size() == 1) key["const"] = alternative.outcomes.front();
        else key["enum"] = alternative.outcomes;
        variant["properties"][choice.key] = std::move(key);
        const bool usual = std::find(alternative.outcomes.begin(), alternative.outcomes.end(), choice.otherwise) != alternative.outcomes.end();
        if (!choice.otherwise.empty() && !usual) variant["required"].push_back(choice.key);
        variants.push_back(std::move(variant));
    }
    Schema key = Schema::object({{"enum", values}});
    if (!choice.otherwise.empty()) key["default"] = choice.otherwise;
    else out["required"].push_back(choice.key);
    if (!choice.meaning.empty()) key["description"] = choice.meaning;
    out["properties"][choice.key] = std::move(key);
    if (alternatives.size() > 1) out["allOf"].push_back(Schema::object({{"oneOf", variants}}));
}

Schema joined(const Decision& decision, const std::vector<Schema>& runs) {
    std::vector<Alternative> alternatives;  // outcomes with the same keys are one alternative
    for (std::size_t k = 0; k < runs.size(); ++k) {
        if (runs[k].is_null()) continue;
        auto same = std::find_if(alternatives.begin(), alternatives.end(), [&](const Alternative& b) { return b.keys == runs[k]; });
        if (same == alternatives.end()) same = alternatives.insert(same, Alternative{{}, runs[k]});
        same->outcomes.push_back(decision.outcomes[k]);
    }
    if (alternatives.empty()) return {};
    Schema out = take_common(alternatives);
    if (decision.by == Decision::By::choice) {
        add_choice(out, decision, alternatives);
    } else if (alternatives.size() > 1 && decision.by == Decision::By::presence) {
        Schema condition = Schema::object({{"if", Schema::object({{"required", Schema::array({decision.key})}})}, {"then", alternatives[0].keys}});
        if (!alternatives[1].keys.empty()) condition["else"] = alternatives[1].keys;
        out["allOf"].push_back(std::move(condition));
    } else if (alternatives.size() > 1) {
        // An element's schema does not know the start, so keys that only one start requires are optional.
        for (const Alternative& alternative : alternatives)
            if (alternative.keys.contains("properties")) out["properties"].update(alternative.keys["properties"]);
    }
    return out;
}

Schema keys_of(const std::function<void(Reader&)>& read, Schema& defs, const Description::Decided& decided) {
    const nlohmann::json object = nlohmann::json::object();
    const NodeTable nodes{};
    const Network net{};
    Diagnostics ignored;  // reports of missing keys
    Reporter report(ignored, "");
    Description run(defs, decided);
    Reader reader(object, nodes, net, report, &run);
    read(reader);
    if (!run.open()) return run.keys();
    std::vector<Schema> runs;
    for (std::size_t k = 0; k < run.open()->outcomes.size(); ++k) {
        Description::Decided further = decided;
        further[run.open()->key] = k;
        runs.push_back(keys_of(read, defs, further));
    }
    return joined(*run.open(), runs);
}

}  // namespace

Schema Description::of(const ValueKind& kind) {
    if (kind.name == nullptr) return Schema::parse(kind.schema);
    if (!defs_.contains(kind.name)) defs_[kind.name] = Schema::parse(kind.schema);
    return Schema::object({{"$ref", std::string("#/$defs/") + kind.name}});
}

Schema Description::list(Schema item, std::size_t least, std::size_t most) {
    return Schema::object({{"type", "array"}, {"items", std::move(item)}, {"minItems", least}, {"maxItems", most}});
}

void Description::add(const std::string& key, Schema value, std::string_view meaning, bool required) {
    if (!meaning.empty()) value["description"] = meaning;
    keys_["properties"][key] = std::move(value);
    if (required) keys_["required"].push_back(key);
}

std::size_t Description::decide(Decision decision) {
    if (const auto it = decided_.find(decision.key); it != decided_.end()) return it->second;
    if (!open_) open_ = std::move(decision);
    return 0;
}

Schema describe(const std::function<void(Reader&)>& read, Schema& defs) {
    Schema out = Schema::object({{"type", "object"}});
    out.update(keys_of(read, defs, {}));
    out["unevaluatedProperties"] = false;
    return out;
}

}  // namespace emt
