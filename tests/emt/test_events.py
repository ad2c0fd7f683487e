"""Single events and elements against the dense reference; ``emt_app/docs/accuracy.md`` has the numbers they print."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from .conftest import Emt
from .dense_reference import DenseReference
from .random_circuits import KINDS, STEPS, STUDY_DT_S, random_circuit
from .reference_errors import FINE, PARTS, Case, Errors, errors, simulate

DT_S = 5e-5
#: After half a millisecond and a third of the step: errors at a step and at a quarter of it can be compared.
BETWEEN_S = 10 * DT_S + DT_S / 3


def case_of(*elements: dict[str, Any], nodes: str = "", buses: str = "", dt: float = DT_S, **more: Any) -> Case:
    named = [{"name": f"X{i}", **e} for i, e in enumerate(elements)]
    case: Case = {"format": "kappa-emt-case", "version": 1, "dt": dt, "frequency": 60.0, "start": "zero"}
    return case | {"nodes": nodes.split(), "buses": buses.split(), "elements": named} | more


def element(kind: str, first: str, second: str = "0", **keys: Any) -> dict[str, Any]:
    return {"type": kind, "nodes": [first, second], **keys}


def arrester_curve(segments: int, top_v: float, top_a: float, alpha: float) -> list[list[float]]:
    """i = k·u^α from 0.4 of the top."""
    volts = [top_v * (0.4 + 0.6 * (k + 1) / segments) for k in range(segments)]
    return [[u, top_a * (u / top_v) ** alpha] for u in volts]


def shown(what: str, seen: Errors, first: int = 1) -> float:
    print("\n" + what, *(f"{e:.1e}" for e in seen.of[0]), f"order {seen.orders(first)[0]:.2f}")
    return float(seen.orders(first)[0])


def test_surge_into_an_arrester_of_twelve_segments(emt: Emt, tmp_path: Path) -> None:
    """A double exponential through an inductance to an arrester beside a capacitance, and both to the next one."""
    curve = arrester_curve(12, 1000, 2000, 12)
    surge = {"shape": "double_exponential", "amplitude": 4000, "tau_front": 20e-6, "tau_tail": 200e-6}
    case = case_of(
        {"type": "voltage_source", "to": "s", "r": 10, **surge},
        element("inductor", "s", "a", l=5e-4),
        element("capacitor", "a", c=2e-8),
        element("arrester", "a", curve=curve),
        element("inductor", "a", "b", l=1e-3),
        element("capacitor", "b", c=2e-8),
        element("arrester", "b", curve=curve),
        element("resistor", "b", r=1000),
        nodes="s a b",
        dt=1e-6,
    )
    seen = errors(emt, [case], tmp_path, 300)
    assert 1.85 < shown("arresters of 12 segments", seen) < 2.15
    assert seen.of[0, 0] < 5e-3


@pytest.mark.parametrize("segments", [12, 30])
def test_steep_surges_settle_and_obey_the_characteristic(emt: Emt, tmp_path: Path, segments: int) -> None:
    """A step and a fast sine of many times the usual voltage into a ring of unequal arresters without capacitance: the
    working points are algebraic, and most steps cross more segments than five rounds do. ``simulate`` demands that none
    was left unsettled."""

    def arrester(first: str, second: str, *top: float) -> dict[str, Any]:
        return element("arrester", first, second, curve=arrester_curve(segments, *top))

    case = case_of(
        {"type": "voltage_source", "to": "a", "r": 10, "shape": "step", "amplitude": 30000, "start": 5 * DT_S},
        {"type": "voltage_source", "to": "a", "r": 1, "amplitude": 9000, "frequency": 7000.0},
        *(element("resistor", *ends, r=r) for ends, r in (("ab", 5), ("bc", 0.01), ("cd", 5), ("ad", 50))),
        arrester("a", "0", 1000, 50, 12),
        arrester("b", "0", 300, 5000, 12),
        arrester("c", "0", 2000, 5000, 20),
        arrester("d", "0", 2000, 5000, 40),
        arrester("a", "c", 300, 5000, 5),
        arrester("b", "d", 200, 5000, 30),
        nodes="a b c d",
    )
    seen = errors(emt, [case], tmp_path, 60)
    assert seen.of[0, 0] < 1e-9


def energised(flux: list[float] | None, connection: str) -> Case:
    """A bank with steep saturation behind a breaker that closes on a weak source."""
    more = {} if flux is None else {"flux": flux}
    return case_of(
        {"type": "source", "bus": "E", "r1": 1.0, "l1": 0.02, "amplitude": 1000.0, "phase": -90.0},
        {"type": "switch", "buses": ["E", "P"], "operations": [{"time": 1e-3, "action": "close"}], "r_on": 0.01},
        {"type": "capacitor", "buses": ["P", "0"], "c": 2e-6, "r": 50.0},
        {
            "type": "transformer", "name": "T", "connection": connection, "primary": "P", "secondary": "S",
            "v1": 1224.7, "v2": 400.0, "r": 0.5, "l": 0.01, "rc": 5000.0,
            "saturation": [[2.2, 0.5], [2.8, 5.0], [3.2, 30.0], [3.6, 120.0]], **more,
        },
        {"type": "resistor", "buses": ["S", "0"], "r": 400.0},
        buses="E P S",
        dt=2e-5,
    )  # fmt: skip


@pytest.mark.parametrize("connection", ["YgD", "YgYg", "DYg"])
@pytest.mark.parametrize("flux", [None, [1.8, -0.9, -0.9]], ids=["", "remanent"])
def test_transformer_energising(emt: Emt, tmp_path: Path, connection: str, flux: list[float] | None) -> None:
    seen = errors(emt, [energised(flux, connection)], tmp_path, 2000)
    assert 1.8 < shown(f"energising {connection} {flux}", seen) < 2.2
    assert seen.of[0, 0] < 5e-3


def test_remanent_flux_makes_the_inrush(emt: Emt, tmp_path: Path) -> None:
    """A stiff sine from its zero upwards: ψ(t) = ψ0 + U/ω·(1 - cos ωt), and the current is the characteristic's."""
    omega = 120 * math.pi
    points = [[2.0, 0.4], [3.0, 20.0], [5.0, 400.0]]
    for flux in (0.0, 1.5, -1.0):
        coil = element("saturable_inductor", "a", curve=points, flux=flux)
        source = {"type": "voltage_source", "to": "a", "r": 1e-6, "amplitude": 500.0, "phase": -90.0}
        waves = simulate(emt, case_of(source, coil, nodes="a"), tmp_path, 333, ["X1.flux", "X1.i"])
        exact = flux + 500 / omega * (1 - np.cos(omega * waves["time"]))
        assert np.abs(waves["X1.flux"] - exact).max() < 1e-3
        x, y = np.array([[0.0, 0.0], *points]).T
        assert np.abs(waves["X1.i"] - np.sign(exact) * np.interp(np.abs(exact), x, y)).max() < 0.2  # of up to 290 A


