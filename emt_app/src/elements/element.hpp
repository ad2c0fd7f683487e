// The interface that every kind of element implements: one file per element, and a line in table.inc.
//
// An element reads its JSON object (its calls of Reader declare the keys), checks itself, and lowers itself to
// primitives. It is independent of the solver. docs/new-element.md explains how to add an element.
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
    /// Returns the substitute for the full model, or an empty text if this is the full model.
    [[nodiscard]] virtual std::string simplified() const { return {}; }
};

struct ElementType {
    std::string_view name;                          // "type" in a case
    std::unique_ptr<Element> (*make)(Reader&);      // reads all keys except "type" and "name"
};

/// The factory of an element with a constructor from Reader.
template <class E>
std::unique_ptr<Element> make(Reader& in) {
    return std::make_unique<E>(in);
}

/// Returns every element type, in the order of the table.
[[nodiscard]] const std::vector<ElementType>& element_types();

}  // namespace emt
