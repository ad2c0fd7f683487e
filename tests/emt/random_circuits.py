"""Random networks by seed for accuracy: smaller than those of ``random_networks.py``, and resolved by their steps.

Natural frequencies and time constants are those of networks of a few hundred hertz. Lines take whole numbers of steps.
Events lie at steps or, if asked for, between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from .random_elements import WAVES, Bus, Element, Ends, RandomElements, Study, between, of_phases

Case = dict[str, Any]

#: Settings of all networks, as in a study of transients at 60 Hz.
STUDY_DT_S = 5e-5
STEPS = 240
PEAK_V, Z_OHM = 1000.0, 100.0
#: Kinds of network; the name gives the content.
KINDS = ("one phase", "three phases", "lines")


class _Elements(RandomElements):
    """Times of events at steps, or between them."""

    def __init__(self, values: Random, study: Study, prefix: str, between_steps: bool) -> None:
        super().__init__(values, study, range(1, 2 * STEPS // 3), prefix)
        self._between = between_steps

    def times(self, count: int) -> list[float]:
        steps = sorted(self._values.sample(self._instants, count))
        # A third of a step is a third of a step again when steps are a quarter as long: errors of both can be compared.
        return [(n + (self._values.choice((1, 2)) / 3 if self._between else 0.0)) * self._study.dt_s for n in steps]

    def whole_line(self, ends: tuple[Bus, Bus]) -> None:
        """Add a line with a delay of one to twenty steps in each mode."""
        length_m = self.near(5e4)
        keys: Element = {"from": ends[0].name, "to": ends[1].name, "length": length_m}
        steps = self._values.randint(1, 12)
        for mode, z, n in (("1", self.near(300), steps), ("0", self.near(600), steps + self._values.randint(0, 8))):
            tau_s = n * self._study.dt_s
            loss = self._values.choice((0.0, self._values.uniform(0, 0.3)))
            per_m = {"r": loss * z, "l": z * tau_s, "c": tau_s / z}
            keys |= {name + mode: value / length_m for name, value in per_m.items()}
        self._add("line", keys)

    def steep_arrester(self, ends: Ends, segments: int) -> None:
        """i = k·u^α by as many segments, which carry five times the current of a usual load at the usual voltage."""
        alpha = self._values.uniform(5, 15)
        top_v = PEAK_V * self._values.uniform(0.8, 1.5)
        points = [top_v * (0.4 + 0.6 * (k + 1) / segments) for k in range(segments)]
        self._add("arrester", ends, {"curve": [[u, PEAK_V / Z_OHM * 5 * (u / top_v) ** alpha] for u in points]})

    def shunt_capacitor(self, ends: Ends, z: float, r_ohm: float) -> None:
        keys = {"c": self.near(1 / (z * self._study.angular))}
        self._add("capacitor", ends, keys, {"r": self.near(r_ohm)} if r_ohm > 0 else {})

    def injection(self, to: str, peak_a: float, waves: Sequence[str]) -> None:
        self._add("current_source", {"to": to}, self._wave(peak_a, waves))

    def soft_diode(self, ends: Ends) -> None:
        self._add("diode", ends, {"r_on": self.near(0.01 * Z_OHM), "r_off": self.near(100 * Z_OHM)})


def random_circuit(seed: int, kind: str, *, start: str = "zero", between_steps: bool = False) -> Case:
    """A case that is a function of the arguments alone; names begin with its seed."""
    return _Circuit(
        Random(f"{kind} {start} {between_steps} {seed}"), kind, f"{kind[0]}{seed}", start, between_steps
    ).case()


class _Circuit:
    def __init__(self, draw: Random, kind: str, prefix: str, start: str, between_steps: bool) -> None:
        self._draw = draw
        self._study = Study(STUDY_DT_S, 60.0, start)
        self._add = _Elements(draw, self._study, prefix, between_steps)
        self._add.shape = draw
        self._prefix = prefix
        self._nodes: list[str] = []
        self._buses: list[str] = []
        self._poles = draw.random() < 0.6
        if kind == "one phase":
            self._one_phase()
        else:
            self._three_phases(lines=kind == "lines")

    def case(self) -> Case:
        case: Case = {"format": "kappa-emt-case", "version": 1, "dt": STUDY_DT_S, "frequency": 60.0}
        return case | {
            "start": self._study.start,
            "buses": self._buses,
            "nodes": self._nodes,
            "elements": self._add.all,
        }

    @property
    def _linear(self) -> bool:
        """A start from the phasor solution knows first segments only."""
        return self._study.start == "steady"

    def _shunt(self, ends: Ends, z_ohm: float = Z_OHM) -> None:
        """Something that damps, and something that holds the voltage, behind a resistance where poles may short it."""
        self._add.resistor(ends, 5 * z_ohm)
        if "nodes" in ends or self._draw.random() < 0.7:  # one-phase branches have small inductances
            self._add.shunt_capacitor(ends, 4 * z_ohm, 0.3 * z_ohm if self._poles else 0.0)

    def _series(self, ends: Ends) -> None:
        kind = self._draw.choice(("resistor", "inductor", "series_rlc"))
        if kind == "resistor":
            self._add.resistor(ends, 0.2 * Z_OHM)
        elif kind == "inductor":
            self._add.inductor(ends, 0.3 * Z_OHM, 0.0)
        else:
            self._add.series_rlc(ends, Z_OHM)

    def _node(self) -> Bus:
        bus = Bus(f"{self._prefix}n{len(self._nodes)}", PEAK_V, Z_OHM)
        self._nodes.append(bus.name)
        self._shunt(between(bus.name))
        return bus

    def _bus(self, peak_v: float = PEAK_V, z_ohm: float = Z_OHM) -> Bus:
        bus = Bus(f"{self._prefix}B{len(self._buses)}", peak_v, z_ohm)
        self._buses.append(bus.name)
        self._shunt(of_phases(bus.name), z_ohm)
        return bus

    def _one_phase(self) -> None:
        draw, add = self._draw, self._add
        nodes = [self._node()]
        steady = ("steady",) if self._linear else WAVES
        add.voltage_source(nodes[0].name, PEAK_V, 0.3 * Z_OHM)
        for _ in range(draw.randint(1, 4)):
            before, node = draw.choice(nodes), self._node()
            nodes.append(node)
            if self._poles and draw.random() < 0.4:
                add.switch(between(before.name, node.name), Z_OHM, draw.random() < 0.5)
            elif self._poles and draw.random() < 0.3 and not self._linear:
                add.soft_diode(between(before.name, node.name))
            else:
                self._series(between(before.name, node.name))
        for _ in range(draw.randint(0, 3)):
            at = draw.choice(nodes).name
            nonlinear = [] if self._linear else ["arrester", "steep_arrester", "saturable_inductor"]
            kind = draw.choice(["current_source", "load", *nonlinear])
            if kind == "current_source":
                add.injection(at, 0.5 * PEAK_V / Z_OHM, steady)
            elif kind == "arrester":
                add.arrester(between(at), PEAK_V, Z_OHM)
            elif kind == "steep_arrester":
                add.steep_arrester(between(at), 12)
            elif kind == "saturable_inductor":
                add.saturable_inductor(between(at), PEAK_V, Z_OHM)
            else:
                self._series(between(at))

    def _three_phases(self, *, lines: bool) -> None:
        draw, add = self._draw, self._add
        buses = [self._bus()]
        add.three_phase_source("source", buses[0], ("steady",) if self._linear else ("steady", "started"))
        for number in range(draw.randint(1, 2)):
            before = draw.choice(buses)
            kind = (
                "line"
                if lines and number == 0
                else draw.choice(("coupled_rl", "transformer", "series", *(("switch",) if self._poles else ())))
            )
            if kind == "transformer":
                name = f"{self._prefix}B{len(self._buses)}"
                after = add.transformer(before, name)
                if self._linear:
                    add.all[-1].pop("saturation", None)
                self._buses.append(name)
                self._shunt(of_phases(after.name), after.z_ohm)
            else:
                after = self._bus(before.peak_v, before.z_ohm)
                if kind == "line":
                    add.whole_line((before, after))
                elif kind == "coupled_rl":
                    add.coupled_rl(before, after.name, 0.3 * before.z_ohm)
                elif kind == "switch":
                    add.switch(of_phases(before.name, after.name), before.z_ohm, draw.random() < 0.5)
                else:
                    add.inductor(of_phases(before.name, after.name), 0.3 * before.z_ohm, 0.0)
            buses.append(after)
        self._at_buses(buses)

    def _at_buses(self, buses: list[Bus]) -> None:
        draw, add = self._draw, self._add
        for _ in range(draw.randint(1, 2)):
            at = draw.choice(buses)
            kind = draw.choice(
                ["coupled_rl"]
                + (["fault"] if self._poles else [])
                + ([] if self._linear else ["arrester", "saturable_inductor"])
            )
            if kind == "fault":
                add.fault(at)
            elif kind == "coupled_rl":
                add.coupled_rl(at, "0", 2 * at.z_ohm)
            elif kind == "arrester":
                add.arrester(of_phases(at.name), at.peak_v, at.z_ohm)
            else:
                add.saturable_inductor(of_phases(at.name), at.peak_v, at.z_ohm)