def banks(interval_s: float, k: str = "") -> Case:
    """The second of two banks is switched to the first, and away at a zero of the current that rings between them."""
    times = [{"time": t, "action": a} for t, a in ((100e-6, "close"), (100e-6 + interval_s, "open"))]
    case = case_of(
        {"type": "voltage_source", "to": f"{k}s", "r": 0.2, "l": 2e-3, "amplitude": 1000.0},
        element("capacitor", f"{k}s", c=2e-4, r=0.05),
        element("switch", f"{k}s", f"{k}m", current_zero=True, r_on=1e-3, r_off=1e6, operations=times),
        element("inductor", f"{k}m", f"{k}b", l=2e-5, r=0.01),
        element("capacitor", f"{k}b", c=2e-4, r=0.05),
        element("resistor", f"{k}m", r=200.0),
        element("capacitor", f"{k}m", c=2e-6, r=5.0),
        nodes=f"{k}s {k}m {k}b",
        dt=1e-6,
        initial_voltage={f"{k}s": 1000.0},
    )
    for e in case["elements"]:
        e["name"] = k + e["name"]
    return case


@pytest.mark.long
def test_back_to_back_banks_open_at_the_current_zero(emt: Emt, tmp_path: Path) -> None:
    """Where in a step the zero lies is another at each step: the mean of several openings."""
    intervals_s = [200e-6 + 37e-6 * k for k in range(24)]
    seen = errors(emt, [banks(interval, f"k{k}") for k, interval in enumerate(intervals_s)], tmp_path, 1600)
    mean = Errors(np.sqrt(np.mean(seen.of**2, axis=0, keepdims=True)))
    assert 1.7 < shown("back to back", mean, 0) < 2.3
    assert mean.of[0, 0] < 2e-3
    current = np.abs(simulate(emt, banks(intervals_s[0]), tmp_path, 1600, ["X2.i"])["X2.i"])
    assert current.max() > 1000 and current[-1] < 1e-2


