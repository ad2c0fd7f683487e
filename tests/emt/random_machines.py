"""Random machines with their controllers, and diagrams of blocks, as a case's JSON has them."""

from __future__ import annotations

import math
from random import Random

from .random_elements import Bus, Element, Study, between

MODELS = {
    "exciter": ("DC1A", "AC1A", "AC4A", "ST1A", "SEXS"),
    "stabilizer": ("PSS1A", "PSS2B", "IEEEST"),
    "governor": ("TGOV1", "IEEEG1", "HYGOV", "GAST"),
}
#: Kinds of block that have inputs.
COMPUTING = (
    "gain", "absolute", "root", "sum", "product", "quotient", "minimum", "maximum", "table", "comparison", "selection",
    "integrator", "lag", "lead_lag", "washout", "rate_limiter",
)  # fmt: skip
# Per unit, seconds: a hydro generator and one of a steam turbine.
_SALIENT = {"ra": 0.003, "xl": 0.12, "xd": 1.1, "xd1": 0.3, "xd2": 0.22, "td10": 6, "td20": 0.04}
_SALIENT |= {"xq": 0.7, "xq2": 0.29, "tq20": 0.06}
_ROUND = {"ra": 0.003, "xl": 0.15, "xd": 1.8, "xd1": 0.3, "xd2": 0.23, "td10": 8, "td20": 0.03}
_ROUND |= {"xq": 1.7, "xq1": 0.55, "xq2": 0.25, "tq10": 0.4, "tq20": 0.05}


def _shaft(shape: Random, *, turbine: bool) -> Element:
    if shape.random() < 0.6:
        return {"h": shape.uniform(1, 5)} | ({"damping": shape.uniform(0, 2)} if shape.random() < 0.5 else {})
    count = shape.randint(2, 6)
    generator = shape.randrange(count)
    masses = []
    for number in range(count):
        mass: Element = {"h": shape.uniform(0.2, 2)}
        if turbine:
            mass["share"] = 1 if number == (generator + 1) % count else 0
        if number == generator:
            mass["generator"] = True
        if number + 1 < count:
            mass |= {"spring": shape.uniform(10, 60), "spring_damping": shape.uniform(0, 2)}
        masses.append(mass | ({"damping": shape.uniform(0, 1)} if shape.random() < 0.3 else {}))
    return {"shaft": masses}


def synchronous(shape: Random, values: Random, bus: Bus, name: str, phase_deg: float) -> list[Element]:
    """A generator with some of its controllers, or a condenser, at a bus that a source of this phase excites."""
    condenser = shape.random() < 0.25
    line_v = bus.peak_v * math.sqrt(1.5)
    rated_va = 1.5 * bus.peak_v * bus.peak_v / bus.z_ohm
    keys: Element = {"type": "synchronous_condenser" if condenser else "synchronous_machine", "name": name}
    keys |= {"bus": bus.name, "rated_power": rated_va, "rated_voltage": line_v}
    keys["v"] = line_v * values.uniform(0.99, 1.02)
    keys |= shape.choice((_SALIENT, _ROUND)) | _shaft(shape, turbine=not condenser)
    if shape.random() < 0.5:
        keys |= {"s10": values.uniform(0.05, 0.15), "s12": values.uniform(0.3, 0.5)}
    if shape.random() < 0.7:
        keys |= {"x0": values.uniform(0.08, 0.2)} | ({"r0": 0.01} if shape.random() < 0.5 else {})
    if shape.random() < 0.3:
        keys["parameters"] = shape.choice(("exact", "classical"))
    if not condenser:
        keys["p"] = rated_va * values.uniform(0.2, 0.8)
    if condenser or shape.random() < 0.3:
        keys["angle"] = phase_deg + values.uniform(-5, 5)  # a first guess: the power flow has other solutions, too
    out = [keys]
    for kind in ("exciter", "stabilizer", "governor"):
        driven = not (condenser and kind == "governor")
        if driven and shape.random() < 0.7:
            controller: Element = {"type": kind, "name": f"{name}_{kind}", "machine": name}
            controller["model"] = shape.choice(MODELS[kind])
            if controller["model"] == "DC1A":
                controller["VRMAX"] = 5  # what it starts with is not to be beyond its usual ceiling of 1
            if kind != "stabilizer" and shape.random() < 0.3:
                order = f"{name}_{kind}_order"
                steps = {"kind": "step", "amplitude": values.uniform(-0.05, 0.05), "time": values.uniform(0, 2e-3)}
                out.append({"type": "block", "name": order} | steps)
                controller["input"] = order
            out.append(controller)
    return out


