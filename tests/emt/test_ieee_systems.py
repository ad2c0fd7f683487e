"""The IEEE systems with 9 and 39 buses beside ANDES, whose models are checked against commercial programs: their power
flow, and rotor angles after disturbances.

Both programs have the same machines, controllers, constant-impedance loads and pi sections. ANDES neglects transients
of stator and network, and the speed in the stator's voltages: faults have no direct currents there, whose torque brakes
rotors, and loads do not grow with the frequency. Through a resistance direct currents die within a millisecond or two,
and a step of the field's voltage makes none: they leave the second difference only. With controllers there are more:
a governor's output is a torque there and a power here, and exciters see the transients of the terminal voltage.
"""

from __future__ import annotations

import json
import logging
import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from .conftest import Emt
from .ieee_systems import NINE, THIRTY_NINE, Machine, Solution, System

Array = npt.NDArray[np.float64]

DT_S, STEP_OF_ANDES_S = 50e-6, 1 / 240
BEGIN_S, CYCLES, SECONDS = 0.5, 5, 5.0
CLEARED_S = BEGIN_S + CYCLES / 60
EVERY = 80  # steps between rows
GOVERNOR = {"R": 0.05, "VMAX": 99, "VMIN": -99, "T1": 0.5, "T2": 3, "T3": 10}
EXCITER = {"TR": 0.01, "VIMAX": 10, "VIMIN": -10, "TC": 1, "TB": 10, "KA": 100, "TA": 0.02, "VRMAX": 8, "VRMIN": -8}
EXCITER |= {"KC": 0}


@dataclass(frozen=True)
class Fault:
    """Three phases through a reactance or a resistance, per unit, to ground from BEGIN_S to CLEARED_S."""

    bus: int
    x: float = 0
    r: float = 0


@dataclass(frozen=True)
class FieldStep:
    """Return the field voltage of the machine at a bus at BEGIN_S, per unit."""

    bus: int
    amplitude: float


@dataclass(frozen=True)
class Swings:
    """Rotor angles against their inertial mean, degrees, and speeds, per unit, by time and machine."""

    time: Array
    angle: Array
    speed: Array

    @classmethod
    def of(cls, system: System, time: Array, angle: Array, speed: Array) -> Swings:
        inertia = np.array([m.h for m in system.machines])
        return cls(time, angle - (angle @ inertia / inertia.sum())[:, None], speed)

    def at(self, time: Array) -> Swings:
        def resampled(values: Array) -> Array:
            return np.column_stack([np.interp(time, self.time, column) for column in values.T])

        return Swings(time, resampled(self.angle), resampled(self.speed))


def reactances(m: Machine) -> dict[str, float]:
    rotor = {"xd": m.xd, "xd1": m.xd1, "xd2": m.x2, "xq": m.xq, "xq1": m.xq1, "xq2": m.x2}
    return rotor | {"xl": m.xl, "ra": m.ra}


class Andes:
    """The other program, with the system as a MATPOWER case and its machines beside."""

    def __init__(self, folder: Path) -> None:
        self.andes: Any = pytest.importorskip("andes", reason="not provided here: andes")
        logging.getLogger("andes").setLevel(logging.WARNING)
        self.path = folder / "andes.m"

    def _loaded(self, text: str) -> Any:
        self.path.write_text(text)
        return self.andes.load(str(self.path), setup=False, no_output=True, default_config=True)

    def solution(self, system: System) -> Solution:
        study = self._loaded(system.matpower())
        study.setup()
        study.PFlow.config.tol = 1e-12
        assert study.PFlow.run()
        voltages = zip(study.Bus.idx.v, study.Bus.v.v, np.degrees(study.Bus.a.v), strict=True)
        return {int(bus): (float(v), float(angle)) for bus, v, angle in voltages}

    def swings(self, system: System, solved: Solution, event: Fault | FieldStep, *, controls: bool) -> Swings:
        # Loads as shunts: its constant-impedance loads at a faulted bus have a second solution at no voltage.
        study = self._loaded(system.matpower(solved, shunts=True))
        static = dict(zip(study.PV.bus.v + study.Slack.bus.v, study.PV.idx.v + study.Slack.idx.v, strict=True))
        kv = {int(row[0]): row[4] for row in system.buses}
        for m in system.machines:
            name = f"G{m.bus}"
            times = {"Td10": m.td10, "Td20": m.td20, "Tq10": m.tq10, "Tq20": m.tq20}
            rating = {"Sn": 100, "Vn": kv[m.bus], "fn": 60, "M": 2 * m.h, "D": 0, "S10": 0, "S12": 1}
            study.add("GENROU", {"idx": name, "bus": m.bus, "gen": static[m.bus]} | reactances(m) | times | rating)
            if controls:
                study.add("TGOV1", {"idx": f"GOV{m.bus}", "syn": name, "Dt": 0} | GOVERNOR)
                study.add("EXAC4", {"idx": f"EXC{m.bus}", "syn": name} | EXCITER)
        if isinstance(event, Fault):
            study.add("Fault", {"bus": event.bus, "tf": BEGIN_S, "tc": CLEARED_S, "rf": event.r, "xf": event.x})
        else:
            step = {"t": BEGIN_S, "method": "+", "amount": event.amplitude}
            study.add("Alter", {"model": "GENROU", "dev": f"G{event.bus}", "src": "vf0"} | step)
        study.setup()
        study.PFlow.config.tol = 1e-12
        assert study.PFlow.run()
        settings = {"tf": SECONDS, "tstep": STEP_OF_ANDES_S, "fixt": 1, "tol": 1e-6, "criteria": 0, "honest": 1}
        settings["no_tqdm"] = 1
        for key, value in settings.items():
            setattr(study.TDS.config, key, value)
        assert study.TDS.run()
        assert [int(idx[1:]) for idx in study.GENROU.idx.v] == [m.bus for m in system.machines]
        states = study.dae.ts.x
        angle, speed = np.degrees(states[:, study.GENROU.delta.a]), states[:, study.GENROU.omega.a]
        return Swings.of(system, np.array(study.dae.ts.t), angle, speed)


