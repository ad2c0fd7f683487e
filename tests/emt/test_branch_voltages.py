"""Voltages of elements with two terminals, those of their nodes: on the teaching cases, which have most kinds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.emt.conftest import APP, Emt

#: All but the one that has a source and an SVC.
CASES = {path.stem: path for path in sorted((APP / "cases").glob("*.json")) if path.stem != "svc_step"}


@pytest.mark.parametrize("case", CASES)
def test_voltage_of_a_branch_is_that_of_its_nodes(emt: Emt, tmp_path: Path, case: str) -> None:
    described = json.loads(CASES[case].read_text())
    terminals = {e["name"]: e.get("nodes") or e.get("buses") for e in described["elements"]}
    listed = [line.split("\t") for line in emt("channels", CASES[case]).stdout.splitlines()]
    ends: dict[str, tuple[str, str]] = {}
    for name, unit in (each for each in listed if each[0].endswith(".u")):
        assert unit == "V"
        element, _, phase = name.removesuffix(".u").rpartition(".")
        if terminals.get(element):  # of three phases
            ends[name] = tuple(end if end == "0" else f"{end}.{phase}" for end in terminals[element])  # type: ignore[assignment]
        elif terminals.get(phase):
            ends[name] = tuple(terminals[phase])
    assert ends
    nodes = sorted({node for pair in ends.values() for node in pair} - {"0"})
    shown = emt.waves(CASES[case], tmp_path, 50, [*ends, *nodes]) | {"0": [0.0] * 51}
    for name, (p, q) in ends.items():
        assert shown[name] == [a - b for a, b in zip(shown[p], shown[q], strict=True)], name
