"""Random networks of all elements against a dense reference, another method that shares nothing with the simulator.

``emt_app/docs/accuracy.md`` has the numbers that the long tests print (``pytest -s``).
"""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.tiers import long

from .circuit_currents import Energies, channels, currents_into_nodes
from .conftest import Emt
from .random_circuits import KINDS, STEPS, STUDY_DT_S, random_circuit
from .random_networks import side_by_side
from .reference_errors import Case, Errors, errors, simulate

STARTS = ("zero", "steady")


def circuits(kind: str, start: str, count: int, **settings: Any) -> list[Case]:
    return [random_circuit(seed, kind, start=start, **settings) for seed in range(1, count + 1)]


@pytest.mark.parametrize(("kind", "start"), list(product(KINDS, STARTS)))
def test_random_networks_against_the_dense_reference(emt: Emt, tmp_path: Path, kind: str, start: str) -> None:
    """Switches, faults and sources that act at steps, fronts on lines, arresters, cores, diodes: order 2."""
    seen = errors(emt, circuits(kind, start, 15), tmp_path, STEPS)
    assert np.median(seen.of[:, 0]) < 2e-3
    assert 1.9 < np.median(seen.orders()) < 2.1, seen.orders()


@pytest.mark.parametrize("kind", KINDS)
def test_operations_between_steps(emt: Emt, tmp_path: Path, kind: str) -> None:
    """A third of a step after one, so also of a quarter of it: errors of these two are compared."""
    seen = errors(emt, circuits(kind, "zero", 15, between_steps=True), tmp_path, STEPS)
    assert np.median(seen.of[:, 0]) < 1e-2
    assert 1.9 < np.median(seen.orders(0)) < 2.1, seen.orders(0)


@long
def test_hundreds_of_random_networks(emt: Emt, tmp_path: Path) -> None:
    """300 networks that act at steps and 150 that act between them."""
    groups = {
        (kind, start): errors(emt, circuits(kind, start, 50), tmp_path, STEPS) for kind, start in product(KINDS, STARTS)
    }
    for (kind, start), seen in groups.items():
        print("\n" + seen.table(f"{kind}, {start}"), end="")
    together = Errors(np.concatenate([seen.of for seen in groups.values()]))
    print("\n" + together.table("all"), end="")
    assert 1.99 < np.median(together.orders()) < 2.01
    assert np.percentile(together.orders(), 5) > 1.8
    between = Errors(
        np.concatenate(
            [errors(emt, circuits(kind, "zero", 50, between_steps=True), tmp_path, STEPS).of for kind in KINDS]
        )
    )
    print("\n" + between.table("between steps", 0))
    assert 1.95 < np.median(between.orders(0)) < 2.05


def _without_instants(case: Case) -> Case | None:
    """The same without poles that move inside steps; None where there are diodes."""
    if any(e["type"] == "diode" for e in case["elements"]):
        return None
    gone = {"fault": ("stop",), "switch": ("current_zero",)}
    kept = [{k: v for k, v in e.items() if k not in gone.get(e["type"], ())} for e in case["elements"]]
    return case | {"elements": kept}


def _jumps(case: Case, dt_s: float) -> set[int]:
    """Steps that begin with an event."""
    elements = case["elements"]
    times = {0.0} | {e["start"] for e in elements if "start" in e}
    times |= {o["time"] for e in elements for o in e.get("operations", ())}
    return {n for n in (round(t / dt_s) for t in times) if n < round(STEPS * STUDY_DT_S / dt_s)}


@pytest.mark.parametrize(("kind", "start"), list(product(KINDS, STARTS)))
def test_currents_meet_in_every_node(emt: Emt, tmp_path: Path, kind: str, start: str) -> None:
    """The channels of all elements, with their directions, at every step."""
    cases = [case for seed in range(1, 12) if (case := _without_instants(random_circuit(seed, kind, start=start)))]
    case = side_by_side(cases)
    waves = simulate(emt, case, tmp_path, STEPS, channels(case))
    largest = max(np.abs(wave).max() for name, wave in waves.items() if name.split(".")[-1].startswith("i"))
    first = 1 if start == "zero" else 0  # before a start from zero sources are what they are, and nothing flows
    for name, left in currents_into_nodes(case, waves).items():
        assert np.abs(left[first:]).max() < 1e-9 * largest, name


def test_channels_are_the_same_from_any_rank(emt: Emt, tmp_path: Path) -> None:
    case = side_by_side(circuits("lines", "zero", 4))
    path = tmp_path / "case.json"
    path.write_text(json.dumps(case))
    probes = [word for name in channels(case) for word in ("--probe", name)]
    shown = []
    for ranks in (1, 2):
        csv = tmp_path / f"{ranks}.csv"
        emt.run(
            path, tmp_path, "--steps", str(STEPS), "--every", "7", "--no-replay", "--csv", csv, *probes, ranks=ranks
        )
        shown.append(csv.read_text())
    assert ".energy" in shown[0] and ".flux" in shown[0]
    assert shown[0] == shown[1]


@pytest.mark.parametrize(("kind", "part", "seeds"), [("one phase", 64, (6, 10)), ("three phases", 64, (1, 3))])
def test_energy_is_balanced(emt: Emt, tmp_path: Path, kind: str, part: int, seeds: tuple[int, ...]) -> None:
    """Energy of sources equals heat of resistances and arresters plus energy of inductances, capacitances and cores,
    with switches that jump: to 10⁻⁶ of the transferred energy at a step of 0.8 µs."""
    for seed in seeds:
        _balance(emt, tmp_path, kind, part, seed)


@long
def test_energy_is_balanced_in_many(emt: Emt, tmp_path: Path) -> None:
    """The loss of the half steps after a jump is numerical; it falls with the square of the step."""
    balanced = [_balance(emt, tmp_path, kind, 64, seed) for kind in KINDS[:2] for seed in range(1, 16)]
    left = [rest for rest in balanced if rest is not None]
    print(f"\nenergy: {len(left)} networks, largest rest {max(left):.1e}, median {np.median(left):.1e}")


def _balance(emt: Emt, tmp: Path, kind: str, part: int, seed: int) -> float | None:
    case = _without_instants(random_circuit(seed, kind))
    if case is None:
        return None
    dt_s = STUDY_DT_S / part
    energies = Energies(case, simulate(emt, case, tmp, STEPS, channels(case), part), dt_s, _jumps(case, dt_s))
    left = abs(energies.delivered() - energies.taken()) / energies.turned_over()
    assert left < 1e-6, (kind, seed)
    return left
