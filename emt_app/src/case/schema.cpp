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
  },
  "$defs": {
    "name": {"type": "string", "minLength": 1, "not": {"const": "0"}},
    "positive": {"type": "number", "exclusiveMinimum": 0},
    "not_negative": {"type": "number", "minimum": 0},
    "pair": {"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 2},
    "curve": {"type": "array", "minItems": 1, "items": {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2}, "description": "points [x, i] of an odd characteristic, strictly ascending from the implied [0, 0]; the last slope goes on"},
    "flux": {"oneOf": [{"type": "number"}, {"type": "array", "items": {"type": "number"}, "minItems": 3, "maxItems": 3}], "description": "linkage at t = 0, Wb, of all phases or of each; start zero only"},
    "matrix": {"type": "array", "minItems": 3, "maxItems": 3, "items": {"type": "array", "items": {"type": "number"}, "minItems": 3, "maxItems": 3}},
    "operations": {"type": "array", "items": {"type": "object", "required": ["time", "action"], "additionalProperties": false, "properties": {"time": {"$ref": "#/$defs/not_negative"}, "action": {"enum": ["open", "close"]}}}},
    "waveform": {"required": ["amplitude"], "properties": {"shape": {"enum": ["sine", "step", "double_exponential"], "default": "sine"}, "amplitude": {"type": "number", "description": "peak, V or A"}, "frequency": {"$ref": "#/$defs/positive"}, "phase": {"type": "number", "description": "degrees"}, "start": {"$ref": "#/$defs/not_negative", "description": "s; zero until then"}, "tau_front": {"$ref": "#/$defs/positive", "description": "s"}, "tau_tail": {"$ref": "#/$defs/positive", "description": "s"}}},
    "synchronous": {"required": ["bus", "rated_power", "rated_voltage", "ra", "xl", "xd", "xd1", "xd2", "xq", "xq2", "td10", "td20", "tq20", "v"], "dependentRequired": {"xq1": ["tq10"], "tq10": ["xq1"], "s10": ["s12"], "s12": ["s10"], "r0": ["x0"]}, "oneOf": [{"required": ["h"]}, {"required": ["shaft"]}], "properties": {"bus": {"$ref": "#/$defs/name"}, "rated_power": {"$ref": "#/$defs/positive", "description": "VA"}, "rated_voltage": {"$ref": "#/$defs/positive", "description": "V r.m.s., line to line"}, "parameters": {"enum": ["exact", "classical"], "default": "exact", "description": "how the circuit of the rotor follows from the reactances and time constants"}, "ra": {"$ref": "#/$defs/not_negative", "description": "armature, per unit of the rating, as all resistances and reactances"}, "xl": {"$ref": "#/$defs/positive", "description": "leakage"}, "xd": {"$ref": "#/$defs/positive"}, "xd1": {"$ref": "#/$defs/positive", "description": "X'd"}, "xd2": {"$ref": "#/$defs/positive", "description": "X''d"}, "xq": {"$ref": "#/$defs/positive"}, "xq1": {"$ref": "#/$defs/positive", "description": "X'q of a round rotor"}, "xq2": {"$ref": "#/$defs/positive", "description": "X''q"}, "td10": {"$ref": "#/$defs/positive", "description": "T'd0, s"}, "td20": {"$ref": "#/$defs/positive", "description": "T''d0, s"}, "tq10": {"$ref": "#/$defs/positive", "description": "T'q0 of a round rotor, s"}, "tq20": {"$ref": "#/$defs/positive", "description": "T''q0, s"}, "x0": {"$ref": "#/$defs/positive", "description": "zero sequence with the neutral's impedance, which is isolated without it"}, "r0": {"$ref": "#/$defs/not_negative"}, "s10": {"$ref": "#/$defs/not_negative", "description": "saturation S at flux 1.0"}, "s12": {"$ref": "#/$defs/not_negative", "description": "and 1.2"}, "h": {"$ref": "#/$defs/positive", "description": "inertia constant, s"}, "damping": {"$ref": "#/$defs/not_negative", "description": "torque per deviation of speed, per unit"}, "shaft": {"type": "array", "minItems": 1, "maxItems": 6, "description": "masses, each joined to the next", "items": {"type": "object", "required": ["h"], "additionalProperties": false, "properties": { "name": {"type": "string"}, "h": {"$ref": "#/$defs/positive"}, "share": {"$ref": "#/$defs/not_negative", "description": "of the mechanical torque"}, "damping": {"$ref": "#/$defs/not_negative"}, "spring": {"$ref": "#/$defs/positive", "description": "to the next mass, torque per electrical radian, per unit"}, "spring_damping": {"$ref": "#/$defs/not_negative", "description": "of the coupling, torque per difference of speed, per unit"}, "generator": {"type": "boolean"}}}}, "v": {"$ref": "#/$defs/positive", "description": "terminal voltage before t = 0, V r.m.s., line to line"}, "angle": {"type": "number", "description": "of phase a's voltage, degrees of a cosine; where it is not held a first guess"}}},
    "signal": {"type": "string", "minLength": 1, "description": "a block, or ELEMENT.output of an element that measures"},
    "points": {"type": "array", "minItems": 2, "items": {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2}, "description": "points [x, y], strictly ascending in x; the outer slopes go on"},
    "terminals": {"properties": {"nodes": {"$ref": "#/$defs/pair"}, "buses": {"$ref": "#/$defs/pair"}}, "oneOf": [{"required": ["nodes"]}, {"required": ["buses"]}]}
  }
})";

}  // namespace

nlohmann::ordered_json case_schema() {
    using Json = nlohmann::ordered_json;
    Json out = Json::parse(kCase);
    for (const ElementType& type : element_types()) {
        const std::string name(type.name);
        Json element = Json::parse(type.schema);
        element["type"] = "object";
        Json& required = element["required"];
        for (const char* key : {"type", "name"}) required.push_back(key);
        element["properties"]["type"] = {{"const", name}};
        element["properties"]["name"] = {{"type", "string"}};
        element["unevaluatedProperties"] = false;
        out["properties"]["elements"]["items"]["oneOf"].push_back({{"$ref", "#/$defs/" + name}});
        out["$defs"][name] = std::move(element);
    }
    return out;
}

}  // namespace emt
