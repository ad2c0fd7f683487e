"""Nights on the embedded cluster: a fault is named, a cut leaves a partial verdict, two never run at once."""

import dataclasses
import json
import os
import re
import shutil
import signal
import subprocess
from collections import Counter

from tests.tiers import long
from tests.waiting import PATIENCE_S, until

from .conftest import KAPPA, SITE

PASS, FAIL, INCOMPLETE, BUSY = 0, 1, 2, 75
QUICK = ("-S", "NodeLinks.iterations=3", "-S", "NodeLinks.repeats_per_link=1", "-S", "watch_load=no")


def start(suite, night, *options, **environment):
    return subprocess.Popen(
        [KAPPA, "night", "run", "embedded", "--mode=links", "--nights=0", f"--night={night}", *options],
        env=suite.environment(**environment), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip


def bounds_that_any_load_leaves(folder):
    """The site's references, with a hundredth of what this mode's figures of speed have to be."""
    shutil.copytree(SITE / "references", folder)
    network = folder / "network.yaml"
    text = network.read_text()
    for figure in ("uniformity: [0.33", "slowest_node_bandwidth: [100", "latency_8B: [50,"):
        assert figure in text
    text = text.replace("uniformity: [0.33", "uniformity: [0.0033").replace("latency_8B: [50,", "latency_8B: [5000,")
    network.write_text(text.replace("slowest_node_bandwidth: [100", "slowest_node_bandwidth: [1"))
    return str(folder)


def printed(suite, earlier):
    """Output of ReFrame in the mode of a night that is not among the `earlier`."""
    return [path for path in suite.results.glob("nights/*/reframe.out") if path.parent not in earlier]


@long
def test_a_slow_link_is_named_in_the_message(suite):
    limit = ["add", "dev", "eth0", "root", "tbf", "rate", "200mbit", "burst", "70000", "latency", "50ms"]
    suite.cluster("exec", "node2", "tc", "qdisc", *limit)
    try:
        night = start(suite, "2026-11-15", "--", *QUICK)
        said, _ = night.communicate(timeout=2 * PATIENCE_S)
    finally:
        suite.cluster("exec", "node2", "tc", "qdisc", "del", "dev", "eth0", "root")
    assert night.returncode == FAIL, said
    outputs = suite.results / "nightly"
    message = (outputs / "message.md").read_text()
    assert "**First:** Look at node2" in message
    assert "new suspect: **node2**" in message
    assert 'class="night fail last"' in (outputs / "index.html").read_text()
    assert 'kappa_node_suspect{node="node2",site="embedded"}' in (outputs / "embedded.prom").read_text()
    assert "node2" in (outputs / "junit.xml").read_text()


@long
def test_what_a_budget_leaves_out_does_not_run_and_is_told(suite, tmp_path):
    """The night passes, and no output claims a pass of cases that did not run."""
    suite = dataclasses.replace(suite, results=tmp_path)
    plan = subprocess.run(
        [KAPPA, "validate", "embedded", "links", "--plan", "--json=-"],
        env=suite.environment(), stdout=subprocess.PIPE, text=True, timeout=PATIENCE_S, check=True,
    )  # fmt: skip
    hours = Counter()
    for case in json.loads(plan.stdout)["cases"]:
        hours[case["check"]] += case["node_hours"]
    budget = 1.02 * max(hours.values())
    assert budget < sum(hours.values())
    references = bounds_that_any_load_leaves(tmp_path / "references")
    night = start(suite, "2026-11-17", f"--budget={budget}", "--", *QUICK, RFM_REFERENCE_PREFIX=references)
    said, _ = night.communicate(timeout=2 * PATIENCE_S)
    assert night.returncode == PASS, said
    [report] = tmp_path.glob("nights/*/run-report.json")
    document = json.loads(report.read_text())
    left_out = set(document["session_info"]["left_out"].split(":"))
    ran = {case["check_class"] for run in document["runs"] for case in run["testcases"] if case.get("check_class")}
    assert left_out and ran == hours.keys() - left_out
    assert budget >= sum(hours[check] for check in ran)
    status, verdict = suite.judge(report)
    assert (status, verdict["verdict"], verdict["incomplete"]) == (PASS, "PASS", [])
    assert {one["check"] for one in verdict["left_out_by_budget"]} == left_out
    message = (tmp_path / "nightly/message.md").read_text()
    assert re.search(r"passed; \d checks? left out by the budget", message)
    assert all(check in message.partition("Left out by the budget")[2] for check in left_out)


@long
def test_a_cut_night_is_incomplete_and_no_second_runs_beside_it(suite):
    earlier = set(suite.results.glob("nights/*"))
    night = start(suite, "2026-11-16", "--", *QUICK)
    try:
        until(lambda: any("RUN" in path.read_text() for path in printed(suite, earlier)), "the night runs checks")
        second = start(suite, "2026-11-16")
        said, _ = second.communicate(timeout=PATIENCE_S)
        assert second.returncode == BUSY, said
        assert "another night" in said
    finally:
        night.terminate()
    said, _ = night.communicate(timeout=2 * PATIENCE_S)
    assert night.returncode == INCOMPLETE, said
    record = json.loads(sorted(suite.results.glob("nights/*/night.json"))[-1].read_text())
    assert record["cut"] == "stopped by SIGTERM"
    assert "the night did not end" in (suite.results / "nightly/message.md").read_text()
    assert suite.jobs() == []


@long
def test_a_night_whose_machine_fails_begins_again_on_another(suite):
    earlier = set(suite.results.glob("nights/*"))
    job = submit(suite, "--mode=links", "--nights=0", "--slurm=--partition=cpu", "--", "--system=embedded:gpu")
    try:
        begin(suite, job)
        until(lambda: any("RUN" in path.read_text() for path in printed(suite, earlier)), "the night runs checks")
        first = node_of(suite, job)
        os.kill(int((suite.state / f"run/{first}.pid").read_text().split()[0]), signal.SIGKILL)
        # Slurm would find out without help, but later.
        suite.cluster("exec", "login", "scontrol", "update", f"nodename={first}", "state=down", "reason=test")
        until(lambda: "JobState=PENDING" in show(suite, job), "the job waits again")
        begin(suite, job)
        until(lambda: re.search("JobState=(COMPLETED|FAILED)", show(suite, job)), "the night has ended")
    finally:
        suite.cluster("exec", "login", "scancel", "--name=kappa-nightly-embedded")
        suite.cluster("up")
    assert node_of(suite, job) != first
    lost, whole = (
        json.loads((folder / "summary.json").read_text())
        for folder in sorted(set(suite.results.glob("nights/*")) - earlier)
    )
    assert (lost["ended"], lost["state"]) == (None, "INCOMPLETE")
    assert whole["ended"] is not None
    assert whole["counts"]["pass"] > 0
    assert "- lost night: " in (suite.results / "nightly/message.md").read_text()
    # The second attempt found the next night submitted by the first.
    assert "the next night is submitted already" in (suite.results / "nightly/sbatch.log").read_text()


def submit(suite, *options):
    """Schedule nights; returns the identifier of the first one's job, which waits for tomorrow."""
    done = subprocess.run(
        [KAPPA, "night", "schedule", "embedded", "sbatch", "--at=03:00", "--limit=10m", *options],
        env=suite.environment(), check=True, capture_output=True, text=True,
    )  # fmt: skip
    return re.search(r"night submitted: job (\d+)", done.stdout)[1]


def begin(suite, job):
    suite.cluster("exec", "login", "scontrol", "update", f"jobid={job}", "starttime=now")


def show(suite, job):
    return suite.cluster("exec", "login", "scontrol", "show", "job", job).stdout


def node_of(suite, job):
    return re.search(r"^ +NodeList=(\S+)", show(suite, job), re.MULTILINE)[1]
