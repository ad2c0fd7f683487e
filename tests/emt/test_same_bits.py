"""The same bits for any rank count, exchange, transport, instruction set and mapping, whatever shares a batch.

Random networks by seed in combinations of settings (docs/same-bits.md of the application states the claims).
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from itertools import combinations, product
from pathlib import Path
from random import Random
from typing import Any

import jsonschema
import pytest

from tests.tiers import long

from .conftest import APP, CaseWriter, Emt, element_keys, element_types
from .random_machines import MODELS
from .random_networks import STEPS, Case, random_case, random_study, side_by_side
from .same_bits import (
    ALONE,
    INSTRUCTION_SETS,
    Planned,
    Settings,
    Told,
    choices,
    covering_settings,
    differences,
    every_setting,
    instruction_sets,
    simulate,
    write_network,
)

NETWORKS = 200
GROUPS = 30


@pytest.fixture(scope="module")
def program(emt: Emt) -> Path:
    return emt.program.parent / "tests/emt_same_bits"


@pytest.fixture(scope="module")
def sets(program: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return instruction_sets(program, tmp_path_factory.mktemp("sets"))


@dataclass(frozen=True)
class Simulated:
    networks: list[Planned]
    runs: list[list[Told]]


@pytest.fixture(scope="module")
def simulated(program: Path, sets: list[str], tmp_path_factory: pytest.TempPathFactory) -> Simulated:
    """Every network on one rank and in eight other settings."""
    folder = tmp_path_factory.mktemp("networks")
    networks = [
        Planned(write_network(seed, folder), STEPS, [ALONE | {"watch": True}, *settings])
        for seed, settings in enumerate(covering_settings(NETWORKS, sets))
    ]
    return Simulated(networks, simulate(program, networks, folder))


@long
def test_random_networks_in_all_pairs_of_settings(simulated: Simulated) -> None:
    assert [len(runs) for runs in simulated.runs] == [9] * NETWORKS
    different = {
        network.case.name: how
        for network, runs in zip(simulated.networks, simulated.runs, strict=True)
        if (how := differences(network, runs))
    }
    assert not different


@long
def test_random_networks_in_all_combinations_of_settings(program: Path, sets: list[str], tmp_path: Path) -> None:
    networks = [
        Planned(write_network(seed, tmp_path), STEPS, [ALONE, *every_setting(seed, sets)])
        for seed in range(NETWORKS, NETWORKS + 50)
    ]
    assert {len(network.runs) for network in networks} == {1 + 48 * len(sets)}
    runs = simulate(program, networks, tmp_path)
    different = [how for network, told in zip(networks, runs, strict=True) if (how := differences(network, told))]
    assert not different


def test_ranks_without_a_task_change_nothing(program: Path, sets: list[str], tmp_path: Path) -> None:
    """The teaching cases have one task or two."""
    settings = [how for how in every_setting(1, sets) if how["ranks"] == 4]
    cases = [Planned(path, 300, [ALONE, *settings]) for path in sorted((APP / "cases").glob("*.json"))]
    assert len(cases) > 3
    runs = simulate(program, cases, tmp_path)
    assert [differences(case, told) for case, told in zip(cases, runs, strict=True)] == [[]] * len(cases)


@pytest.mark.parametrize("isa", INSTRUCTION_SETS)
def test_every_pair_of_settings_is_tested(sets: list[str], isa: str) -> None:
    if isa not in sets:
        pytest.skip(f"this processor has no {isa}: its bits were not compared")
    values = choices(sets)

    def pairs(settings: list[Settings]) -> set[tuple[object, ...]]:
        rows = [how | ({} if how["mapping"] == "own" else {"mapping": None}) for how in settings]
        return {(i, row[i], j, row[j]) for row in rows for i, j in combinations(values, 2)}

    every = {(i, a, j, b) for i, j in combinations(values, 2) for a, b in product(values[i], values[j])}
    assert ("isa", isa) in {pair[2:] for pair in every}
    of_networks = list(covering_settings(NETWORKS, sets))
    for first in range(NETWORKS - 3):
        together = [how for settings in of_networks[first : first + 4] for how in settings]
        assert pairs(together) == every
    assert all(len(settings) == 8 for settings in of_networks)


@long
def test_something_happens_in_every_network(simulated: Simulated) -> None:
    happened = [runs[0]["happened"] for runs in simulated.runs]
    assert all(what["poles"] > 0 for what in happened)
    assert sum(what["together"] > 0 for what in happened) > NETWORKS / 2, "tasks of one batch switch in one step"
    assert sum(what["segments"] > 0 for what in happened) > NETWORKS / 2
    assert sum(what["sparse_tasks"] > 0 for what in happened) > NETWORKS / 10


def test_the_networks_have_every_element_event_and_wave(emt: Emt) -> None:
    schema = json.loads(emt("schema").stdout)
    known = set(element_types(schema))
    cases = [random_case(seed) for seed in range(NETWORKS)]
    elements = [element for case in cases for element in case["elements"]]
    assert {element["type"] for element in elements} == known
    used: dict[str, set[str]] = {kind: set() for kind in known}
    for element in elements:
        used[element["type"]] |= set(element)
    unused = {kind: {"shape"} for kind in ("source", "machine", "condenser")}  # they are sines without saying so
    unused |= {kind: {"reference"} for kind in ("exciter", "governor")}  # for a start that machines do not have
    unused |= {"block": {"windup", "initial", "down"}}
    unused |= {"transformer": {"shift"}}  # other turns of the windings that a delta has: emt_app/tests/import_test.cpp
    for kind in known:
        parameters = {key for key in element_keys(schema, kind) if key.isupper()}  # of models, which have usual values
        assert used[kind] >= element_keys(schema, kind) - parameters - unused.get(kind, set()), kind
    kinds = schema["$defs"]["fault"]["properties"]["kind"]["enum"]
    assert {e["kind"] for e in elements if e["type"] == "fault"} == set(kinds)
    assert {e["connection"] for e in elements if e["type"] == "transformer"} == {"YgYg", "YgD", "DYg", "DD"}
    shapes = {e.get("shape", "sine") for e in elements if "amplitude" in e}
    assert shapes == {"sine", "step", "double_exponential", "constant"}
    assert {e.get("delay", "linear") for e in elements if e["type"] == "line"} == {"linear", "integer"}
    assert {case["start"] for case in cases} == {"steady", "zero"}
    models = {(kind, model) for kind, all_of in MODELS.items() for model in all_of}
    assert {(e["type"], e["model"]) for e in elements if "model" in e} == models
    blocks = schema["$defs"]["block"]["properties"]["kind"]["enum"]
    assert {e["kind"] for e in elements if e["type"] == "block"} == set(blocks)
    actions = Counter(operation["action"] for e in elements for operation in e.get("operations", ()))
    assert min(actions["open"], actions["close"]) > NETWORKS
    assert any("initial_voltage" in case for case in cases)


@pytest.mark.parametrize("seed", range(3))
def test_a_network_is_valid_and_a_function_of_its_seed(emt: Emt, tmp_path: Path, seed: int) -> None:
    case = random_case(seed)
    assert case == random_case(seed) != random_case(seed + 1)
    jsonschema.validate(case, json.loads(emt("schema").stdout))
    emt("check", write_network(seed, tmp_path))


def test_another_tasks_switch_does_not_change_a_source(emt: Emt, case_file: CaseWriter, tmp_path: Path) -> None:
    """Both are in one batch, which takes its steps in another way when one of its tasks restarts."""
    elements: list[dict[str, Any]] = [
        {"type": "resistor", "name": "RA", "nodes": ["a", "0"], "r": 100},
        {"type": "current_source", "name": "I", "to": "a", "amplitude": 1000, "shape": "double_exponential",
         "start": 1e-3, "tau_front": 1e-5, "tau_tail": 1e-4},
        {"type": "voltage_source", "name": "V", "to": "b", "r": 1, "amplitude": 1},
        {"type": "switch", "name": "S", "nodes": ["b", "0"]},
    ]  # fmt: skip
    waves = []
    for operations in ([], [{"time": 0.00115, "action": "close"}]):
        case = case_file(
            [*elements[:-1], elements[-1] | {"operations": operations}], dt=5e-5, start="zero", nodes=["a", "b"]
        )
        waves.append(emt.waves(case, tmp_path, 40, ["a", "b"]))
    quiet, switching = waves
    assert quiet["b"] != switching["b"]
    assert quiet["a"] == switching["a"]
    assert quiet["a"][24] == pytest.approx(13533.5281175459, rel=1e-13)


def test_tasks_have_the_same_bits_alone_and_beside_others(program: Path, tmp_path: Path) -> None:
    """Each part alone, and all as one case: three that look alike and share batches, and two that do not."""

    def planned(name: str, case: Case) -> Planned:
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(case))
        return Planned(path, STEPS, [ALONE | {"watch": True}])

    plans = []
    for seed in range(GROUPS):
        study = random_study(Random(f"parts {seed}"), start="zero")
        likes = {"A": seed, "B": seed, "C": seed, "D": seed + 1000, "E": seed + 2000}
        parts = {
            name: random_case(10 * seed + i, study=study, like=like, prefix=f"{name}.")
            for i, (name, like) in enumerate(likes.items())
        }
        plans += [planned(f"{seed}{name}", part) for name, part in parts.items()]
        plans.append(planned(f"{seed}all", side_by_side(list(parts.values()))))
    told = [runs[0] for runs in simulate(program, plans, tmp_path, ranks=1)]
    for seed in range(GROUPS):
        *alone, together = told[6 * seed : 6 * seed + 6]
        of_parts = {task: digest for part in alone for task, digest in part["tasks"].items()}
        assert len(of_parts) > 15
        different = {task for task, digest in together["tasks"].items() if of_parts.pop(task) != digest}
        assert (different, of_parts) == (set(), {}), seed
        assert together["happened"]["together"] > 0


# The C library then takes the functions that it has for processors without these.
OTHER_PROCESSOR = "glibc.cpu.hwcaps=-FMA,-FMA4,-AVX2"
SINES = "import math; print([f(x / 7).hex() for x in range(1, 4000) for f in (math.sin, math.cos, math.exp)])"


def test_the_c_library_has_no_say(emt: Emt, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its sines differ in one of a thousand arguments: many sources are asked for their value at many steps."""
    steps = "3000"
    cases = {}
    for start in ("steady", "zero"):
        study = random_study(Random(start), start)
        parts = [random_case(seed, study=study, prefix=f"{seed}.") for seed in range(10)]
        cases[start] = tmp_path / f"{start}.json"
        cases[start].write_text(json.dumps(side_by_side(parts)))
        sources = [element for part in parts for element in part["elements"] if "amplitude" in element]
        shapes = {source.get("shape", "sine") for source in sources}
        assert shapes == {"sine", "step", "double_exponential", "constant"}

    def sines() -> str:
        return subprocess.run([sys.executable, "-c", SINES], capture_output=True, text=True, check=True).stdout

    def bits() -> list[str]:
        emt("alike", cases["steady"], "--seconds", "0", "--steps", steps, "--result", tmp_path / "alike.json")
        (work,) = json.loads((tmp_path / "alike.json").read_text())["nodes"][0]["works"]
        runs = [emt.run(case, tmp_path, "--steps", steps, "--no-replay") for case in cases.values()]
        return [work["cores"][0][0]["digest"], *(run["checksum"] for run in runs)]

    usual_sines, usual = sines(), bits()
    monkeypatch.setenv("GLIBC_TUNABLES", OTHER_PROCESSOR)
    if sines() == usual_sines:
        pytest.skip("this C library has the same sines for every processor, or this processor has no fused operations")
    assert bits() == usual