@pytest.mark.parametrize("shape", ["step", "sine", "double_exponential"])
@pytest.mark.parametrize("kind", ["voltage_source", "current_source"])
def test_a_source_that_starts_between_two_steps(emt: Emt, tmp_path: Path, kind: str, shape: str) -> None:
    """Not half a step late, nor early: order 2 through the start."""
    tails = {"tau_front": 3e-4, "tau_tail": 3e-3} if shape == "double_exponential" else {}
    inside = {"r": 20.0, "l": 0.02} if kind == "voltage_source" else {}
    amplitude = 1000.0 if kind == "voltage_source" else 10.0
    case = case_of(
        {"type": kind, "to": "a", "shape": shape, "amplitude": amplitude, "start": BETWEEN_S, **tails, **inside},
        element("capacitor", "a", c=1e-5, r=30.0),
        element("resistor", "a", r=200.0),
        element("inductor", "a", "b", l=0.05, r=5.0),
        element("resistor", "b", r=100.0),
        nodes="a b",
    )
    seen = errors(emt, [case], tmp_path, 200)
    assert 1.8 < shown(f"{kind}, {shape}, between steps", seen, 0) < 2.2
    assert seen.of[0, 0] < 2e-2


def test_a_switch_that_operates_between_two_steps(emt: Emt, tmp_path: Path) -> None:
    operations = [{"time": BETWEEN_S, "action": "close"}, {"time": BETWEEN_S + 61 * DT_S, "action": "open"}]
    case = case_of(
        {"type": "voltage_source", "to": "a", "r": 5.0, "l": 0.02, "amplitude": 1000.0},
        element("capacitor", "a", c=1e-5, r=30.0),
        {"type": "switch", "nodes": ["a", "b"], "r_on": 0.01, "operations": operations},
        element("inductor", "b", l=0.1, r=5.0),
        element("resistor", "b", r=300.0),
        element("capacitor", "b", c=5e-6, r=20.0),
        nodes="a b",
    )
    seen = errors(emt, [case], tmp_path, 200)
    assert 1.8 < shown("switch between steps", seen, 0) < 2.2
    assert seen.of[0, 0] < 1e-2


def fronts(*at_the_end: dict[str, Any], closes_s: float = 20 * DT_S, opens_s: float | None = None) -> Case:
    """A breaker sends steep fronts into a lossless line of ten steps; something is at its end."""
    tau_s, z_ohm = 10 * DT_S, 300.0
    per_m = {key: value / 1e5 for m in "01" for key, value in ((f"l{m}", z_ohm * tau_s), (f"c{m}", tau_s / z_ohm))}
    opening = [] if opens_s is None else [{"time": opens_s, "action": "open"}]
    return case_of(
        {"type": "source", "bus": "E", "r1": 20.0, "l1": 0.0, "amplitude": 1000.0, "phase": 20.0},
        {
            "type": "switch", "buses": ["E", "S"], "r_off": 1e5, "current_zero": True,
            "operations": [{"time": closes_s, "action": "close"}, *opening],
        },
        {"type": "resistor", "buses": ["S", "0"], "r": 1e4},
        {"type": "line", "from": "S", "to": "R", "length": 1e5, "r0": 0.0, "r1": 0.0, **per_m},
        {"type": "resistor", "buses": ["R", "0"], "r": 1e4},
        *at_the_end,
        buses="E S R",
    )  # fmt: skip


