"""The reference network with all machines and controllers for a minute, at rest and after a short circuit."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from .conftest import Emt

pytestmark = pytest.mark.long  # three minutes of simulated time

MINUTE_S, DT_S, EVERY = 60, 50e-6, 400  # a row each 20 ms
FAULT_BUS, FAULT_S, CLEARED_S = "S30", 1.0, 1.1
RATED_KV = {"735": range(60), "315": range(60, 150), "120": range(150, 172)}


class Run:
    """Signals of a simulation, per unit: speeds and terminal voltages of machines, voltages of substations."""

    def __init__(self, emt: Emt, folder: Path, *options: str, seconds: float = MINUTE_S) -> None:
        path = folder / "case.json"
        emt("generate", "hq", *options, "-o", path)
        case = json.loads(path.read_text())
        names = [e["name"] for e in case["elements"] if e["type"] == "synchronous_machine"]
        buses = []
        for kv, stations in RATED_KV.items():
            for station in stations:
                peak = float(kv) * 1e3 * (2 / 3) ** 0.5
                measured = {"quantity": "magnitude", "bus": f"S{station}", "base": peak}
                case["elements"].append({"type": "measurement", "name": f"V{station}"} | measured)
                buses.append(f"V{station}")
        path.write_text(json.dumps(case))
        probes = [f"{name}.speed" for name in names] + [f"{name}.vt" for name in names] + buses
        waves = emt.sampled(path, folder, round(seconds / DT_S), EVERY, probes)
        self.time = waves["time"]
        self.speeds = {name: waves[f"{name}.speed"] for name in names}
        self.terminals = {name: waves[f"{name}.vt"] for name in names}
        self.buses = {name: waves[name] for name in buses}
        self.result = json.loads((folder / "result.json").read_text())

    def during(self, begin_s: float, end_s: float) -> slice:
        rows = [i for i, t in enumerate(self.time) if begin_s <= t <= end_s]
        return slice(rows[0], rows[-1] + 1)


def spread(signals: Mapping[str, Sequence[float]], rows: slice) -> float:
    """The largest range of any of the signals."""
    return max(max(values[rows]) - min(values[rows]) for values in signals.values())


def test_nothing_moves_in_a_minute(emt: Emt, tmp_path: Path) -> None:
    run = Run(emt, tmp_path)
    assert run.result["simplified"] == {}
    whole = run.during(0, MINUTE_S)
    moved = {kind: spread(getattr(run, kind), whole) for kind in ("speeds", "terminals", "buses")}
    print(f"\nlargest change within {MINUTE_S} s, per unit: {moved}")
    assert max(moved.values()) < 1e-8


def test_a_short_circuit_is_ridden_through(emt: Emt, tmp_path: Path) -> None:
    run = Run(emt, tmp_path, "--fault", FAULT_BUS)
    fault = run.during(FAULT_S + 0.03, CLEARED_S)
    assert max(run.buses[f"V{FAULT_BUS[1:]}"][fault]) < 0.02
    hertz = [60 * min(map(min, run.speeds.values())), 60 * max(map(max, run.speeds.values()))]
    later = run.during(CLEARED_S + 3, MINUTE_S)
    lowest = min(min(values[later]) for values in run.buses.values())
    highest = max(max(values[later]) for values in run.buses.values())
    print(f"\n{hertz[0]:.2f} to {hertz[1]:.2f} Hz; voltages {lowest:.3f} to {highest:.3f} from 3 s after the fault on")
    assert 60 - 1.5 < hertz[0] < 59.99 and 60.01 < hertz[1] < 60 + 1.5
    assert lowest > 0.9 and highest < 1.1
    # Swings die: each quarter of a minute moves less than the one before, and all are together and near 60 Hz at last.
    quarters = [spread(run.speeds, run.during(begin, begin + 15)) for begin in (0, 15, 30, 45)]
    print("range of any speed within 15 s, per unit:", quarters)
    assert quarters[1] < quarters[0] / 10 and quarters[3] < quarters[1]
    last = [values[-1] for values in run.speeds.values()]
    assert max(abs(speed - 1) for speed in last) < 2e-4


@pytest.mark.parametrize(("seed", "bus"), [("1", "S12"), ("2", "S45"), ("3", "S12"), ("4", "S30"), ("5", "S0")])
def test_other_networks_ride_through_faults_elsewhere(emt: Emt, tmp_path: Path, seed: str, bus: str) -> None:
    run = Run(emt, tmp_path, "--seed", seed, "--fault", bus, seconds=12)
    assert min(run.buses[f"V{bus[1:]}"]) < 0.02
    ends = [60 * values[-1] for values in run.speeds.values()]
    levels = [values[-1] for values in run.buses.values()]
    print(
        f"\nseed {seed}, {bus}: at last {min(ends):.3f} to {max(ends):.3f} Hz, {min(levels):.3f} to {max(levels):.3f}"
    )
    assert max(abs(hertz - 60) for hertz in ends) < 0.05
    assert min(levels) > 0.9 and max(levels) < 1.1
