"""The same networks in independent programs: ngspice and DPsim."""

from __future__ import annotations

import cmath
import math
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from . import dpsim_machine
from .conftest import CaseWriter, Emt


def rms(a: list[float], b: list[float]) -> float:
    assert len(a) == len(b)
    return math.sqrt(sum((x - y) ** 2 for x, y in zip(a, b, strict=True)) / len(a))


def ngspice(netlist: str, tmp_path: Path, node: str, step_s: float, stop_s: float) -> list[float]:
    """Voltage of a node, V, at every step_s; the program's own steps are much shorter."""
    if shutil.which("ngspice") is None:
        pytest.skip("not provided here: ngspice")
    (tmp_path / "net.cir").write_text(
        f"* cross-check\n{netlist}\n.options reltol=1e-7 abstol=1e-12 vntol=1e-9 method=trap\n"
        f".tran {step_s} {stop_s} 0 {step_s / 20} uic\n.control\nset wr_singlescale\nset wr_vecnames\n"
        f"set numdgt=14\nrun\nlinearize v({node})\nwrdata out.txt v({node})\n.endc\n.end\n"
    )
    done = subprocess.run(["ngspice", "-b", "net.cir"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (tmp_path / "out.txt").exists(), done.stdout + done.stderr
    rows = (tmp_path / "out.txt").read_text().splitlines()[1:]
    return [float(row.split()[1]) for row in rows]


Z_OHM, TAU_S = 500.0, 200e-6
LOSSLESS = f"T1 s 0 r 0 Z0={Z_OHM} TD={TAU_S}"
LOSSY_OHM = 120.0
LOSSY = (  # the program's own model: half the line on either side of half the resistance
    f"RA s m {LOSSY_OHM / 4}\nT1 m 0 n 0 Z0={Z_OHM} TD={TAU_S / 2}\nRB n o {LOSSY_OHM / 2}\n"
    f"T2 o 0 p 0 Z0={Z_OHM} TD={TAU_S / 2}\nRC p r {LOSSY_OHM / 4}"
)


@pytest.mark.parametrize(("r_ohm", "line"), [(0, LOSSLESS), (LOSSY_OHM, LOSSY)], ids=["lossless", "lossy"])
def test_line_and_load_against_ngspice(
    emt: Emt, case_file: CaseWriter, tmp_path: Path, r_ohm: float, line: str
) -> None:
    """A sine through a line into R, L and C: the difference falls with the square of the step.

    All phases get the same voltage, so each sees the zero-sequence surge impedance. The travel time is 200 µs, a whole
    number of every step used.
    """
    zero = {"l0": Z_OHM * TAU_S / 1e5, "c0": TAU_S / Z_OHM / 1e5, "r0": r_ohm / 1e5}
    elements: list[dict[str, Any]] = [
        {"type": "voltage_source", "name": f"E{p}", "to": f"S.{p}", "r": 20, "amplitude": 1000, "phase": -90}
        for p in "abc"
    ]
    elements += [
        {"type": "line", "name": "L", "from": "S", "to": "R", "length": 1e5}
        | zero
        | {"l1": zero["l0"], "c1": zero["c0"], "r1": zero["r0"]},
        {"type": "resistor", "name": "Rl", "buses": ["R", "0"], "r": 400},
        {"type": "inductor", "name": "Ll", "buses": ["R", "0"], "l": 0.3},
        {"type": "capacitor", "name": "Cl", "buses": ["R", "0"], "c": 2e-6},
    ]
    netlist = f"V1 e 0 SIN(0 1000 60)\nR1 e s 20\n{line}\nR2 r 0 400\nL2 r 0 0.3 IC=0\nC2 r 0 2u IC=0"
    stop = 0.02
    errors = []
    for step in (100e-6, 50e-6, 25e-6):
        case = case_file(elements, dt=step, start="zero", buses=["S", "R"])
        ours = emt.waves(case, tmp_path, round(stop / step), ["R.a"])["R.a"]
        theirs = ngspice(netlist, tmp_path, "r", step, stop)
        errors.append(rms(ours, theirs[: len(ours)]))
    assert errors[0] < 2.0
    assert 3.4 < errors[0] / errors[1] < 4.6, errors
    assert 3.4 < errors[1] / errors[2] < 4.6, errors


def test_energisation_against_ngspice(emt: Emt, case_file: CaseWriter, tmp_path: Path) -> None:
    """A hard start: a breaker closes on a charged source. First order is all that can be asked."""
    elements: list[dict[str, Any]] = [
        {"type": "voltage_source", "name": "E", "to": "a", "r": 5, "l": 0.02, "shape": "step", "amplitude": 100},
        {"type": "capacitor", "name": "C", "nodes": ["a", "0"], "c": 10e-6},
        {"type": "resistor", "name": "R", "nodes": ["a", "0"], "r": 200},
    ]
    netlist = "V1 e 0 DC 100\nR1 e f 5\nL1 f a 0.02 IC=0\nC1 a 0 10u IC=0\nR2 a 0 200"
    errors = []
    for step in (20e-6, 5e-6):
        case = case_file(elements, dt=step, start="zero", nodes=["a"])
        ours = emt.waves(case, tmp_path, round(0.01 / step), ["a"])["a"]
        errors.append(rms(ours[1:], ngspice(netlist, tmp_path, "a", step, 0.01)[1 : len(ours)]))
    assert errors[0] < 0.1
    assert errors[1] < errors[0] / 3


def test_same_companions_as_dpsim(emt: Emt, case_file: CaseWriter, tmp_path: Path, monkeypatch: Any) -> None:
    """DPsim uses the same trapezoidal companions: agreement to rounding, also of a mesh with floating branches."""
    dpsim = pytest.importorskip("dpsimpy", reason="not provided here: dpsim")
    monkeypatch.chdir(tmp_path)  # DPsim writes its logs where it stands
    step, steps = 50e-6, 400
    case = case_file(
        [
            {"type": "voltage_source", "name": "E", "to": "b", "r": 10, "amplitude": 100, "phase": -90},
            {"type": "inductor", "name": "L1", "nodes": ["b", "c"], "l": 0.05},
            {"type": "capacitor", "name": "C1", "nodes": ["c", "0"], "c": 20e-6},
            {"type": "capacitor", "name": "C2", "nodes": ["b", "d"], "c": 5e-6},
            {"type": "inductor", "name": "L2", "nodes": ["d", "0"], "l": 0.2},
            {"type": "resistor", "name": "R2", "nodes": ["d", "c"], "r": 50},
        ],
        dt=step,
        start="zero",
        nodes=["b", "c", "d"],
    )
    ours = emt.waves(case, tmp_path, steps, ["b", "c", "d"])
    ph1, ground = dpsim.emt.ph1, dpsim.emt.SimNode.gnd
    node = {name: dpsim.emt.SimNode(name) for name in "abcd"}
    source = ph1.VoltageSource("E")
    source.set_parameters(complex(0, -100), 60)
    source.connect([ground, node["a"]])
    parts = [source]
    for kind, name, value, p, q in (
        (ph1.Resistor, "R1", 10.0, node["a"], node["b"]),
        (ph1.Inductor, "L1", 0.05, node["b"], node["c"]),
        (ph1.Capacitor, "C1", 20e-6, node["c"], ground),
        (ph1.Capacitor, "C2", 5e-6, node["b"], node["d"]),
        (ph1.Inductor, "L2", 0.2, node["d"], ground),
        (ph1.Resistor, "R2", 50.0, node["d"], node["c"]),
    ):
        part = kind(name)
        part.set_parameters(value)
        part.connect([p, q])
        parts.append(part)
    simulation = dpsim.Simulation("cross_check")
    simulation.set_system(dpsim.SystemTopology(60, [ground, *node.values()], parts))
    simulation.set_domain(dpsim.Domain.EMT)
    simulation.set_time_step(step)
    simulation.set_final_time(step * (steps + 1))
    simulation.start()
    worst = 0.0
    for n in range(steps + 1):
        for name in "bcd":
            value = simulation.get_idobj_attr(name, "v").get()
            theirs = float(value[0][0]) if hasattr(value, "__getitem__") else float(value)
            worst = max(worst, abs(theirs - ours[name][n]))
        simulation.next()
    simulation.stop()
    assert worst < 1e-10  # of 100 V: 1e-12 relative


def test_machine_as_in_dpsim(emt: Emt, case_file: CaseWriter, tmp_path: Path, monkeypatch: Any) -> None:
    """Load is added to a generator: DPsim's full-order model, whose current enters its network a step late. The
    difference falls with the step; before the load is added there is none."""
    dpsim = pytest.importorskip("dpsimpy", reason="not provided here: dpsim")
    monkeypatch.chdir(tmp_path)  # DPsim writes its logs where it stands
    before, after = [], []
    for step in (100e-6, 50e-6, 25e-6):
        n, v, i = dpsim_machine.simulate(dpsim, step)
        angle = cmath.phase(v[0]) - dpsim_machine.OMEGA * n[0] * step
        case = case_file(dpsim_machine.elements(math.degrees(angle)), dt=step, buses=["B"])
        ours = emt.waves(case, tmp_path, int(n[-1]), [f"G.{p}.i" for p in "abc"])
        current = dpsim_machine.space_vector(*(ours[f"G.{p}.i"] for p in "abc"))[n]
        differs = abs(current - i) / dpsim_machine.PER_UNIT_A
        time = n * step
        before.append(float(differs[time < dpsim_machine.LOADED_S - 1e-3].max()))
        after.append(float(differs[time > dpsim_machine.LOADED_S + 2e-3].max()))
    print("\nmachine, per unit:", *(f"{x:.1e}" for x in before), *(f"{x:.1e}" for x in after))
    assert max(before) < 1e-7
    assert after[0] < 3e-3
    assert 1.8 < after[0] / after[1] < 2.4
    assert 1.8 < after[1] / after[2] < 2.4
