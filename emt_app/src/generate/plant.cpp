// Governors of hydro turbines after P. Kundur, Power System Stability and Control, 1994, section 9.1.3: TR = (5 - (TW - 1)/2)·TW and
// RT = (2.3 - 0.15·(TW - 1))·TW/(2H).
#include "generate/plant.hpp"

#include "generate/six.hpp"
#include "generate/typical_machines.hpp"

namespace emt {
namespace {
using Json = nlohmann::ordered_json;

Json controller(const Plant& p, const char* type, const char* prefix, const char* model, Json parameters = Json::object()) {
    Json out{{"type", type}, {"name", prefix + p.name}, {"machine", p.name}, {"model", model}};
    out.update(parameters);
    return out;
}
}  // namespace

std::vector<Json> plant_elements(const Plant& p, Random& random) {
    const bool condenser = p.turbine == Turbine::none, hydro = p.turbine == Turbine::hydro;
    const double h = condenser ? 2 : random.between(3, 4.5), tw = random.between(0.8, 1.6);
    Json machine{{"type", condenser ? "synchronous_condenser" : "synchronous_machine"}, {"name", p.name}, {"bus", p.bus},
                 {"rated_power", p.mva * 1e6}, {"rated_voltage", p.kv * 1e3}};
    machine.update(hydro || condenser ? salient_poles() : round_rotor());
    machine["h"] = six(h);
    machine["v"] = six(p.v * p.kv * 1e3);
    if (p.slack) machine["angle"] = -30;  // behind a star-delta transformer
    else if (!condenser) machine["p"] = six(p.mw * 1e6);
    std::vector<Json> out{machine};
    switch (p.turbine) {
        case Turbine::hydro:
            out.push_back(controller(p, "exciter", "EXC_", "ST1A"));
            out.push_back(controller(p, "stabilizer", "PSS_", "PSS2B"));
            out.push_back(controller(p, "governor", "GOV_", "HYGOV",
                                     {{"TW", six(tw)}, {"TR", six((5 - (tw - 1) / 2) * tw)}, {"RT", six((2.3 - 0.15 * (tw - 1)) * tw / (2 * h))}}));
            break;
        case Turbine::steam:
            out.push_back(controller(p, "exciter", "EXC_", "AC1A"));
            out.push_back(controller(p, "stabilizer", "PSS_", "PSS1A"));
            out.push_back(controller(p, "governor", "GOV_", "IEEEG1"));
            break;
        case Turbine::gas:
            out.push_back(controller(p, "exciter", "EXC_", "AC4A"));
            out.push_back(controller(p, "stabilizer", "PSS_", "PSS1A"));
            out.push_back(controller(p, "governor", "GOV_", "GAST"));
            break;
        case Turbine::none:
            out.push_back(controller(p, "exciter", "EXC_", "ST1A"));
    }
    return out;
}

}  // namespace emt
