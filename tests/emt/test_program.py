"""The command line, the file formats and their schemas."""

from __future__ import annotations

import csv
import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest

from tests.waiting import PATIENCE_S, until

from .conftest import APP, MPI_ENVIRONMENT, CaseWriter, Emt, element_types
from .random_networks import random_case

RESULT_SCHEMA = json.loads((APP / "schema" / "result.schema.json").read_text())
TEACHING = sorted((APP / "cases").glob("*.json"))


@pytest.fixture(scope="module")
def case_schema(emt: Emt) -> dict[str, Any]:
    schema: dict[str, Any] = json.loads(emt("schema").stdout)
    jsonschema.Draft202012Validator.check_schema(schema)
    return schema


@pytest.mark.parametrize("path", TEACHING, ids=lambda p: p.stem)
def test_teaching_case_is_valid_and_explained(
    emt: Emt, case_schema: dict[str, Any], tmp_path: Path, path: Path
) -> None:
    jsonschema.validate(json.loads(path.read_text()), case_schema)
    emt("check", path)
    jsonschema.validate(emt.run(path, tmp_path, "--steps", "500"), RESULT_SCHEMA)
    assert f"`{path.name}`" in (APP / "cases" / "README.md").read_text()


def test_generated_case_fits_the_schema_and_table_one(emt: Emt, case_schema: dict[str, Any], hq: Path) -> None:
    case = json.loads(hq.read_text())
    validator = jsonschema.Draft202012Validator(case_schema)
    kinds: dict[str, int] = {}
    for element in case["elements"]:  # a few of each type: validating thousands is slow
        kinds[element["type"]] = kinds.get(element["type"], 0) + 1
    few = [e for i, e in enumerate(case["elements"]) if kinds[e["type"]] < 50 or i % 20 == 0]
    validator.validate(case | {"elements": few})
    shown = json.loads(emt("check", "--json", hq).stdout)
    assert shown["tasks"] == 172
    assert shown["census"] == {
        "nodes": 1099, "machines": 37, "condensers": 4, "svcs": 7, "lines": 170, "transformers": 131, "rlc": 3117,
        "nonlinear": 249, "switches": 106, "control": 332,
    }  # fmt: skip
    assert shown["simplified"] == {}


def test_the_schema_has_the_types_that_the_program_knows(
    emt: Emt, case_schema: dict[str, Any], case_file: CaseWriter
) -> None:
    refused = emt("check", case_file([{"type": "?", "name": "X"}], dt=5e-5), ok=False).stderr
    known = refused.partition("known are: ")[2].splitlines()[0].split(", ")
    assert element_types(case_schema) == known


#: Rules about keys and kinds of values, which a schema can state.
STATED = {"missing-key", "unknown-key", "wrong-type", "wrong-terminals", "unknown-choice", "ideal-source"}
#: Needed in a start from zero only, which the schema of an element does not see.
FOUND_BY_STEADY_START = {"reference", "value"}
PROBLEM = re.compile(r"^elements\[\d+\] '(\d+)' .*?: \[([\w-]+)\]", re.MULTILINE)


@dataclass(frozen=True)
class Wrong:
    """An element with something wrong at a key, or with an optional key left out."""

    element: dict[str, Any]
    key: str
    missing: bool = False


def wrong_ones(element: dict[str, Any]) -> Iterator[Wrong]:
    yield Wrong(element | {"flux_capacitance": 1}, "flux_capacitance")
    for key, value in element.items():
        if key in ("type", "name"):
            continue
        yield Wrong({other: element[other] for other in element if other != key}, key, missing=True)
        yield Wrong(element | {key: {}}, key)
        if isinstance(value, list) and value and isinstance(value[0], dict):
            for inner in wrong_ones(value[0]):
                yield replace(inner, element=element | {key: [inner.element, *value[1:]]})


