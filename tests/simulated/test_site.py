"""The simulated site as a user runs it: the same figures each time, all of them marked, and errors that say what to do.

It takes two minutes, most of them to build the programs for the simulator.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

from kappa.core.ground.folders import SUITE as REPOSITORY

KAPPA = pathlib.Path(sys.executable).with_name("kappa")
CHECKS = ("Fabric", "RandomRing.*isend", "PutBarrier", "NeighbourExchange.*pair", "PatternAllreduce")

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not shutil.which("smpirun"), reason="SimGrid is not installed: apt install libsimgrid-dev"),
]


def validated(results, *options):
    """The exit status, what was printed, and the cases of a run on one fabric."""
    done = subprocess.run(
        [KAPPA, "validate", "simulated", "nightly", *options],
        env={**os.environ, "KAPPA_RESULTS": str(results)}, capture_output=True, text=True, check=False, cwd=REPOSITORY,
    )  # fmt: skip
    reports = sorted(results.glob("runs/*/run-report.json"))
    runs = json.loads(reports[-1].read_text())["runs"] if reports else []
    cases = [case for run in runs for case in run["testcases"]]
    return done.returncode, done.stdout + done.stderr, cases


def figures(cases):
    """Every figure and curve but the simulator's own wall time."""
    return {
        case["name"]: (case["perfvalues"], {name: one for name, one in case["curves"].items() if name != "wall time"})
        for case in cases
        if case.get("check_class")
    }


def test_two_runs_are_alike_to_the_last_digit(tmp_path):
    selected = ["--system=simulated:hdr-8", *(word for check in CHECKS for word in ("-n", check))]
    first, said, cases = validated(tmp_path / "first", *selected)
    # Only a part of the mode was selected, so that the run is not complete.
    assert first == 2, said
    assert all(case["result"] == "pass" for case in cases), said
    assert "all values are simulated" in said
    measured = [case for case in cases if case.get("check_class")]
    assert len(measured) == 6
    assert all("simulated" in case["tags"] for case in measured)
    assert all(case["simulation"]["fabric"] == "hdr-8" for case in measured)
    ring = next(case for case in measured if case["check_class"] == "RandomRing")
    assert 0 < ring["simulation"]["busiest"][0]["share"] <= 1
    page = next((tmp_path / "first/runs").glob("*/report.html")).read_text()
    assert "Simulated: all values are simulated" in page
    _, _, again = validated(tmp_path / "again", *selected)
    assert figures(again) == figures(cases)


def test_more_ranks_than_the_fabric_holds_are_refused_by_name(tmp_path):
    options = ["--system=simulated:hdr-8", "-n", "PutBarrier.*ring", "-S", "PutBarrier.ranks=4096"]
    status, said, _ = validated(tmp_path / "results", *options)
    # A request that is too large is no fault of a fabric.
    assert status == 2
    assert "fabric hdr-8: expected 1 to 8 nodes, found 2048" in said
