#include "elements/all.hpp"

namespace emt {

const std::vector<ElementType>& element_types() {
    static const std::vector<ElementType> types{
        {"resistor", make_resistor},
        {"inductor", make_inductor},
        {"capacitor", make_capacitor},
        {"series_rlc", make_series_rlc},
        {"coupled_rl", make_coupled_rl},
        {"voltage_source", make_voltage_source},
        {"current_source", make_current_source},
        {"source", make_source},
        {"machine", make_machine},
        {"condenser", make_condenser},
        {"line", make_line},
        {"transformer", make_transformer},
        {"arrester", make_arrester},
        {"saturable_inductor", make_saturable_inductor},
        {"switch", make_switch},
        {"fault", make_fault},
        {"svc", make_svc},
        {"meter", make_meter},
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
