"""Random networks of all elements against a dense reference, which is another method and shares nothing with the simulator.

``emt_app/docs/accuracy.md`` has the numbers that the long test writes.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from .conftest import Emt
from .dense_reference import DenseReference
from .random_circuits import KINDS, STEPS, STUDY_DT_S, random_circuit
from .random_networks import side_by_side

Case = dict[str, Any]
#: Steps of the reference in one of the study.
FINE = 4
#: Of the study's step: the lengths that errors are seen at.
HALVINGS = 3


def names_of(case: Case) -> list[str]:
    return [f"{bus}.{phase}" for bus in case["buses"] for phase in "abc"] + list(case["nodes"])


def voltages(emt: Emt, cases: Sequence[Case], tmp: Path, halvings: int = HALVINGS) -> list[dict[str, NDArray[np.float64]]]:
    """Voltages of all nodes at every step of the study, simulated with it and with halves of it; side by side in one run each."""
    together = side_by_side(cases)
    path = tmp / "networks.json"
    path.write_text(json.dumps(together))
    out = []
    for k in range(halvings):
        csv = tmp / "networks.csv"
        probes = [word for name in names_of(together) for word in ("--probe", name)]
        settings = ("--dt", repr(STUDY_DT_S / 2**k), "--steps", str(STEPS << k), "--every", str(1 << k), "--no-replay")
        result = emt.run(path, tmp, *settings, "--csv", csv, *probes)
        assert result["unsettled"] == 0
        rows = np.loadtxt(csv, delimiter=",", skiprows=1)
        out.append({name: rows[:, 1 + i] for i, name in enumerate(names_of(together))})
    return out


@dataclass(frozen=True)
class Error:
    """Root mean square over all nodes and steps, as a part of that of the voltages."""

    case: Case
    at: tuple[float, ...]  # the study's step, half of it, a quarter

    @property
    def order(self) -> float:
        return math.log2(self.at[-2] / self.at[-1])


def errors(emt: Emt, cases: Sequence[Case], tmp: Path) -> list[Error]:
    ours = voltages(emt, cases, tmp)
    out = []
    for case in cases:
        reference = DenseReference(case, STUDY_DT_S / FINE)
        exact = reference.run(FINE * STEPS)[::FINE]
        scale = float(np.sqrt(np.mean(exact**2)))
        at = [
            math.sqrt(float(np.mean([np.mean((run[name] - exact[:, i]) ** 2) for i, name in enumerate(reference.names)])))
            for run in ours
        ]
        out.append(Error(case, tuple(a / scale for a in at)))
    return out
