#include "elements/element.hpp"

namespace emt {

#define EMT_ELEMENT(name) ElementType name##_element();
#include "elements/table.inc"

const std::vector<ElementType>& element_types() {
    static const std::vector<ElementType> types{
#define EMT_ELEMENT(name) name##_element(),
#include "elements/table.inc"
    };
    return types;
}

Census& Census::operator+=(const Census& o) {
    nodes += o.nodes;
    machines += o.machines;
    condensers += o.condensers;
    svcs += o.svcs;
    lines += o.lines;
    transformers += o.transformers;
    rlc += o.rlc;
    nonlinear += o.nonlinear;
    switches += o.switches;
    control += o.control;
    return *this;
}

}  // namespace emt
