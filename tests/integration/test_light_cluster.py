"""Light nodes: a session over all of them, one drained and back, one that died, and many nodes measured by one job.

A minute.
"""

import json
import pathlib

import pytest

from tests.integration.conftest import REPOSITORY, Suite
from tests.waiting import until

pytestmark = pytest.mark.long

NODES = 32
ALL = {f"node{number}" for number in range(1, NODES + 1)}
CHECKS = REPOSITORY / "tests/scale/checks"


@pytest.fixture(scope="module")
def light(tmp_path_factory):
    root = tmp_path_factory.mktemp("light")
    suite = Suite(root / "cluster", root / "results")
    suite.results.mkdir()
    started = suite.cluster("up", "--light", f"--nodes={NODES}", check=False)
    assert started.returncode == 0, started.stderr
    yield suite
    suite.cluster("down")
    assert suite.cluster("status", check=False).returncode == 3


def cases_of(suite, *arguments, **kwargs):
    report = suite.results / "run-report.json"
    report.unlink(missing_ok=True)
    done = suite.reframe("-r", f"--report-file={report}", "-S", "hold_s=0", "-S", "watch_load=no", *arguments, **kwargs)
    assert report.exists(), done.stdout + done.stderr
    _, verdict = suite.judge(report)
    return [case for run in json.loads(report.read_text())["runs"] for case in run["testcases"]], verdict


def slurm(suite, *command):
    return suite.cluster("exec", "login", *command).stdout


def test_a_drained_node_is_left_out_and_measured_when_it_is_back(light):
    slurm(light, "scontrol", "update", "NodeName=node7", "State=DRAIN", "Reason=test")
    alone = ("--system=embedded:scratch", "--distribute=idle")
    cases, verdict = cases_of(light, *alone, checks=CHECKS)
    assert {case["job_nodelist"][0] for case in cases} == ALL - {"node7"}
    assert {case["state"] for case in verdict["cases"]} == {"pass"}
    slurm(light, "scontrol", "update", "NodeName=node7", "State=RESUME")
    until(lambda: set(slurm(light, "sinfo", "-h", "-p", "scratch", "-o", "%T").split()) == {"idle"}, "all are idle")
    cases, _ = cases_of(light, *alone, checks=CHECKS)
    assert {case["job_nodelist"][0] for case in cases} == ALL


def test_a_node_that_died_comes_back(light):
    light.cluster("exec", "node5", "sh", "-c", "kill -9 $(cat /run/slurm/slurmd-node5.pid)")
    assert light.cluster("exec", "node5", "true", check=False).returncode == 2
    assert "restarted: node5" in light.cluster("up").stderr
    assert slurm(light, "srun", "-p", "scratch", "-w", "node5", "hostname").strip() == "node5"


def test_one_job_measures_many_nodes_and_blames_the_one_that_fails(light):
    stream = ("-n", "Stream", "--system=embedded:cpu", "-S", "Stream.nodes_at_once=4")
    (case,), _ = cases_of(light, *stream, "-S", "Stream.working_set=1MB")
    figures = case["per_node"]["triad"]["values"]
    assert set(figures) == set(case["job_nodelist"]) and len(figures) == 4
    (value, *_) = case["perfvalues"]["embedded:cpu:triad"]
    assert value == min(figures.values())
    program = slurm(light, "sh", "-c", "command -v likwid-bench").strip()
    bad = sorted(figures)[1]
    light.cluster("exec", bad, "mount", "--bind", "/bin/false", str(pathlib.Path(program).resolve()))
    (case,), _ = cases_of(light, *stream, "-S", "Stream.working_set=1MB")
    assert case["result"] == "fail" and bad in case["job_nodelist"]
    assert case["suspects"] == [bad], case["fail_reason"]
    assert set(case["per_node"]["triad"]["values"]) == set(case["job_nodelist"]) - {bad}
