"""Errors of simulations with shorter and shorter steps against the dense reference."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .circuit_currents import Waves, names_of
from .conftest import Emt
from .dense_reference import DenseReference
from .random_networks import side_by_side

Case = dict[str, Any]
#: Steps of the reference in one of the case, and lengths of step that errors are seen at, as parts of the case's.
FINE = 4
PARTS = (1, 2, 4)
#: Fraction of the voltages' root mean square: after such a jump two values are right, so the instant is not compared.
JUMP = 1e-3


def simulate(
    emt: Emt, case: Case, tmp: Path, steps: int, probes: Sequence[str], part: int = 1, every: int = 1
) -> Waves:
    """Return the probed values of so many steps of the case, with a step divided by this part."""
    path, csv = tmp / "case.json", tmp / "waves.csv"
    path.write_text(json.dumps(case))
    words = [word for name in probes for word in ("--probe", name)]
    settings = ("--dt", repr(case["dt"] / part), "--steps", str(steps * part), "--every", str(every), "--no-replay")
    assert emt.run(path, tmp, *settings, "--csv", csv, *words)["unsettled"] == 0
    rows = np.loadtxt(csv, delimiter=",", skiprows=1)
    return {name: rows[:, i] for i, name in enumerate(["time", *probes])}


@dataclass(frozen=True)
class Errors:
    """Return each network's root mean square error over nodes and steps, relative to the voltages; a column a part."""

    of: NDArray[np.float64]

    def orders(self, first: int = 1) -> NDArray[np.float64]:
        """Return the orders of the errors above rounding, between one of PARTS and the last."""
        inexact = self.of[self.of[:, -1] > 1e-11]
        out: NDArray[np.float64] = np.log2(inexact[:, first] / inexact[:, -1]) / (len(PARTS) - 1 - first)
        return out

    def table(self, what: str, first: int = 1) -> str:
        columns = [self.of[:, k] for k in range(len(PARTS))]
        at = " / ".join(f"{np.median(column):.1e}, {np.percentile(column, 95):.1e}" for column in columns)
        least, five, half = np.percentile(self.orders(first), (0, 5, 50))
        return f"{what}: {len(self.of)} networks, error {at}, order {half:.2f}, {five:.2f}, {least:.2f}"


def errors(emt: Emt, cases: Sequence[Case], tmp: Path, steps: int, *, arrivals: bool = True) -> Errors:
    """All simulated side by side; the reference has them one by one. Without ``arrivals`` no instant is compared at
    which a front arrives anywhere or something else happens."""
    together = side_by_side(cases)
    names = names_of(together)
    ours = [simulate(emt, together, tmp, steps, names, part, every=part) for part in PARTS]
    return Errors(np.array([_errors_of(case, ours, steps, arrivals) for case in cases]))


def _errors_of(case: Case, ours: Sequence[Waves], steps: int, arrivals: bool) -> list[float]:
    reference = DenseReference(case, case["dt"] / FINE)
    before = reference.run(FINE * steps)[::FINE]
    after = reference.after[::FINE]
    scale = float(np.sqrt(np.mean(before**2)))
    steady = np.abs(after - before).max(axis=1) < JUMP * scale
    if not arrivals:
        steady &= ~reference.happens[::FINE]
    steady[-1] = False  # what comes after it is not known
    low, high = np.minimum(before, after), np.maximum(before, after)
    out = []
    for run in ours:
        v = np.array([run[name] for name in reference.names]).T
        out.append(math.sqrt(float(np.mean((v - np.clip(v, low, high))[steady] ** 2))) / scale)
    return out
