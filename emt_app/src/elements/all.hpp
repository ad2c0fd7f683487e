// The factories of all elements.
#pragma once
#include "elements/element.hpp"

namespace emt {
std::unique_ptr<Element> make_resistor(Reader&);
std::unique_ptr<Element> make_inductor(Reader&);
std::unique_ptr<Element> make_capacitor(Reader&);
std::unique_ptr<Element> make_series_rlc(Reader&);
std::unique_ptr<Element> make_coupled_rl(Reader&);
std::unique_ptr<Element> make_voltage_source(Reader&);
std::unique_ptr<Element> make_current_source(Reader&);
std::unique_ptr<Element> make_source(Reader&);
std::unique_ptr<Element> make_machine(Reader&);
std::unique_ptr<Element> make_condenser(Reader&);
std::unique_ptr<Element> make_line(Reader&);
std::unique_ptr<Element> make_transformer(Reader&);
std::unique_ptr<Element> make_arrester(Reader&);
std::unique_ptr<Element> make_saturable_inductor(Reader&);
std::unique_ptr<Element> make_switch(Reader&);
std::unique_ptr<Element> make_fault(Reader&);
std::unique_ptr<Element> make_svc(Reader&);
std::unique_ptr<Element> make_meter(Reader&);
}  // namespace emt