def test_the_reader_and_the_schema_refuse_the_same(emt: Emt, case_schema: dict[str, Any], tmp_path: Path) -> None:
    seen: set[tuple[object, ...]] = set()
    needed: set[tuple[str, str]] = set()
    for seed in range(30):
        case = random_case(seed)
        wrong: list[Wrong] = []
        for element in case["elements"]:
            outline = (*(element.get(key) for key in ("type", "kind", "model", "shape")), frozenset(element))
            if outline not in seen:
                seen.add(outline)
                wrong += wrong_ones(element)
        elements = [one.element | {"name": str(number)} for number, one in enumerate(wrong)]
        path = tmp_path / "case.json"
        path.write_text(json.dumps(case | {"elements": elements}))
        told = emt("check", path, ok=False)
        refused: dict[int, set[str]] = {number: set() for number in range(len(wrong))}
        for number, rule in PROBLEM.findall(told.stderr):
            refused[int(number)].add(rule)
        for number, one in enumerate(wrong):
            kind = one.element["type"]
            schema = {"$ref": f"#/$defs/{kind}", "$defs": case_schema["$defs"]}
            valid = jsonschema.Draft202012Validator(schema).is_valid(elements[number])
            what = f"{kind} without {one.key}" if one.missing else f"{kind} with a wrong {one.key}"
            if not one.missing:
                assert refused[number] and not valid, what
            elif case["start"] != "zero" or one.key not in FOUND_BY_STEADY_START:
                assert bool(refused[number] & STATED) != valid, what
                needed |= set() if valid else {(kind, one.key)}
    assert {outline[0] for outline in seen} == set(element_types(case_schema))
    assert len(needed) > 100