@pytest.fixture
def andes(tmp_path: Path) -> Andes:
    return Andes(tmp_path)


def imported(emt: Emt, tmp_path: Path, system: System, solved: Solution) -> dict[str, Any]:
    """The case that `emt import` makes, with the system's machines."""
    source, target = tmp_path / "system.m", tmp_path / "system.json"
    source.write_text(system.matpower(solved))
    emt("import", "matpower", source, "-o", target, "--dt", str(DT_S), "--lines", "pi")
    case: dict[str, Any] = json.loads(target.read_text())
    machine = {m.bus: m for m in system.machines}
    for element in (e for e in case["elements"] if e["type"] == "synchronous_machine"):
        m = machine[int(element["bus"][1:])]
        del element["s10"], element["s12"]
        times = {"td10": m.td10, "td20": m.td20, "tq10": m.tq10, "tq20": m.tq20}
        rating = {"name": f"G{m.bus}", "rated_power": 100e6, "parameters": "classical", "h": m.h}
        element.update(rating | reactances(m) | times)
    return case


def our_swings(
    emt: Emt, tmp_path: Path, system: System, solved: Solution, event: Fault | FieldStep, *, controls: bool
) -> Swings:
    case = imported(emt, tmp_path, system, solved)
    elements = case["elements"]
    for m in system.machines if controls else ():
        machine = {"machine": f"G{m.bus}"}
        elements.append({"type": "governor", "name": f"GOV{m.bus}", "model": "TGOV1"} | machine | GOVERNOR)
        elements.append({"type": "exciter", "name": f"EXC{m.bus}", "model": "AC4A"} | machine | EXCITER)
    if isinstance(event, Fault):
        kv = next(row[4] for row in system.buses if row[0] == event.bus)
        ohm = kv**2 / 100
        times = [{"time": BEGIN_S, "action": "close"}, {"time": CLEARED_S, "action": "open"}]
        switch = {"buses": [f"B{event.bus}", "FAULT"], "r_on": event.r * ohm or 1e-4, "operations": times}
        if event.x:
            case["buses"].append("FAULT")
            elements.append(
                {"type": "inductor", "name": "X", "buses": ["FAULT", "0"], "l": event.x * ohm / (120 * math.pi)}
            )
        else:
            switch["buses"] = [f"B{event.bus}", "0"]
        elements.append({"type": "switch", "name": "S"} | switch)
    else:
        step = {"kind": "step", "amplitude": event.amplitude, "time": BEGIN_S}
        elements.append({"type": "block", "name": "base", "kind": "constant"})
        elements.append({"type": "block", "name": "step"} | step)
        elements.append({"type": "block", "name": f"G{event.bus}.efd", "kind": "sum", "inputs": ["base", "step"]})
    path = tmp_path / "swings.json"
    path.write_text(json.dumps(case))
    names = [f"G{m.bus}.{signal}" for signal in ("angle", "speed") for m in system.machines]
    waves = emt.sampled(path, tmp_path, round(SECONDS / DT_S), EVERY, names)
    both = np.column_stack([waves[name] for name in names])
    machines = len(system.machines)
    return Swings.of(system, np.array(waves["time"]), both[:, :machines], both[:, machines:])


