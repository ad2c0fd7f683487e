"""Elements with random values, as a case's JSON has them: one method for each type of ``src/elements/table.inc``.

Everything is passive, so that no network of them is unstable. Values are drawn from ``values``, and whatever decides
the structure, such as whether a key is there at all, from ``shape``: tasks of one shape look alike.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

Element = dict[str, Any]
Ends = dict[str, list[str]]

FAULTS = ("ag", "bg", "cg", "ab", "bc", "ca", "abg", "bcg", "cag", "abc", "abcg")
WINDINGS = ("YgYg", "YgD", "DYg", "DD")
SINES = ("steady", "started", "of another frequency")
WAVES = (*SINES, "step", "double exponential")


@dataclass(frozen=True)
class Study:
    """The common part of all cases."""

    dt_s: float
    frequency_hz: float
    start: str
    """``steady`` or ``zero``."""

    @property
    def angular(self) -> float:
        """rad/s."""
        return 2 * math.pi * self.frequency_hz


@dataclass(frozen=True)
class Bus:
    """A three-phase bus, or a single node, with its usual values."""

    name: str
    peak_v: float
    z_ohm: float

    def phase(self, letter: str) -> str:
        return f"{self.name}.{letter}"


def between(first: str, second: str = "0") -> Ends:
    """Terminals of a one-phase element."""
    return {"nodes": [first, second]}


def of_phases(first: str, second: str = "0") -> Ends:
    """Terminals of three equal elements; the second may be a single node, their common point."""
    return {"buses": [first, second]}


class RandomElements:
    """Collects elements in ``all``. Events take place at ``instants``, in whole steps."""

    def __init__(self, values: Random, study: Study, instants: Sequence[int], prefix: str = "") -> None:
        self.shape = Random(0)
        self.all: list[Element] = []
        self._values = values
        self._study = study
        self._instants = instants
        self._prefix = prefix

    # Typical values.

    def near(self, value: float) -> float:
        return value * self._values.uniform(0.5, 2)

    def _perhaps(self, key: str, value: float) -> Element:
        return {key: value} if self.shape.random() < 0.5 else {}

    def times(self, count: int) -> list[float]:
        """Return times of events in ascending order: at an instant, or inside the step that begins there."""
        steps = sorted(self._values.sample(self._instants, count))
        late = [self._values.choice((0, 0, self._values.uniform(0.05, 0.95))) for _ in steps]
        return [(step + after) * self._study.dt_s for step, after in zip(steps, late, strict=True)]

    def _operations(self, closed: bool) -> list[Element]:
        times = self.times(self._values.choice((1, 1, 2, 3)))
        actions = ("close", "open") if not closed else ("open", "close")
        return [{"time": time, "action": actions[i % 2]} for i, time in enumerate(times)]

    def _wave(self, peak: float, kinds: Sequence[str] = WAVES) -> Element:
        kind = self.shape.choice(kinds)
        amplitude = self.near(peak) * self._values.choice((-1, 1))
        start = {"start": self.times(1)[0]}
        if kind == "step":
            return {"shape": "step", "amplitude": amplitude} | (start if self.shape.random() < 0.8 else {})
        if kind == "double exponential":
            front = self.near(self._study.dt_s)
            tails = {"tau_front": front, "tau_tail": front * self._values.uniform(3, 30)}
            return {"shape": "double_exponential", "amplitude": amplitude} | tails | start
        sine = {"amplitude": amplitude, "phase": self._values.uniform(-180, 180)}
        if kind == "steady":
            return sine
        if kind == "started":
            return sine | start
        always = self._study.start == "zero" and self.shape.random() < 0.5
        return sine | {"frequency": self._values.uniform(20, 400)} | ({} if always else start)

    def _curve(self, x: float, i: float, steepness: Sequence[float]) -> list[list[float]]:
        """From the origin upwards: points that are about ``x`` apart, with slopes of about ``steepness`` times i/x."""
        points = [[0.0, 0.0]]
        for slope in steepness:
            dx = self.near(x)
            points.append([points[-1][0] + dx, points[-1][1] + self.near(slope) * dx / x * i])
        return points[1:]

    def _add(self, kind: str, *keys: Element | Ends) -> None:
        element: Element = {"type": kind, "name": f"{self._prefix}{kind}{len(self.all)}"}
        for some in keys:
            element |= some
        self.all.append(element)

    # Two terminals, or three times two. `z` is about the impedance at the frequency of the case, ohm.

    def resistor(self, ends: Ends, z: float) -> None:
        self._add("resistor", ends, {"r": self.near(z)})

    def inductor(self, ends: Ends, z: float, peak_v: float) -> None:
        current = {"i0": self.near(peak_v / z)} if self._study.start == "zero" and self.shape.random() < 0.5 else {}
        keys = {"l": self.near(z / self._study.angular)} | self._perhaps("r", self.near(0.1 * z))
        self._add("inductor", ends, keys, current)

    def capacitor(self, ends: Ends, z: float) -> None:
        keys = {"c": self.near(1 / (z * self._study.angular))} | self._perhaps("r", self.near(0.1 * z))
        self._add("capacitor", ends, keys)

    def series_rlc(self, ends: Ends, z: float) -> None:
        capacitance = self.near(1 / (z * self._study.angular))
        harmonic = self._values.uniform(2.2, 12.8) * self._study.angular
        inductance = 1 / (harmonic * harmonic * capacitance)
        self._add("series_rlc", ends, {"r": self.near(0.05 * z), "l": inductance, "c": capacitance})

    def arrester(self, ends: Ends, peak_v: float, z: float) -> None:
        steepness = (0.01, 0.1, 1, 5, 20)[: self.shape.randint(2, 5)]
        self._add("arrester", ends, {"curve": self._curve(0.3 * peak_v, 0.3 * peak_v / z, steepness)})

    def saturable_inductor(self, ends: Ends, peak_v: float, z: float) -> None:
        flux = self._flux(peak_v)
        self._add("saturable_inductor", ends, {"curve": self._saturation(peak_v, z)}, {"flux": flux[0]} if flux else {})

    def _flux(self, peak_v: float) -> list[float]:
        """At t = 0, of three phases, or none."""
        if self._study.start == "steady" or self.shape.random() < 0.5:
            return []
        return [self._values.uniform(-0.5, 0.5) * peak_v / self._study.angular for _ in "abc"]

    def _saturation(self, peak_v: float, z: float) -> list[list[float]]:
        """Points [Wb, A]: the flux of the usual voltage lies some segments up."""
        steepness = (0.1, 1, 5)[: self.shape.randint(1, 3)]
        return self._curve(0.3 * peak_v / self._study.angular, 0.1 * peak_v / z, steepness)

    def meter(self, ends: Ends) -> None:
        self._add("meter", ends, self._perhaps("time_constant", self.near(20 * self._study.dt_s)))

    def switch(self, ends: Ends, z: float, closed: bool) -> None:
        keys: Element = {"closed": closed, "operations": self._operations(closed)}
        keys |= self._perhaps("r_on", self.near(1e-4 * z)) | self._perhaps("r_off", self.near(1e4 * z))
        self._add("switch", ends, keys, {"current_zero": True} if self.shape.random() < 0.4 else {})

    def valve(self, kind: str, ends: Ends, z: float, gate: str = "") -> None:
        """``diode``, ``thyristor`` or ``thyristor_pair``; without the signal of a gate its pulses come and go within
        the steps that are simulated.
        """
        keys = self._perhaps("r_on", self.near(1e-4 * z)) | self._perhaps("r_off", self.near(1e3 * z))
        if kind == "thyristor_pair":
            keys |= self._perhaps("gentle_below", self.near(1e3))
        if gate:
            keys["gate"] = gate
        elif kind != "diode":
            period = self.near(20 * self._study.dt_s)
            keys |= {"start": self.times(1)[0], "width": period * self._values.uniform(0.1, 0.5)}
            if "r_on" in keys:
                keys["period"] = period
        self._add(kind, ends, keys)

    # Sources.

    def voltage_source(self, to: str, peak_v: float, z: float, from_: str = "0") -> None:
        inductance = z / self._study.angular
        impedance = self.shape.choice(({"r": z}, {"l": inductance}, {"r": 0.1 * z, "l": inductance}))
        away = {"from": from_} if from_ != "0" or self.shape.random() < 0.5 else {}
        self._add(
            "voltage_source", {"to": to}, away, {k: self.near(v) for k, v in impedance.items()}, self._wave(peak_v)
        )

    def current_source(self, to: str, peak_a: float, from_: str = "0") -> None:
        away = {"from": from_} if from_ != "0" or self.shape.random() < 0.5 else {}
        self._add("current_source", {"to": to}, away, self._wave(peak_a))

    def three_phase_source(self, kind: str, bus: Bus, waves: Sequence[str] = SINES) -> None:
        """``source``, ``machine`` or ``condenser``."""
        z = 0.2 * bus.z_ohm
        keys = {"bus": bus.name, "r1": self.near(0.1 * z), "l1": self.near(z / self._study.angular)}
        keys |= self._perhaps("r0", self.near(0.2 * z)) | self._perhaps("l0", self.near(0.5 * z / self._study.angular))
        self._add(kind, keys, self._wave(bus.peak_v, waves))

    def driven_source(self, number: int, bus: Bus, name: str) -> None:
        """A source of the kind that the number decides, and the block whose signal drives it."""
        kind = ("source", "machine", "condenser", "voltage_source", "current_source")[number % 5]
        draw = Random(name)  # of its own: the other elements stay as they are
        sine = number % 2 == 0 or number % 5 < 3
        keys: Element = {"signal": f"{name}_size"}
        keys |= {"phase": draw.uniform(-180, 180)} if sine else {"shape": "constant"}
        inductance = 8 * bus.z_ohm / self._study.angular  # weak: a machine beside it keeps a usual field voltage
        if kind == "current_source":
            keys |= {"to": bus.phase("b"), "amplitude": 0.1 * bus.peak_v / bus.z_ohm}
        elif kind == "voltage_source":
            keys |= {"to": bus.phase("c"), "amplitude": bus.peak_v, "r": bus.z_ohm, "l": inductance}
        else:
            keys |= {"bus": bus.name, "amplitude": bus.peak_v, "r1": 0.02 * bus.z_ohm, "l1": inductance}
        # At a steady start, its mean counts.
        swing = {"value": 1 if sine else 0, "amplitude": draw.uniform(0.05, 0.4), "frequency": draw.uniform(1, 200)}
        self.all.append({"type": "block", "name": f"{name}_size", "kind": "sine"} | swing)
        self.all.append({"type": kind, "name": name} | keys)

    # Three phases.

    def coupled_rl(self, bus: Bus, to: str, z: float) -> None:
        """Symmetric and diagonally dominant, hence passive."""

        def matrix(diagonal: float) -> list[list[float]]:
            ab, bc, ca = (self._values.uniform(-0.2, 0.4) * diagonal for _ in "abc")
            own = [diagonal * self._values.uniform(1, 1.5) for _ in "abc"]
            return [[own[0], ab, ca], [ab, own[1], bc], [ca, bc, own[2]]]

        inductance = self.near(z / self._study.angular)
        self._add("coupled_rl", {"from": bus.name, "to": to, "r": matrix(self.near(0.1 * z)), "l": matrix(inductance)})

    def transformer(self, primary: Bus, secondary: str) -> Bus:
        """The secondary bus, where the voltage is another."""
        ratio = self._values.choice((0.1, 0.5, 2, 5))
        connection = self.shape.choice(WINDINGS)
        z, line_v = primary.z_ohm, primary.peak_v * math.sqrt(1.5)
        keys: Element = {"primary": primary.name, "secondary": secondary, "connection": connection}
        keys |= {"v1": line_v, "v2": line_v * ratio}
        keys |= {"r": self.near(0.01 * z), "l": self.near(0.1 * z / self._study.angular)}
        keys |= self._perhaps("rc", self.near(100 * z))
        core = self.shape.choice(("none", "lm", "saturation"))
        if core == "lm":
            keys["lm"] = self.near(30 * z / self._study.angular)
        elif core == "saturation":
            keys["saturation"] = self._saturation(primary.peak_v, z)
            if flux := self._flux(primary.peak_v):
                keys["flux"] = flux
        self._add("transformer", keys)
        return Bus(secondary, primary.peak_v * ratio, z * ratio * ratio)

    def fixed_svc(self, bus: Bus) -> None:
        inductance = self.near(3 * bus.z_ohm) / self._study.angular
        capacitance = 1 / (self.near(5 * bus.z_ohm) * self._study.angular)
        self._add("fixed_svc", {"bus": bus.name, "l": inductance, "c": capacitance})

    def fault(self, bus: Bus) -> None:
        clears = self.shape.random() < 0.7
        times = self.times(2 if clears else 1)
        keys: Element = {"bus": bus.name, "kind": self.shape.choice(FAULTS), "start": times[0]}
        self._add("fault", keys, self._perhaps("r", self.near(0.02 * bus.z_ohm)), {"stop": times[1]} if clears else {})

    def line(self, ends: tuple[Bus, Bus]) -> None:
        """Travel times of one to about forty steps, whole ones among them; rounded to whole steps or interpolated."""
        length_m = self.near(5e4)
        steps = self._values.choice((1, 2, 3, 5, 8, 13, 21)) + self._values.choice((0, self._values.random()))
        later = self._values.choice((1, 1.5, self._values.uniform(1, 2)))
        keys: Element = {"from": ends[0].name, "to": ends[1].name, "length": length_m}
        for mode, z, tau in (("1", self.near(300), steps), ("0", self.near(600), steps * later)):
            tau_s = tau * self._study.dt_s
            loss = self._values.choice((0, self._values.uniform(0, 0.3)))
            per_m = {"r": loss * z, "l": z * tau_s, "c": tau_s / z}
            keys |= {name + mode: value / length_m for name, value in per_m.items()}
        delay = self._values.choice(({"delay": "linear"}, {"delay": "integer"}, {}))
        self._add("line", keys, delay)
