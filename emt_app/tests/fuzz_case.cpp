// emt_fuzz: libFuzzer feeds `emt check` and `emt run` with cases (make fuzz).
//
// An input is the text of a case. A case that parse_case() accepts runs for some steps. An input may be refused, or its run may end,
// with an exception of the kinds that the program reports; anything else, and any report of a sanitizer, is a fault.
//
// Mutations change the case as a tree, so that most inputs get past the parser: numbers become extreme, members vanish or appear
// with a value from elsewhere in the case, elements are doubled. The rest are libFuzzer's own, of bytes.
#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "case/case_file.hpp"
#include "case/schema.hpp"
#include "parallel/engine.hpp"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace {

using Json = nlohmann::ordered_json;

constexpr int kSteps = 60, kMostNodes = 400;
constexpr double kMostDelays = 1e6;  // steps that all lines remember

/// Keys that elements and cases have.
std::vector<std::string> schema_keys() {
    std::vector<std::string> out;
    const auto collect = [&](auto&& self, const Json& node) -> void {
        if (node.is_object() && node.contains("properties"))
            for (const auto& [key, value] : node["properties"].items()) out.push_back(key);
        if (node.is_structured())
            for (const auto& child : node) self(self, child);
    };
    collect(collect, emt::case_schema());
    return out;
}

class TreeMutation {
public:
    TreeMutation(Json& root, unsigned seed) : root_(root), random_(seed) { gather(root_); }
    void operator()() {
        Json& at = *pick(nodes_);
        if (at.is_object() && below(2) == 0)
            change_members(at);
        else if (at.is_array() && !at.empty() && below(2) == 0)
            change_items(at);
        else if (at.is_number() && below(4) != 0)
            at = number(at.get<double>());
        else
            at = copy_of_some_node();
    }

private:
    std::size_t below(std::size_t n) { return random_() % n; }
    template <class T>
    const T& pick(const std::vector<T>& from) { return from[below(from.size())]; }
    void gather(Json& node) {
        nodes_.push_back(&node);
        if (node.is_structured())
            for (auto& child : node) gather(child);
    }
    Json copy_of_some_node() { return *pick(nodes_); }
    double number(double x) {
        static const std::vector<double> special{0, -0.0, 1, -1, 1e-9, 1e-300, 4.9e-324, 1e9, 1e18, 1e300, 2147483648.0, 9007199254740993.0};
        static const std::vector<double> factors{-1, 0.5, 2, 0.999999, 10, 0.1, 1e3, 1e-3, 1e6, 1e-6};
        return below(3) == 0 ? pick(special) : x * pick(factors);
    }
    void change_members(Json& object) {
        static const std::vector<std::string> keys = schema_keys();
        if (below(3) == 0 && !object.empty()) {
            auto at = object.begin();
            std::advance(at, static_cast<std::ptrdiff_t>(below(object.size())));
            object.erase(at);
        } else {
            Json value = below(2) == 0 ? Json(number(1)) : copy_of_some_node();
            object[pick(keys)] = std::move(value);
        }
    }
    void change_items(Json& array) {
        const auto at = static_cast<std::ptrdiff_t>(below(array.size()));
        if (below(2) == 0) {
            array.erase(array.begin() + at);
            return;
        }
        Json again = array[static_cast<std::size_t>(at)];
        if (again.is_object() && again.contains("name") && again["name"].is_string()) again["name"] = again["name"].get<std::string>() + "'";
        array.insert(array.begin() + at, std::move(again));
    }

    Json& root_;
    std::minstd_rand random_;
    std::vector<Json*> nodes_;
};

void run(const emt::Case& c) {
    const emt::Decomposition parts = emt::decompose(c.network);
    emt::Engine engine(MPI_COMM_SELF, c.network, parts, emt::map_tasks(c.network, parts, 1), {.kernels = emt::find_kernels("portable")});
    while (engine.steps() < kSteps) engine.step();
}

/// Valid, and as large as it says: of no use here.
bool too_large(const emt::Network& net) {
    double delays = 0;
    for (const emt::Line& line : net.lines)
        for (const emt::LineMode& mode : line.mode) delays += mode.delay;
    return net.nodes() > kMostNodes || delays > kMostDelays;
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
    MPI_Init(argc, argv);
    return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned seed) {
    Json root = Json::parse(data, data + size, nullptr, false);
    if (root.is_discarded() || seed % 16 == 0) return LLVMFuzzerMutate(data, size, max_size);
    for (unsigned k = 0; k <= seed / 16 % 3; ++k) TreeMutation(root, seed + k)();
    const std::string text = root.dump(-1, ' ', false, Json::error_handler_t::replace);
    if (text.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
    std::copy(text.begin(), text.end(), data);
    return text.size();
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    try {
        const emt::Case c = emt::parse_case(std::string(data, data + size), "fuzz");
        if (!too_large(c.network)) run(c);
    } catch (const std::runtime_error&) {  // a refusal, or the end of a simulation; a std::logic_error is neither
    }
    return 0;
}