@pytest.mark.parametrize("system", [NINE, THIRTY_NINE], ids=lambda s: s.name)
def test_same_power_flow(emt: Emt, andes: Andes, tmp_path: Path, system: System) -> None:
    solved = andes.solution(system)
    # It adds 1e-8 per unit to the resistance and reactance of each branch.
    branches = tuple((a, b, r + 1e-8, x + 1e-8, *rest) for a, b, r, x, *rest in system.branches)
    path = tmp_path / "flow.json"
    path.write_text(json.dumps(imported(emt, tmp_path, replace(system, branches=branches), solved)))
    buses = [(int(row[0]), row[4] * 1e3 * math.sqrt(2 / 3)) for row in system.buses]
    waves = emt.waves(path, tmp_path, 1, [f"B{bus}.{phase}" for bus, _ in buses for phase in "abc"])
    off = []
    for bus, peak in buses:
        a, b, c = (waves[f"B{bus}.{phase}"][0] / peak for phase in "abc")
        found = complex((2 * a - b - c) / 3, (b - c) / math.sqrt(3))
        v, angle = solved[bus]
        off.append(abs(found - v * np.exp(1j * math.radians(angle))))
    print(f"\n{system.name}: voltages differ by at most {max(off):.1e} per unit")
    assert max(off) < 1e-12


@dataclass(frozen=True)
class Comparison:
    """Bounds of the difference of angles: of their largest swing, and of speeds, per unit."""

    system: System
    event: Fault | FieldStep
    controls: bool
    part: float
    speed: float

    def __str__(self) -> str:
        size = f"{self.event.amplitude}" if isinstance(self.event, FieldStep) else f"x{self.event.x}-r{self.event.r}"
        how = "controlled" if self.controls else "free"
        return f"{self.system.name}-{type(self.event).__name__}-{size}-{how}"


COMPARED = (
    Comparison(NINE, Fault(7, 0.01), controls=False, part=0.16, speed=6e-3),
    Comparison(NINE, Fault(7, r=0.2), controls=True, part=0.05, speed=1e-3),
    Comparison(THIRTY_NINE, Fault(16, r=0.05), controls=False, part=0.02, speed=1e-4),
)
COMPARED_LONG = (
    Comparison(NINE, FieldStep(2, 0.3), controls=False, part=0.03, speed=2e-3),
    Comparison(NINE, Fault(7, 0.1), controls=False, part=0.09, speed=3e-3),
    Comparison(NINE, Fault(7, 0.01), controls=True, part=0.13, speed=4e-3),
    Comparison(NINE, Fault(7, r=0.2), controls=False, part=0.01, speed=1e-3),
    Comparison(THIRTY_NINE, FieldStep(38, 0.5), controls=False, part=0.03, speed=1e-3),
    Comparison(THIRTY_NINE, Fault(16, 0.005), controls=False, part=0.06, speed=3e-3),
    Comparison(THIRTY_NINE, Fault(16, 0.005), controls=True, part=0.1, speed=2e-3),
)


@pytest.mark.parametrize("c", [*COMPARED, *(pytest.param(c, marks=pytest.mark.long) for c in COMPARED_LONG)], ids=str)
def test_swings_beside_andes(emt: Emt, andes: Andes, tmp_path: Path, c: Comparison) -> None:
    solved = andes.solution(c.system)
    ours = our_swings(emt, tmp_path, c.system, solved, c.event, controls=c.controls)
    theirs = andes.swings(c.system, solved, c.event, controls=c.controls).at(ours.time)
    start = float(np.abs(ours.angle[0] - theirs.angle[0]).max())
    swing = float(np.ptp(theirs.angle, axis=0).max())
    off = float(np.abs(ours.angle - theirs.angle).max())
    speed, largest = float(np.abs(ours.speed - theirs.speed).max()), float(np.abs(theirs.speed - 1).max())
    first = ours.time < BEGIN_S + 1
    early = float(np.abs(ours.angle - theirs.angle)[first].max())
    print(
        f"\n{c}: angles differ by {start:.4f} degrees at the start, {early:.2f} in the first second, {off:.2f} in all, "
        f"of a swing of {swing:.1f}: {off / swing:.3f}; speeds by {speed:.5f} of {largest:.5f}"
    )
    assert start < 2e-3
    assert swing > 5
    assert off < c.part * swing
    assert speed < c.speed