COIL = {"type": "inductor", "buses": ["R", "0"], "l": 0.3, "r": 10.0}
ARRESTER = {"type": "arrester", "buses": ["R", "0"], "curve": arrester_curve(12, 1200, 20, 12)}
CAPACITOR = {"type": "capacitor", "buses": ["R", "0"], "c": 1e-6}


@pytest.mark.parametrize(
    ("end", "order"),
    [((COIL,), 2.0), ((COIL, ARRESTER, CAPACITOR), 2.0), ((COIL, ARRESTER), 1.0)],
    ids=["linear", "arrester beside a capacitance", "arrester alone"],
)
def test_fronts_at_the_end_of_a_line(emt: Emt, tmp_path: Path, end: tuple[Any, ...], order: float) -> None:
    """Fronts come when they come. At that instant itself the wave is the mean of those before and after it: an arrester
    without capacitance meets it once, which gives not the mean of its currents."""
    seen = errors(emt, [fronts(*end)], tmp_path, 400, arrivals=False)
    assert abs(shown(f"fronts at {len(end)}", seen) - order) < 0.3
    assert seen.of[0, 0] < 1e-2


@pytest.mark.parametrize("part", [0.25, 0.75])
def test_fronts_of_a_closing_between_steps(emt: Emt, tmp_path: Path, part: float) -> None:
    """The current of a coil at the other end, which integrates what arrives. The reference steps to quarters."""
    coil = {"type": "inductor", "buses": ["R", "Q"], "l": 0.3}
    case = fronts(coil, {"type": "resistor", "buses": ["Q", "0"], "r": 300.0}, closes_s=(20 + part) * DT_S)
    case["buses"] = [*case["buses"], "Q"]
    reference = DenseReference(case, DT_S / FINE)
    exact = reference.run(FINE * 400)[::FINE]
    nodes = [i for i, name in enumerate(reference.names) if name.startswith("Q.")]
    seen = []
    for finer in PARTS:
        run = simulate(emt, case, tmp_path, 400, reference.names, finer, every=finer)
        v = np.array([run[reference.names[i]] for i in nodes]).T
        seen.append(float(np.sqrt(np.mean((v - exact[:, nodes]) ** 2) / np.mean(exact[:, nodes] ** 2))))
    order = math.log(seen[0] / seen[-1], PARTS[-1] / PARTS[0])
    print(f"\nfronts of a closing {part:.2f} between steps", *(f"{x:.1e}" for x in seen), f"order {order:.2f}")
    assert order > 1.8
    assert seen[0] < 1e-2


def test_fronts_of_an_opening_at_a_current_zero(emt: Emt, tmp_path: Path) -> None:
    """Between the kinks that fronts make in the breaker's current: no full order."""
    seen = errors(emt, [fronts(COIL, opens_s=150 * DT_S)], tmp_path, 400, arrivals=False)
    shown("fronts of an opening", seen)
    assert seen.of[0, -1] < seen.of[0, 0] / 3


@pytest.mark.parametrize("kind", KINDS)
def test_the_reference_is_finer_than_what_it_judges(kind: str) -> None:
    """A quarter of its step moves it by less than 10⁻⁶ of the voltages."""
    for seed in range(1, 6):
        case = random_circuit(seed, kind)
        coarse, fine = (DenseReference(case, STUDY_DT_S / part).run(STEPS * part)[::part] for part in (FINE, 4 * FINE))
        assert np.sqrt(np.mean((coarse - fine) ** 2)) <= 1e-6 * np.sqrt(np.mean(fine**2)), seed
