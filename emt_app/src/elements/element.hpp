// The interface that every kind of element implements: one file per element, and a line in table.inc.
//
// An element is read from its JSON object, whose keys its calls of Reader declare, checks itself, and lowers itself to primitives.
// What the solver does with the primitives is none of its business. docs/new-element.md adds one.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "elements/reader.hpp"
#include "network/network.hpp"

namespace emt {

/// Counts of Table I of the reference network (Le-Huy, Guérette, Guay, IPST 2023), in the paper's categories.
struct Census {
    long nodes = 0, machines = 0, condensers = 0, svcs = 0, lines = 0, transformers = 0, rlc = 0, nonlinear = 0,
         switches = 0, control = 0;
    Census& operator+=(const Census& o);
    bool operator==(const Census&) const = default;
};

class Element {
public:
    virtual ~Element() = default;
    /// Adds the element's primitives; reports values that break a rule at this step.
    virtual void lower(Network& net, Reporter& report) const = 0;
    [[nodiscard]] virtual Census census() const = 0;
    /// What stands in for the full model, or empty when this is the full model.
    [[nodiscard]] virtual std::string simplified() const { return {}; }
};

struct ElementType {
    std::string_view name;                          // "type" in a case
    std::unique_ptr<Element> (*make)(Reader&);      // asks for all keys but "type" and "name"
};

/// The factory of an element with a constructor from Reader.
template <class E>
std::unique_ptr<Element> make(Reader& in) {
    return std::make_unique<E>(in);
}

/// Every element type, in the order of the table.
[[nodiscard]] const std::vector<ElementType>& element_types();

}  // namespace emt
