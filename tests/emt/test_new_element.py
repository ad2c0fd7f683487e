"""Adding an element and a primitive as docs/new-element.md says: files and lines of tables, nothing else."""

from __future__ import annotations

import json
import re
import shutil
from itertools import pairwise
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from .conftest import APP, Emt, build_emt, write_case

# It builds the application once more.
pytestmark = pytest.mark.long

STEPS = 1500
STEP = re.compile(r"(Write|add to) `(src/[^`]+)`:\n\n```cpp\n(.*?)```", re.DOTALL)


@pytest.fixture(scope="module")
def extended(tmp_path_factory: pytest.TempPathFactory) -> Emt:
    """The program with the elements of the page, built from a copy of the sources without optimisation."""
    source = tmp_path_factory.mktemp("extended") / "emt_app"
    shutil.copytree(APP, source)
    steps = STEP.findall((APP / "docs" / "new-element.md").read_text())
    assert [action for action, _, _ in steps] == ["Write", "add to"] * 3
    for action, name, text in steps:
        path = source / name
        assert path.exists() == (action == "add to")
        if action == "add to":
            assert text.count("\n") == 1, f"{text!r} is not one line"
            table, undef = path.read_text().split("#undef")
            path.write_text(f"{table}{text}#undef{undef}")
        else:
            path.write_text(text)
    options = ("-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=", "-DEMT_PORTABLE=ON", "-DEMT_TESTS=OFF")
    return Emt(build_emt(source.parent / "build", *options, source=source, target="emt"))


def twins(new: dict[str, Any], old: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The new element at node x1, its equivalent of other elements at x2.

    Each is behind a source and beside a load that is switched on: a discontinuity.
    """
    circuits: list[dict[str, Any]] = []
    for k in ("1", "2"):
        source = {"type": "voltage_source", "to": "x" + k, "r": 5, "l": 0.02, "amplitude": 1000, "phase": -70}
        breaker = {"type": "switch", "nodes": ["x" + k, "y" + k], "operations": [{"time": 0.021, "action": "close"}]}
        load = {"type": "resistor", "nodes": ["y" + k, "0"], "r": 40}
        circuits += [source, breaker, load]
    return [{"name": str(i)} | element for i, element in enumerate([*circuits, new, *old])]


DAMPED = twins(
    {"type": "damped_inductor", "nodes": ["x1", "0"], "r": 3, "rp": 200, "l": 0.05},
    [
        {"type": "resistor", "nodes": ["x2", "m"], "r": 3},
        {"type": "resistor", "nodes": ["m", "0"], "r": 200},
        {"type": "inductor", "nodes": ["m", "0"], "l": 0.05},
    ],
)
FILTER = twins(
    {"type": "c_type_filter", "nodes": ["x1", "0"], "c1": 2e-5, "r": 150, "l": 0.08, "c2": 8.8e-5},
    [
        {"type": "capacitor", "nodes": ["x2", "m"], "c": 2e-5},
        {"type": "resistor", "nodes": ["m", "0"], "r": 150},
        {"type": "series_rlc", "nodes": ["m", "0"], "r": 0, "l": 0.08, "c": 8.8e-5},
    ],
)


@pytest.mark.parametrize("start", ["steady", "zero"])
@pytest.mark.parametrize("elements", [DAMPED, FILTER], ids=["element", "primitive"])
def test_behaves_as_the_same_circuit_of_other_elements(
    extended: Emt, tmp_path: Path, elements: list[dict[str, Any]], start: str
) -> None:
    case = write_case(tmp_path / "case.json", elements, nodes=["x1", "x2", "y1", "y2", "m"], dt=5e-5, start=start)
    jsonschema.validate(json.loads(case.read_text()), json.loads(extended("schema").stdout))
    waves = extended.waves(case, tmp_path, STEPS, ["x1", "x2"])
    assert max(waves["x1"]) > 300
    assert max(abs(b - a) for a, b in pairwise(waves["x1"])) > 1
    assert waves["x1"] == pytest.approx(waves["x2"], abs=1e-8)


def test_older_cases_keep_their_bits(extended: Emt, emt: Emt, hq: Path, tmp_path: Path) -> None:
    options = ("--steps", "200", "--no-replay", "--isa", "portable")
    assert extended.run(hq, tmp_path, *options)["checksum"] == emt.run(hq, tmp_path, *options)["checksum"]
