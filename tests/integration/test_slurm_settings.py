"""Slurm as sites set it up: what each setting does to a run (docs/slurm.md)."""

import contextlib
import json
import shutil
import subprocess
import threading
import time
from collections import Counter

import pytest

from kappa.app.conduct import preflight
from kappa.core.ground.errors import InputError
from kappa.core.sites.load import Site
from tests.tiers import long
from tests.waiting import until

from .conftest import REPOSITORY, SITE, Suite

INCOMPLETE = 2
CHECKS = REPOSITORY / "tests/nap_check.py"
PARTITIONS = """\
MaxArraySize=1
PartitionName=short Nodes=ALL MaxTime=5
PartitionName=closed Nodes=ALL AllowAccounts=nobody
PartitionName=gold Nodes=ALL AllowQos=gold
PartitionName=mine Nodes=ALL ExclusiveUser=YES
"""
OURS = """\
  open: &ours {nodes: 2, features: [], environments: [packaged], access: [], slurm_partition: cpu}
  short: {<<: *ours, slurm_partition: short}
  short_kept: {<<: *ours, slurm_partition: short, max_time: 4m}
  short_left: {<<: *ours, slurm_partition: short, max_time: 1s}
  closed: {<<: *ours, slurm_partition: closed}
  gold: {<<: *ours, slurm_partition: gold}
  mine: {<<: *ours, slurm_partition: mine}
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Gives what writes the embedded site with partitions besides, and keys of all."""
    root = tmp_path_factory.mktemp("sites")

    def write(name, **keys):
        folder = root / name / "embedded"
        shutil.copytree(SITE / "references", folder / "references")
        for file in ("expected.yaml", "settings.py"):
            shutil.copy(SITE / file, folder)
        text = (SITE / "site.yaml").read_text().replace("\npartitions:\n", f"\npartitions:\n{OURS}")
        defaults = "".join(f"  {key}: {value}\n" for key, value in keys.items() if key != "cluster")
        text = text.replace("partition_defaults:\n", f"partition_defaults:\n{defaults}")
        cluster = f"cluster: {keys['cluster']}\n" if "cluster" in keys else ""
        (folder / "site.yaml").write_text(cluster + text.replace("    predicted_by: embedded-cpu\n", ""))
        return folder

    return write


@contextlib.contextmanager
def started(root, *options):
    suite = Suite(root / "cluster", root / "results")
    suite.results.mkdir()
    done = suite.cluster("up", "--nodes=2", *options, check=False)
    assert done.returncode == 0, done.stderr
    try:
        yield suite
    finally:
        suite.cluster("down")


@pytest.fixture(scope="module")
def limited(tmp_path_factory):
    """A cluster with accounts whose limits count."""
    with started(tmp_path_factory.mktemp("limited")) as suite:
        file = suite.state / "etc/slurm/slurm.conf"
        text = file.read_text().replace("Enforce=nosteps", "Enforce=associations,limits,qos,nosteps")
        file.write_text(text + PARTITIONS)
        suite.cluster("exec", "login", "pkill", "slurmctld")
        suite.cluster("up")
        sacctmgr(suite, "add", "qos", "gold")
        yield suite