def diagram(shape: Random, values: Random, study: Study, bus: Bus, name: str) -> list[Element]:
    """Measurements at a bus, and blocks of every kind that compute with them; nothing is driven."""
    out: list[Element] = []
    signals: list[str] = []

    def add(kind: str, keys: Element) -> str:
        signals.append(f"{name}_{len(out)}")
        out.append({"type": kind, "name": signals[-1]} | keys)
        return signals[-1]

    def block(kind: str, keys: Element) -> str:
        return add("block", {"kind": kind} | keys)

    def inputs(count: int) -> list[str]:
        return [shape.choice(signals) for _ in range(count)]

    one: Element = {"base": bus.peak_v} if shape.random() < 0.5 else {}
    add("measurement", {"quantity": "voltage"} | between(bus.phase("a"), shape.choice(("0", bus.phase("b")))) | one)
    add("measurement", {"quantity": "magnitude", "bus": bus.name, "time_constant": 1e-3, "base": bus.peak_v})
    time = values.randint(1, 60) * study.dt_s
    block("constant", {"value": values.uniform(-1, 1)})
    block("step", {"amplitude": values.uniform(-1, 1), "time": time})
    block("ramp", {"amplitude": values.uniform(-1, 1), "time": time, "duration": time})
    block("sine", {"amplitude": values.uniform(-1, 1), "frequency": values.uniform(1, 400), "phase": 30})
    limits = {"low": -values.uniform(0.1, 1), "high": values.uniform(0.1, 1)}
    for _ in range(shape.randint(2, 6)):
        kind = shape.choice(COMPUTING)
        some = limits if shape.random() < 0.5 else {}
        many = {"inputs": inputs(shape.randint(2, 4))}
        if kind in ("gain", "absolute", "root"):
            block(kind, {"input": inputs(1)[0], "gain": values.uniform(-2, 2)} | some)
        elif kind == "sum":
            block(kind, many | {"weights": [values.uniform(-1, 1) for _ in many["inputs"]], "constant": 0.1} | some)
        elif kind in ("product", "minimum", "maximum"):
            block(kind, many | some)
        elif kind == "quotient":
            away = block("sum", {"inputs": [block("absolute", {"input": inputs(1)[0]})], "constant": 0.5})
            block(kind, {"inputs": [inputs(1)[0], away]} | limits)
        elif kind == "table":
            block(kind, {"input": inputs(1)[0], "points": [[-1, 0], [0, values.uniform(-1, 1)], [1, 1]]})
        elif kind == "comparison":
            block(kind, {"input": inputs(1)[0], "on": values.uniform(0, 0.5), "off": values.uniform(-0.5, 0)})
        elif kind == "selection":
            block(kind, {"inputs": inputs(2), "selector": inputs(1)[0]})
        elif kind == "integrator":
            # It integrates its distance from its input, so it has a steady state.
            integral = f"{name}_{len(out) + 1}"
            error = block("sum", {"inputs": [inputs(1)[0], integral], "weights": [1, -1]})
            block(kind, {"input": error, "gain": values.uniform(1, 100)})
        elif kind == "rate_limiter":
            block(kind, {"input": inputs(1)[0], "up": values.uniform(1, 100)})
        elif kind == "lead_lag":
            times = {"lead": values.uniform(0, 0.02), "lag": values.uniform(1e-3, 0.02)}
            block(kind, {"input": inputs(1)[0]} | times | some)
        else:
            block(kind, {"input": inputs(1)[0], "time_constant": values.uniform(1e-3, 0.02)} | some)
    return out


def strong_source(values: Random, study: Study, bus: Bus, name: str) -> Element:
    """Near the usual voltage, behind a twentieth of the usual impedance."""
    keys: Element = {"type": "source", "name": name, "bus": bus.name}
    keys |= {"amplitude": bus.peak_v * values.uniform(0.97, 1.03), "phase": values.uniform(-180, 180)}
    return keys | {"r1": 0.005 * bus.z_ohm, "l1": 0.05 * bus.z_ohm / study.angular}