def test_generator_is_reproducible(emt: Emt, tmp_path: Path) -> None:
    for name, seed in (("a", "3"), ("b", "3"), ("c", "4")):
        emt("generate", "hq", "--seed", seed, "-o", tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert (tmp_path / "a").read_bytes() != (tmp_path / "c").read_bytes()


@pytest.mark.parametrize(("ranks", "exchange"), [(1, "step"), (3, "step"), (3, "slack")])
def test_result_fits_its_schema_and_its_own_formulas(
    emt: Emt, hq: Path, tmp_path: Path, ranks: int, exchange: str
) -> None:
    r = emt.run(hq, tmp_path, "--steps", "2000", "--exchange", exchange, ranks=ranks)
    jsonschema.validate(r, RESULT_SCHEMA)
    total, p = r["step_us"]["mean"], r["ranks"]
    assert r["kappa_us"] == pytest.approx(total - r["sigma_us"] - r["phi_us"] / p, abs=1e-3)
    block = r["step_us"]["block_p50"]
    assert r["block_steps"] == 250 and 0 < block <= r["step_us"]["max"]
    assert r["kappa_block_p50_us"] == pytest.approx(block - r["sigma_us"] - r["phi_us"] / p, abs=1e-3)
    assert r["speedup"] == pytest.approx((r["sigma_us"] + r["phi_us"]) / total, rel=1e-2, abs=1e-4)
    assert r["efficiency"] == pytest.approx(r["speedup"] / p, rel=1e-2, abs=1e-4)
    assert r["phi_us"] == pytest.approx(sum(r["phi_per_rank_us"]), abs=1e-3)
    assert r["imbalance_us"] == pytest.approx(max(r["phi_per_rank_us"]) - r["phi_us"] / p, abs=1e-3)
    assert r["exchange_us"] == pytest.approx(r["kappa_us"] - r["imbalance_us"], abs=1e-3)
    assert r["replay_exact"] is True
    assert sum(count for _, count in r["histogram"]) == 2000 * ranks
    if ranks == 1:
        assert r["karp_flatt"] is None and r["slack_steps"] is None
    else:
        psi = (r["sigma_us"] + r["phi_us"]) / total
        assert r["karp_flatt"] == pytest.approx((1 / psi - 1 / p) / (1 - 1 / p), rel=1e-3)
        assert r["bytes_per_step"]["total"] > 0 and r["bytes_per_step"]["total"] % 24 == 0


def test_the_profile_divides_the_work_among_the_parts_that_the_case_has(emt: Emt, hq: Path, tmp_path: Path) -> None:
    result = emt.run(hq, tmp_path, "--steps", "500", "--profile", ranks=2)
    jsonschema.validate(result, RESULT_SCHEMA)
    assert result["replay_exact"]
    parts = {p["part"]: p for p in result["profile"]}
    counts = {"lines": 340, "transformers": 131, "piecewise": 249, "machines": 41, "instants": 42}
    assert counts.items() <= {name: part["count"] for name, part in parts.items()}.items()
    assert "coupled" not in parts
    assert sum(p["share"] for p in parts.values()) == pytest.approx(1, abs=0.01)
    assert list(parts) == sorted(parts, key=lambda name: -parts[name]["us"])


def test_scale_runs_all_and_plots(emt: Emt, hq: Path, tmp_path: Path) -> None:
    data, plot = tmp_path / "s.json", tmp_path / "s.svg"
    emt("scale", hq, "--ranks", "1,2", "--steps", "500", "--result", data, "--plot", plot)
    scaling = json.loads(data.read_text())
    assert [point["ranks"] for point in scaling["points"]] == [1, 2]
    keys = {"speedup", "efficiency", "karp_flatt", "kappa_us", "kappa_block_p50_us"}
    assert all(keys <= set(point) for point in scaling["points"])
    assert ElementTree.parse(plot).getroot().tag.endswith("svg")


def test_scale_goes_up_to_all_cores(emt: Emt, hq: Path, tmp_path: Path) -> None:
    data = tmp_path / "s.json"
    emt("scale", hq, "--steps", "100", "--result", data, "--plot", tmp_path / "s.svg")
    ranks = [point["ranks"] for point in json.loads(data.read_text())["points"]]
    assert ranks[0] == 1 and ranks[-1] == len(os.sched_getaffinity(0)) and ranks == sorted(set(ranks))


def test_scale_reports_a_failing_launcher(emt: Emt, hq: Path, tmp_path: Path) -> None:
    done = emt("scale", hq, "--ranks", "1", "--launcher", "false {ranks}", "--result", tmp_path / "x.json", ok=False)
    assert done.returncode != 0 and "failed with status 1" in done.stderr
    done = emt("scale", hq, "--ranks", "1", "--launcher", "mpirun", ok=False)
    assert done.returncode != 0 and "{ranks}" in done.stderr


def test_scale_wants_the_result_where_it_writes_its_own(emt: Emt, hq: Path, tmp_path: Path) -> None:
    """A launcher may start rank 0 on another node, which shares folders with this one but not /tmp."""
    done = emt("scale", hq, "--ranks", "1", "--launcher", "true {ranks}", "--result", tmp_path / "x.json", ok=False)
    assert done.returncode != 0
    assert f"left no result at {tmp_path}/x.json.run" in done.stderr and "share" in done.stderr


def test_names_of_nodes_are_no_formulas_in_csv(emt: Emt, case_file: CaseWriter, tmp_path: Path) -> None:
    formulas = ['=HYPERLINK("http://evil.example")', "+1", "-1", "@SUM(1)", "\t=1", "\r=1"]
    names = [*formulas, "a,b", 'say "a"', "two\nlines", "n"]
    source = {"type": "voltage_source", "r": 1, "shape": "step", "amplitude": -100}
    sources = [{**source, "name": f"E{number}", "to": name} for number, name in enumerate(names)]
    case = case_file(sources, dt=50e-6, start="zero", nodes=names)
    probes = [f"--probe={name}" for name in names]
    emt("run", case, "--steps", "2", "--no-replay", "--csv", tmp_path / "w.csv", *probes)
    with (tmp_path / "w.csv").open(newline="") as file:
        header, *rows = csv.reader(file)
    assert header == ["time", *("'" + name if name in formulas else name for name in names)]
    assert rows[-1][1:] == ["-100"] * len(names), "numbers stay as they are"


def test_an_unknown_probe_is_an_error_that_names_what_there_is(emt: Emt, tmp_path: Path) -> None:
    case = APP / "cases/transformer_inrush.json"
    for name, offered in (
        ("T.a", "'T.a.i1', 'T.a.i2', 'T.a.im', 'T.a.flux'"),
        ("SORCE.c.i", "the most similar are 'SOURCE.c.i'"),
        ("TT.c.flux", "the most similar are 'T.c.flux'"),
    ):
        done = emt("run", case, "--steps", "2", "--csv", tmp_path / "w.csv", "--probe", name, ok=False)
        assert done.returncode != 0
        assert f"no channel '{name}'" in done.stderr and offered in done.stderr


def test_a_run_shows_the_first_problems_of_a_case_and_a_check_all(emt: Emt, case_file: CaseWriter) -> None:
    case = case_file([{"type": "resistor", "name": f"R{n}", "nodes": ["a", "0"], "r": 0} for n in range(30)],
                     nodes=["a"], dt=5e-5)  # fmt: skip
    run = emt("run", case, "--steps", "1", ok=False).stderr
    check = emt("check", case, ok=False).stderr
    assert (run.count("[out-of-range]"), check.count("[out-of-range]")) == (20, 30)
    assert "... and 10 more" in run and "... and" not in check


def test_csv_without_probe_is_an_error(emt: Emt, hq: Path, tmp_path: Path) -> None:
    done = emt("run", hq, "--steps", "10", "--csv", tmp_path / "w.csv", ok=False)
    assert done.returncode != 0 and "--probe" in done.stderr


@pytest.mark.parametrize("when", ["always", "auto"])
def test_progress_as_lines_where_there_is_no_terminal(emt: Emt, hq: Path, when: str) -> None:
    # Paced at 50 us a step: 2 s on any machine; the first second already gives a line.
    pace = ["--pace", "real-time"]
    shown = emt("run", hq, "--steps", "40000", "--no-replay", *pace, "--progress", when, ranks=1).stderr
    lines = re.findall(r"^step \d+ of 40000, \d+ steps/s, \d+ s left$", shown, re.MULTILINE)
    assert "\r" not in shown
    assert bool(lines) == (when == "always"), shown


def test_errors_name_file_element_and_rule(emt: Emt, case_file: CaseWriter, tmp_path: Path) -> None:
    bad = case_file([{"type": "capacitor", "name": "C1", "nodes": ["a", "0"], "c": -1}], dt=5e-5, nodes=["a"])
    done = emt("check", bad, ok=False)
    assert done.returncode == 1
    assert all(part in done.stderr for part in ("case.json", "'C1' (capacitor)", "[negative-value]", "'c'"))
    done = emt("check", tmp_path / "absent.json", ok=False)
    assert done.returncode == 1 and "absent.json: cannot be read" in done.stderr
    done = emt("run", bad, ranks=2, ok=False)
    assert done.returncode != 0 and done.stderr.count("emt: error:") == 1


def test_unwritable_result_is_an_error(emt: Emt, hq: Path, tmp_path: Path) -> None:
    done = emt("run", hq, "--steps", "10", "--result", tmp_path / "no" / "r.json", ok=False)
    assert done.returncode != 0 and "cannot be written" in done.stderr


@pytest.mark.parametrize("option", ["--result", "--csv", "--snapshot"])
def test_what_cannot_be_written_is_found_before_the_run(emt: Emt, hq: Path, tmp_path: Path, option: str) -> None:
    for path in (tmp_path / "no" / "file", tmp_path):
        words = [option, path, *(["--probe", "S30.a"] if option == "--csv" else [])]
        done = emt("run", hq, "--steps", "1000000000000", "--no-replay", *words, ok=False)
        assert done.returncode == 1 and str(path) in done.stderr
    assert not list(tmp_path.iterdir())


def test_outputs_replace_links_and_not_what_they_lead_to(emt: Emt, hq: Path, tmp_path: Path) -> None:
    victim, result, shown = tmp_path / "victim", tmp_path / "result.json", tmp_path / "v.csv"
    victim.write_text("of the user")
    for link in (result, shown):
        link.symlink_to(victim)
    emt("run", hq, "--steps=2", "--no-replay", "--result", result, "--csv", shown, "--probe=S30.a")
    assert victim.read_text() == "of the user"
    assert not result.is_symlink() and not shown.is_symlink()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_any_run_with_what_there_is(emt: Emt, hq: Path, tmp_path: Path, number: signal.Signals) -> None:
    result, shown = tmp_path / "result.json", tmp_path / "v.csv"
    words = ["--steps=1000000000000", "--no-replay", "--result", result, "--csv", shown, "--probe", "*.[abc]"]
    command = [str(word) for word in (emt.program, "run", hq, *words)]
    with subprocess.Popen(command, env=os.environ | MPI_ENVIRONMENT, stdout=subprocess.DEVNULL) as run:
        until(lambda: any(path.stat().st_size > 1 << 20 for path in tmp_path.glob("v.csv.part*")), "rows are written")
        run.send_signal(number)
        assert run.wait(PATIENCE_S) == 0
    told = json.loads(result.read_text())
    jsonschema.validate(told, RESULT_SCHEMA)
    assert told["ended_by"] == "signal"
    with shown.open(newline="") as file:
        assert sum(1 for _ in csv.reader(file)) == told["steps"] + 2  # names, and the state before the first step
    assert not list(tmp_path.glob("*.part*"))


@pytest.mark.parametrize("ranks", [1, 2])
def test_rows_are_written_while_the_run_goes_on(emt: Emt, hq: Path, tmp_path: Path, ranks: int) -> None:
    """More values than wait in memory, with patterns of names; the same as of all channels one by one."""
    words = ["--steps", "60", "--no-replay", "--csv", tmp_path / "v.csv"]
    emt("run", hq, *words, "--probe", "S*.[abc]", "--probe", "*.i", "--probe", "G_*.speed", ranks=ranks)
    with (tmp_path / "v.csv").open(newline="") as file:
        names, *rows = csv.reader(file)
    assert len(names) * len(rows) > 1 << 17 and len(rows) == 61 and {len(row) for row in rows} == {len(names)}
    few = [names[1], names[len(names) // 2], names[-1]]
    waves = emt.waves(hq, tmp_path, 60, few)
    for name in few:
        assert [float(row[names.index(name)]) for row in rows] == waves[name]
    assert [float(row[0]) for row in rows] == waves["time"]


@pytest.mark.parametrize(
    ("steps", "hint"),
    [("0", "at least 1"), ("1e5", "must be written as 100000"), ("-3", "not a whole number"), ("x", "a whole number")],
)
def test_steps_are_a_whole_number_above_zero(emt: Emt, hq: Path, steps: str, hint: str) -> None:
    for command in ("run", "scale"):
        done = emt(command, hq, f"--steps={steps}", ok=False)
        assert done.returncode != 0 and hint in done.stderr and len(done.stderr.splitlines()) <= 3


@pytest.mark.parametrize(
    ("words", "meant"),
    [(["runn", "x.json"], "run"), (["generate", "qh"], "hq"), (["import", "matpowr", "x", "-o", "y"], "matpower")],
)
def test_a_misspelt_command_is_answered_with_the_nearest(emt: Emt, words: list[str], meant: str) -> None:
    done = emt(*words, ok=False)
    assert done.returncode == 1 and f"did you mean '{meant}'?" in done.stderr and len(done.stderr.splitlines()) == 1


def test_time_is_given_in_seconds_or_in_steps(emt: Emt, tmp_path: Path) -> None:
    case = APP / "cases/rl_step.json"
    assert emt.run(case, tmp_path, "--time", "0.005", "--dt", "5e-5")["steps"] == 100
    assert emt("run", case, "--time", "1", "--steps", "5", ok=False).returncode != 0


def test_the_program_states_its_version(emt: Emt, tmp_path: Path) -> None:
    told = emt("--version").stdout.split()
    result = emt.run(APP / "cases/rl_step.json", tmp_path, "--steps", "10")
    assert told == ["emt", result["provenance"]["version"]]