def sacctmgr(suite, *words):
    done = suite.cluster("exec", "login", "sacctmgr", "--immediate", *words, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def without_accounting(tmp_path_factory):
    with started(tmp_path_factory.mktemp("plain"), "--no-accounting") as suite:
        yield suite


def napped(suite, site, partition="", count=1):
    """Exit status, verdict and what the cases came to, of naps in the partition, or in all."""
    path = suite.results / "naps.json"
    path.unlink(missing_ok=True)
    options = ["-n", f"Nap.*=[1-{count}]", *([f"--system=embedded:{partition}"] if partition else [])]
    done = suite.reframe("-r", f"--report-file={path}", "-S", "hold_s=0", *options, checks=CHECKS, site=site)
    assert path.exists(), done.stdout + done.stderr
    status, verdict = suite.judge(path)
    return status, verdict, Counter((case["partition"], case["result"]) for case in cases_of(suite))


def cases_of(suite):
    """Return the lengths of the last naps."""
    report = json.loads((suite.results / "naps.json").read_text())
    return [case for run in report["runs"] for case in run["testcases"]]


def refusal(suite, site, monkeypatch, *options):
    monkeypatch.setenv("KAPPA_CLUSTER_STATE", str(suite.state))
    with pytest.raises(InputError) as raised:
        preflight.require_ready(Site(site), suite.results, "nightly", ["--system=embedded:open", *options])
    return str(raised.value)


@long
def test_what_slurm_never_starts_is_cancelled_and_named_with_the_remedy(limited, site):
    """In each partition at once; job arrays are forbidden meanwhile."""
    status, verdict, results = napped(limited, site("limits"))
    assert (status, verdict["counts"]["failed"], verdict["suspects"]) == (INCOMPLETE, 0, [])
    assert results["open", "pass"] == results["mine", "pass"] == results["short_kept", "pass"] == 1
    assert results["short_left", "skip"] == 1
    gaps = json.dumps(verdict["incomplete"])
    assert "Slurm would not have started the job: PartitionTimeLimit" in gaps and "`max_time` in site.yaml" in gaps
    assert "Job's account not permitted to use this partition (closed " in gaps and "-J account=NAME" in gaps
    assert "Job's QOS not permitted to use this partition (gold " in gaps and "-J qos=NAME" in gaps
    assert "`max_time` of the partition is 1s" in gaps
    assert not limited.jobs()


@long
def test_jobs_wait_at_the_limit_of_a_user(limited, site, monkeypatch):
    folder = site("submit")
    try:
        sacctmgr(limited, "modify", "user", "root", "set", "maxsubmitjobs=1")
        _, _, results = napped(limited, folder, "open", count=3)
        assert results == {("open", "pass"): 3}
        sacctmgr(limited, "modify", "user", "root", "set", "maxsubmitjobs=0")
        assert "AssocMaxSubmitJobLimit" in refusal(limited, folder, monkeypatch)
    finally:
        sacctmgr(limited, "modify", "user", "root", "set", "maxsubmitjobs=-1")


@long
def test_a_database_that_dies_ends_no_run(limited, site, monkeypatch):
    folder, done = site("dies"), []
    beside = threading.Thread(target=lambda: done.append(napped(limited, folder, "open", count=3)))
    beside.start()
    try:
        until(limited.jobs, "a job is there", poll_s=0.2)
        limited.cluster("exec", "login", "pkill", "-9", "slurmdbd")
        beside.join()
        assert done[0][2] == {("open", "pass"): 3}
        said = refusal(limited, folder, monkeypatch)
        assert "accounting does not report jobs: " in said and "`scheduler: squeue`" in said
    finally:
        beside.join()
        limited.cluster("up")


@long
@pytest.mark.parametrize(("scheduler", "kept"), [("slurm", True), ("squeue", True), ("squeue", False)])
def test_a_controller_that_dies_for_a_while_ends_no_run_and_blames_no_node(limited, site, scheduler, kept):
    """For 8 s: Slurm's commands ask for longer, and what asks how jobs go asks again.

    It keeps the jobs every few seconds; what it has not kept it forgets, finds on a node again and ends.
    """
    folder, done, state = site(f"{scheduler}-{kept}", scheduler=scheduler), [], limited.state / "slurmctld/job_state"
    beside = threading.Thread(target=lambda: done.append(napped(limited, folder, "open", count=3)))
    beside.start()
    try:
        until(limited.jobs, "a job is there", poll_s=0.2)
        there_s = time.time()
        until(lambda: not kept or state.stat().st_mtime > there_s, "the jobs are kept", poll_s=0.2)
        limited.cluster("exec", "login", "pkill", "-9", "slurmctld")
        time.sleep(8)
    finally:
        limited.cluster("up")
        beside.join()
        until(lambda: not limited.jobs(), "no job is left", poll_s=0.5)
        # Slurm drains a node on which it finds a job whose number it has given again.
        until(lambda: is_idle(limited), "the nodes are idle", poll_s=1)
    [(_, verdict, results)] = done
    assert (results.total(), verdict["suspects"]) == (3, [])
    told = [case["fail_reason"] for case in cases_of(limited) if case["result"] != "pass"]
    assert all("Slurm" in reason for reason in told), told


def is_idle(suite):
    suite.cluster("up")
    return set(suite.cluster("exec", "login", "sinfo", "--noheader", "--format=%T").stdout.split()) == {"idle"}


@long
def test_one_cluster_by_its_name(limited, site, monkeypatch):
    _, _, results = napped(limited, site("named", cluster="kappa"), "open")
    assert results == {("open", "pass"): 1}
    assert "set `cluster` in site.yaml" in refusal(limited, site("unknown", cluster="nope"), monkeypatch)


@long
@pytest.mark.parametrize(("option", "said"), [("account=nope", "Invalid account"), ("qos=nope", "Invalid qos")])
def test_a_wrong_account_or_qos_is_said_before_any_job(limited, site, monkeypatch, option, said):
    assert said in refusal(limited, site(option.replace("=", "-")), monkeypatch, "-J", option)


@long
def test_without_accounting_squeue_tells_how_jobs_go(without_accounting, site, monkeypatch):
    said = refusal(without_accounting, site("sacct"), monkeypatch)
    assert "Slurm accounting storage is disabled" in said and "`scheduler: squeue`" in said
    _, _, results = napped(without_accounting, site("squeue", scheduler="squeue"), "open", count=3)
    assert results == {("open", "pass"): 3}


@long
def test_a_slow_squeue_slows_a_run_and_nothing_else(without_accounting, site, tmp_path):
    """For as long as its caller is patient; ``squeue`` of a hook that asks who has lost a node gives up before."""
    real = without_accounting.state / "bin/squeue"
    called = tmp_path / "called"
    (tmp_path / "squeue").write_text(f'#!/bin/sh\necho >> {called}\nsleep 11\nexec {real} "$@"\n')
    (tmp_path / "squeue").chmod(0o755)
    folder = site("slow", scheduler="squeue")
    text = (folder / "site.yaml").read_text()
    (folder / "site.yaml").write_text(text.replace("path: [", f"path: [{tmp_path}, "))
    _, verdict, results = napped(without_accounting, folder, "open")
    assert results == {("open", "pass"): 1} and verdict["suspects"] == []
    assert called.exists()
    processes = subprocess.run(["pgrep", "-f", str(tmp_path / "squeue")], capture_output=True, text=True, check=False)
    assert processes.stdout == ""
