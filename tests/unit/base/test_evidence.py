"""Evidence of checks has the schema that reports read; other evidence fails the check that recorded it."""

import json
from typing import get_type_hints

import msgspec
import numpy as np
import pytest

from kappa.core.ground.errors import InputError
from kappa.core.record.evidence import Finding, Measurement
from kappa.core.record.reframe_report import RecordedCase
from reframe_checks.base.evidence import CheckEvidence as Recorder
from tests.stand_in import StandIn


@pytest.fixture
def check(tmp_path):
    """Methods that ``StandIn`` has, too, are called by their class."""
    return StandIn(
        Recorder, matrices={}, hint="look", load_by_others={}, robbed="", hung_on=[], ended_by_slurm="", validity="",
        notes=[], matrix_folder=tmp_path / "matrices",
    )  # fmt: skip


def test_what_is_recorded_is_read(check):
    Recorder.record_curve(check, "latency", ("Size", "B"), ("Latency", "us"), {8: 2.5, 1: np.float64(2)}, {8: "at_8B"})
    Recorder.record_heat_map(check, "rate", ("Cores", ""), ("Memory", ""), ("Triad", "MB/s"), {(0, 1): 3.0})
    Recorder.record_per_node(check, "memory", "KiB", {"n2": 4, "n1": 5})
    check.record_matrix("bandwidth", "MB/s", ["n1", "n2"], [[None, 1.0], [2.0, None]])
    Recorder.record_findings(check, [Finding("node", "n1", ("n1",), "latency", np.float64(9), None, "slow to all")])
    measured = {"perfvalues": {}, **check.evidence()}
    read = msgspec.json.decode(json.dumps(measured), type=Measurement)
    assert (read.curves["latency"].points, read.curves["latency"].gated) == (((1, 2), (8, 2.5)), {"8": "at_8B"})
    assert read.heat_maps["rate"].points == ((0, 1, 3),)
    assert list(read.per_node["memory"].values) == ["n1", "n2"]
    assert read.matrices["bandwidth"].values == ((None, 1), (2, None))
    assert (read.findings[0].score, read.suspects) == (9, ("n1",))
    assert read.hint == "node n1: latency slow to all; look"


def test_a_wrong_type_fails_at_once_and_by_name(check):
    with pytest.raises(InputError, match=r"PerNode: values.n1: expected number, found '4'"):
        Recorder.record_per_node(check, "memory", "KiB", {"n1": "4"})
    with pytest.raises(InputError, match=r"Curve: points\[0\]\[1\]: expected number, found None"):
        Recorder.record_curve(check, "latency", ("Size", "B"), ("Latency", "us"), {8: None}, {})
    with pytest.raises(ValueError, match="expected 2 lists of 2"):
        check.record_matrix("bandwidth", "MB/s", ["n1", "n2"], [[1.0]])
    with pytest.raises(ValueError, match="expected 65 lists of 65"):
        check.record_matrix("bandwidth", "MB/s", [f"n{number}" for number in range(65)], [[1.0]])


def test_lines_of_other_programs_are_noted_once_with_their_number(check):
    talk = "[0] MPI startup(): Multi-threaded optimized library\n"
    for text in (
        "8  1.21\n",
        talk + "8  1.21\n",
        f"# title\n{talk}{talk.replace('Multi', 'Single')}srun: a\x1b[1m word\n",
    ):
        check.note_lines_of_others(text)
    assert check.notes == [
        "3 lines of Intel MPI in the output set aside, the first: [0] MPI startup(): Multi-threaded optimized library",
        "1 line of Slurm in the output set aside, the first: srun: a word",
    ]
    measured = {"perfvalues": {}, **check.evidence()}
    assert msgspec.json.decode(json.dumps(measured), type=Measurement).notes == tuple(check.notes)


def test_a_case_has_all_that_was_measured():
    case = get_type_hints(RecordedCase)
    assert {name: case[name] for name in get_type_hints(Measurement)} == get_type_hints(Measurement)
