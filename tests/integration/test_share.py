"""Nodes that do not see the jobs' folder: a single one is named; if no node sees it, no job starts."""

import contextlib
import pathlib
import subprocess
import sys

import pytest

from kappa.core.ground.folders import home
from tests.tiers import long
from tests.waiting import PATIENCE_S

from .conftest import KAPPA, REPOSITORY

INCOMPLETE = 2


@contextlib.contextmanager
def without_results(suite, *nodes):
    """An empty folder in the place of the results on these nodes, as where a share is not mounted."""
    with contextlib.ExitStack() as undo:
        for node in nodes:
            suite.cluster("exec", node, "mount", "-t", "tmpfs", "tmpfs", str(suite.results))
            undo.callback(suite.cluster, "exec", node, "umount", "--lazy", str(suite.results))
        yield


def test_a_node_without_the_share_is_named_for_that(suite):
    """As one of a job's nodes (partition scratch), and as its first one (gpu)."""
    stranger, was_run = pathlib.Path("/tmp/kappa-node"), pathlib.Path("/tmp/kappa-node-was-run")
    with without_results(suite, "node3"), contextlib.ExitStack() as undo:
        # Slurm starts the tasks of such a node in /tmp.
        undo.callback(suite.cluster, "exec", "node3", "rm", "-f", stranger, was_run)
        suite.cluster("exec", "node3", "sh", "-c", f"echo ': > {was_run}' > {stranger}")
        status, verdict = suite.run("-n", "PartitionHealth", "--system=embedded:scratch")
        first_status, of_first = suite.run("-n", "PartitionHealth", "--system=embedded:gpu")
        files = suite.cluster("exec", "node3", "ls", "/tmp").stdout.split()
    assert stranger.name in files and was_run.name not in files
    assert (status, first_status) == (1, 1)
    for said in (verdict, of_first):
        assert [suspect["node"] for suspect in said["suspects"]] == ["node3"]
        [line] = [case["operator_line"] for case in said["cases"] if case["state"] == "fail"]
        assert f"node3: does not see {suite.results}" in line and "KAPPA_RESULTS" in line


def test_a_share_that_no_node_has_is_said_before_any_job(suite):
    runs = set(suite.results.glob("runs/*"))
    with without_results(suite, "node1", "node2", "node3", "node4"):
        done = subprocess.run(
            [KAPPA, "validate", "embedded", "smoke"],
            env=suite.environment(), capture_output=True, text=True, timeout=PATIENCE_S, check=False,
        )  # fmt: skip
    assert done.returncode == INCOMPLETE, done.stdout + done.stderr
    [line] = done.stderr.splitlines()
    assert f"compute nodes do not see {suite.results}" in line and "KAPPA_RESULTS" in line
    assert set(suite.results.glob("runs/*")) == runs


def test_nodes_have_no_way_out_of_the_cluster(suite):
    """So whatever else runs here needs no internet on compute nodes."""
    routes = suite.cluster("exec", "node1", "ip", "route").stdout
    assert "eth0" in routes and "default" not in routes


@contextlib.contextmanager
def without_folders_of_the_login_node(suite, *nodes):
    """Empty folders in the place of the user's home and the checkout; in them only what the site's environments name.

    That is ``.kappa``, with programs of `path` and what was built into `build_dir`, and the Python of this suite, which
    runs mpi4py's OSU demos in `path`: its virtual environment, and what that was made of.
    """
    hidden = [pathlib.Path.home(), REPOSITORY]
    named = [home() / ".kappa", pathlib.Path(sys.prefix), pathlib.Path(sys.base_prefix)]
    inside = [folder for folder in named if any(map(folder.is_relative_to, hidden))]
    kept = {folder: f"/run/kept/{number}" for number, folder in enumerate(inside)}
    script = []
    for folder, aside in kept.items():
        script += [f"mkdir -p {folder} {aside}", f"mount --bind {folder} {aside}"]
    for folder in hidden:
        # One of them may lie in another, which is empty by then.
        script += [f"mkdir -p {folder}", f"mount -t tmpfs tmpfs {folder}"]
    for folder, aside in kept.items():
        script += [f"mkdir -p {folder}", f"mount --bind {aside} {folder}"]
    with contextlib.ExitStack() as undo:
        for node in nodes:
            for folder in (*kept.values(), *hidden, *kept):
                undo.callback(suite.cluster, "exec", node, "umount", "--lazy", str(folder), check=False)
            suite.cluster("exec", node, "sh", "-ec", "\n".join(script))
        yield


@long
@pytest.mark.parametrize(
    ("partition", "checks"),
    [("cpu", "OsuLatency|EmtCorrectness"), ("scratch", "PartitionHealth|SoftwareInventory|NodeSweep|Fio|NodeScratch")],
)
def test_nodes_that_see_of_the_login_node_only_results_and_what_environments_name(suite, partition, checks):
    with without_folders_of_the_login_node(suite, "node1", "node2", "node3", "node4"):
        seen = suite.cluster("exec", "node1", "ls", "-A", REPOSITORY, pathlib.Path.home()).stdout.split()
        _, verdict = suite.run("-n", checks, f"--system=embedded:{partition}")
    assert "kappa" not in seen and ".bashrc" not in seen
    # Figures may be out of bounds beside other work; nothing else may be wrong.
    by_figures = [any(metric["state"] == "fail" for metric in case["metrics"]) for case in verdict["cases"]]
    told = zip(verdict["cases"], by_figures, strict=True)
    assert [case for case, figures in told if case["state"] != "pass" and not figures] == []
