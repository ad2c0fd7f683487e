"""Random thyristors with signals at their gates, and static var compensators, as a case's JSON has them."""

from __future__ import annotations

import math
from random import Random

from .random_elements import Bus, Element, Study


def firing(shape: Random, values: Random, bus: Bus, name: str) -> list[Element]:
    """Makes the signal of this name from the angle of a bus: the pulses begin at a random delay, which may change."""
    loop: Element = {"type": "phase_locked_loop", "name": f"{name}_loop", "bus": bus.name}
    loop["rated_voltage"] = bus.peak_v * math.sqrt(1.5)
    if shape.random() < 0.5:
        loop |= {"natural_frequency": values.uniform(2, 20), "damping": values.uniform(0.4, 1)}
    delay: Element = {"type": "block", "name": f"{name}_delay", "kind": "ramp", "value": values.uniform(0, 180)}
    delay |= {"amplitude": values.uniform(-90, 90), "time": 0, "duration": 5e-3}
    block: Element = {"type": "block", "name": name, "kind": "firing", "angle": f"{name}_loop.angle"}
    block |= {"rate": f"{name}_loop.frequency", "delay": f"{name}_delay", "phase": values.uniform(-180, 180)}
    if shape.random() < 0.7:
        block |= {"period": shape.choice((180, 360)), "always": values.uniform(0, 40), "end": values.uniform(120, 175)}
    return [loop, delay, block]


def compensator(shape: Random, values: Random, study: Study, bus: Bus, name: str) -> list[Element]:
    """Off, firing or in full conduction at the start; its order steps."""
    line_v = bus.peak_v * math.sqrt(1.5)
    rated = line_v * line_v / (5 * bus.z_ohm)
    banks = [rated * values.uniform(0.2, 0.5) for _ in range(shape.randint(0, 3))]
    reactors = rated * values.uniform(0.6, 1)
    svc: Element = {"type": "svc", "name": name, "bus": bus.name, "rated_voltage": line_v, "rated_power": rated}
    svc["tcr"] = reactors
    if banks:
        svc["tsc"] = banks
    low, high = -reactors / rated, float(sum(bank / rated for bank in banks))
    if shape.random() < 0.5:
        low, high = low * values.uniform(0.5, 1), high * values.uniform(0.5, 1)
        svc |= {"b_min": low, "b_max": high}
    svc["susceptance"] = values.choice((0, low, high, values.uniform(low, high), values.uniform(low, high)))
    if study.start == "zero":
        svc["reference"] = values.uniform(0.9, 1.1)
    if shape.random() < 0.5:
        svc |= {"controlled": bus.name, "controlled_voltage": line_v * values.uniform(0.9, 1.1)}
    if shape.random() < 0.5:
        svc |= {"slope": values.uniform(0, 0.1), "kp": values.uniform(0, 2), "ki": values.uniform(50, 500)}
        svc |= {"time_constant": values.uniform(2e-3, 1e-2), "pll_damping": values.uniform(0.4, 1)}
        svc |= {"pll_natural_frequency": values.uniform(2, 20), "undervoltage": values.uniform(0, 1.1)}
    if shape.random() < 0.5:
        svc |= {"tcr_quality": values.uniform(20, 200), "tsc_quality": values.uniform(20, 200)}
        svc |= {"tsc_tuning": values.uniform(2.2, 6), "tsc_hysteresis": values.uniform(0, 0.1)}
        svc |= {"r_on": 1e-4 * bus.z_ohm, "r_ground": 1e4 * bus.z_ohm}
    if shape.random() < 0.6:
        step: Element = {"type": "block", "name": f"{name}_order", "kind": "step"}
        step |= {"amplitude": values.uniform(-3, 3), "time": values.uniform(0, 2e-3)}
        return [step, svc | {"input": step["name"]}]
    return [svc]
