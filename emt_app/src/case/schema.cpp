#include "case/schema.hpp"

#include "elements/element.hpp"

namespace emt {
namespace {

constexpr const char* kCase = R"({
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "title": "Kappa EMT case, version 1",
  "description": "A network for electromagnetic-transient simulation. SI units throughout; voltages and currents of sources are peak values; phases are in degrees of a cosine. A bus NAME stands for the nodes NAME.a, NAME.b and NAME.c; the node \"0\" is ground.",
  "type": "object",
  "required": ["format", "version", "dt", "frequency", "elements"],
  "additionalProperties": false,
  "properties": {
    "format": {"const": "kappa-emt-case"},
    "version": {"const": 1},
    "title": {"type": "string"},
    "description": {"type": "string"},
    "dt": {"type": "number", "minimum": 1e-12, "maximum": 1, "description": "time step, s; with a steady start at most a quarter of a period"},
    "frequency": {"type": "number", "minimum": 1e-6, "maximum": 1e6, "description": "of the steady state and of sources without one, Hz"},
    "start": {"enum": ["steady", "zero"], "default": "steady", "description": "steady: from the phasor solution; zero: from rest or the initial values"},
    "buses": {"type": "array", "items": {"$ref": "#/$defs/name"}, "uniqueItems": true},
    "nodes": {"type": "array", "items": {"$ref": "#/$defs/name"}, "uniqueItems": true},
    "initial_voltage": {"type": "object", "additionalProperties": {"type": "number"}, "description": "V, by node; start zero only"},
    "elements": {"type": "array", "items": {"oneOf": []}}
  }
})";

}  // namespace

Schema case_schema() {
    Schema out = Schema::parse(kCase), defs = Schema::object(), elements = Schema::object();
    for (const ElementType& type : element_types()) {
        const std::string name(type.name);
        Schema element = describe(type.make, defs);
        for (const char* key : {"type", "name"}) element["required"].push_back(key);
        element["properties"]["type"]["const"] = name;
        element["properties"]["name"]["type"] = "string";
        out["properties"]["elements"]["items"]["oneOf"].push_back(Schema::object({{"$ref", "#/$defs/" + name}}));
        elements[name] = std::move(element);
    }
    defs.update(elements);
    out["$defs"] = std::move(defs);
    return out;
}

}  // namespace emt
