"""Disturbances that are no node's fault: the reports of disturbed validations, and their table."""

import json
import subprocess
import sys

import pytest

from tests.fault_campaign.cluster import Cluster
from tests.fault_campaign.disturbances import (
    DISTURBANCES,
    Disturbed,
    RunningValidation,
    message,
    render,
    verdict_in,
)

SAID = """\
Incomplete
◌ this machine was busy: run the case again on an idle machine
    PairSweep on scratch
│ ◌ INCOMPLETE  3 reasons why the run is incomplete. │
│ ✘ FAIL  1 of 7 cases failed. │
"""


def test_the_last_verdict_counts():
    assert verdict_in(SAID) == "FAIL"
    assert verdict_in("kappa: error: nothing was submitted: FAIL") == "none"


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (SAID, "◌ this machine was busy: run the case again on an idle machine PairSweep on scratch"),
        (
            f"{SAID}the disk of /r is full: Kappa judges the finished cases\n",
            "the disk of /r is full: Kappa judges the finished cases",
        ),
        ("smoke: 5 s\nkappa: error: another run uses /r\n", "kappa: error: another run uses /r"),
        ("", ""),
    ],
)
def test_errors_are_told_before_reasons(said, told):
    assert message(said) == told


def test_the_table_tells_of_each():
    one = Disturbed(DISTURBANCES["two validations"], "", 2, "INCOMPLETE", (), 7, 41.3, "a | b", "PASS")
    never = Disturbed(DISTURBANCES["clock behind"], "", None, "none", ("node1",), 0, 1500.0, "", "none")
    first, second = render([one, never]).splitlines()[2:]
    assert first.split(" | ")[2:] == ["2", "INCOMPLETE", "no node", "7", "41", "a \\| b", "PASS |"]
    assert "| did not end | none | node1 |" in second


def test_cases_that_have_ended_are_counted_in_the_journal(tmp_path):
    process = subprocess.Popen([sys.executable, "-c", ""], text=True)
    run = RunningValidation(Cluster(tmp_path, tmp_path), {}, tmp_path, process)
    assert run.cases_ended() == 0
    (tmp_path / "runs/1").mkdir(parents=True)
    ended = ({"number": number, "run": 0, "case": {}} for number in range(2))
    lines = [{"site": "s"}, {"session_info": {}}, *ended]
    (tmp_path / "runs/1/run-report.json.journal").write_text("\n".join(map(json.dumps, lines)))
    assert run.cases_ended() == 2
    assert run.goes_on_until(lambda: False) is False
