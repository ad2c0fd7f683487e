"""Jobs that would not end: the node is named, nothing else is, and the nodes that are left are measured."""

import contextlib
import os
import signal
import subprocess
import threading

import pytest

from kappa.node import packed
from tests.fault_campaign.cluster import Cluster
from tests.fault_campaign.faults import replaced
from tests.fault_campaign.jobs import CONFIGURATION, PMIX
from tests.mpi_environment import MPI_ENVIRONMENT
from tests.repeating import timing
from tests.tiers import long
from tests.waiting import PATIENCE_S, until

from .conftest import KAPPA

FAIL = 1
LATE = "the watch waits 8 to 15 s for a node, and may name one that is late"
DAMAGED = 'head -c 4096 /dev/urandom > "$fake"'
# Each pair takes seconds, so that there is a measurement to stop.
SLOWLY = ("-S", "PairSweep.round_trips=1000000", "-S", "PairSweep.seconds=1")


@contextlib.contextmanager
def meanwhile(work):
    """``work`` beside, in a thread of its own, whose failure is this test's."""
    failures = []

    def run():
        try:
            work()
        except AssertionError as err:
            failures.append(err)

    thread = threading.Thread(target=run)
    thread.start()
    yield
    thread.join()
    assert not failures, failures


def validate_pairs(suite, *options):
    """The verdict of `kappa validate` over PairSweep alone, and what it said."""
    done = subprocess.run(
        [KAPPA, "validate", "embedded", "smoke", "--system=embedded:scratch", "-n", "PairSweep", *SLOWLY, *options],
        env=suite.environment(), capture_output=True, text=True, timeout=3 * PATIENCE_S, check=False,
    )  # fmt: skip
    assert done.returncode == FAIL, done.stdout + done.stderr
    _, verdict = suite.judge(max(suite.results.glob("runs/*-smoke/run-report.json")))
    return next(case for case in verdict["cases"] if case["check_class"] == "PairSweep"), verdict


def measured_on_the_rest(case):
    """The nodes of each measurement without the one that is named; what others ran beside it may make it INCOMPLETE."""
    assert all(again["purpose"] == "remaining-nodes" for again in case["repeated"])
    return [
        again["nodes"] for again in case["repeated"] if all(metric["value"] is not None for metric in again["metrics"])
    ]


@long
def test_a_stopped_rank_is_named_and_the_other_nodes_are_measured(suite):
    cluster = Cluster(suite.state, suite.results)

    def stop():
        [pid] = until(lambda: cluster.pids("node3", "kappa-measure"), "the rank is there")
        os.kill(pid, signal.SIGSTOP)

    with meanwhile(stop):
        case, verdict = validate_pairs(suite)
    assert (case["state"], case["suspects"]) == ("fail", ["node3"])
    assert [suspect["node"] for suspect in verdict["suspects"]] == ["node3"]
    assert "rank 2 of kappa-measure" in case["operator_line"] and "is stopped (state T)" in case["operator_line"]
    assert "cable" not in case["operator_line"]
    assert measured_on_the_rest(case) == [["node1", "node2", "node4"]]


@long
@timing(LATE)
@pytest.mark.parametrize("node", ["node1", "node4"])
def test_a_node_that_dies_in_a_job_is_named_also_the_first_one(suite, node):
    cluster = Cluster(suite.state, suite.results)

    def die():
        until(lambda: cluster.pids(node, "kappa-measure"), "the rank is there")
        os.kill(cluster.init_pid(node), signal.SIGKILL)

    try:
        with meanwhile(die):
            case, verdict = validate_pairs(suite)
    finally:
        suite.cluster("up")
    assert (case["state"], case["suspects"]) == ("fail", [node])
    assert [suspect["node"] for suspect in verdict["suspects"]] == [node]
    assert measured_on_the_rest(case) == [[f"node{number}" for number in range(1, 5) if f"node{number}" != node]]


# MPI is tried while the measurement has all cores of the nodes.
TRY_MPI = """\
#!/bin/bash
set -euo pipefail
{exports}
{launcher} {options} sleep 600 &
until squeue --noheader --steps --jobs="$SLURM_JOB_ID" | grep -q '\\.0 '; do sleep 0.2; done
tried='steps.starts_of_mpi([["node1", "node2"], ["node3"]], 4, "libmpi.so.40", ["{launcher}"])'
python3 -c "import sys; sys.path.insert(0, 'kappa-node'); from kappa.node.watch import steps; print($tried)"
kill %1
"""


@pytest.mark.parametrize(("launcher", "options"), [("srun", "--mpi=pmix"), ("mpirun", "--map-by node")])
def test_mpi_is_tried_beside_a_measurement(suite, launcher, options):
    stage = suite.results / f"try-{launcher}"
    stage.mkdir()
    (stage / packed.PROGRAM).write_bytes(packed.program())
    exports = "\n".join(f"export {name}={value}" for name, value in MPI_ENVIRONMENT.items())
    (stage / "job.sh").write_text(TRY_MPI.format(launcher=launcher, options=options, exports=exports))
    suite.cluster("exec", "login", "sbatch", "--wait", "-pscratch", "-N4", "--exclusive", "--ntasks-per-node=2",
                  f"--chdir={stage}", f"--output={stage / 'out'}", stage / "job.sh")  # fmt: skip
    assert "[True, True]" in (stage / "out").read_text().splitlines(), (stage / "out").read_text()


@long
@timing(LATE)
@pytest.mark.parametrize(
    ("node", "path", "make", "told"),
    [("node2", PMIX, DAMAGED, "MPI does not start with"),
     ("node1", PMIX, DAMAGED, "srun on this node starts no step"),
     ("node3", CONFIGURATION, 'mkfifo "$fake"', f"openat of {CONFIGURATION}")],
    ids=["MPI on another node", "srun on the first node", "a file that MPI reads"],
)  # fmt: skip
def test_an_mpi_that_does_not_start_is_named(suite, node, path, make, told):
    cluster = Cluster(suite.state, suite.results)
    with replaced(cluster, node, path, make):
        case, verdict = validate_pairs(suite)
    assert (case["state"], case["suspects"]) == ("fail", [node])
    assert [suspect["node"] for suspect in verdict["suspects"]] == [node]
    assert told in case["operator_line"]


@long
def test_a_job_that_its_time_limit_ended_blames_nobody(suite):
    limits = ("-S", "PairSweep.seconds=60", "-S", "PairSweep.time_limit=5s")
    status, verdict = suite.run("-n", "PairSweep", *SLOWLY, *limits)
    [case] = [case for case in verdict["cases"] if case["check_class"] == "PairSweep"]
    assert (status, case["state"], case["suspects"], verdict["suspects"]) == (FAIL, "fail", [], [])
    assert "Slurm ended the job before it was done: TIMEOUT" in case["operator_line"]
    assert "cable" not in case["operator_line"]
