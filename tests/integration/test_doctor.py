"""`kappa doctor` on the embedded cluster: all right, and each fault that is put in named with its remedy."""

import json
import shutil
import subprocess

import pytest

from tests.tiers import long
from tests.waiting import PATIENCE_S

from .conftest import KAPPA, SITE

PASS, FAIL, INCOMPLETE = 0, 1, 2
ENVIRONMENT = """\
    features: [fio, emt-build]
    build_dir: .kappa/build
    env_vars: {OMPI_MCA_hwloc_base_binding_policy: none, OMPI_ALLOW_RUN_AS_ROOT: 1, OMPI_ALLOW_RUN_AS_ROOT_CONFIRM: 1%s}
"""
HEALTHY = f"""\
descr: healthy
partitions:
  cpu:
    nodes: 2
    cores: {{per_node: CORES}}
    environments: [system]
    features: [scale_one_node, network]
    storage:
      scratch: {{path: /scratch}}
      shared: {{path: /shared, parallel: true}}
environments:
  system:
{ENVIRONMENT % ""}"""
ILL = f"""\
descr: ill
partition_defaults: {{cores: {{per_node: CORES}}, features: [scale_one_node, network]}}
partitions:
  cpu:
    nodes: 3
    environments: [system, without-pmi]
    storage:
      scratch: {{path: /scratch/missing}}
      shared: {{path: /scratch, parallel: true}}
  gpu:
    nodes: 2
    environments: [system]
  kept:
    nodes: 4
    slurm_partition: scratch
    environments: [system]
    access: [--reservation=nobodys]
environments:
  system:
{ENVIRONMENT % ""}
  without-pmi:
{ENVIRONMENT % ", SLURM_MPI_TYPE: none"}"""


@pytest.fixture
def doctor(suite, tmp_path):
    """Has a site of this text looked at; returns the exit status and what was said, by subject and place."""
    cores = suite.cluster("exec", "node1", "nproc").stdout.strip()

    def look(text, *options):
        site = tmp_path / "sites/made"
        shutil.rmtree(site, ignore_errors=True)
        site.mkdir(parents=True)
        shutil.copy(SITE / "settings.py", site)
        (site / "site.yaml").write_text(text.replace("CORES", cores))
        said = tmp_path / "said.json"
        done = subprocess.run(
            [KAPPA, "--sites", site.parent, "doctor", "made", "--json", said, *options],
            env=suite.environment(PATH=f"{suite.state}/bin:{suite.environment()['PATH']}", KAPPA_HOME=str(tmp_path)),
            capture_output=True, text=True, timeout=2 * PATIENCE_S, check=False,
        )  # fmt: skip
        matters = json.loads(said.read_text())["matters"] if said.exists() else pytest.fail(done.stdout + done.stderr)
        return done.returncode, {
            (one["subject"], place): one for one in matters for place in one["places"] or [""]
        }, done.stdout  # fmt: skip

    return look


def test_a_healthy_site_passes_and_nothing_is_left(doctor, suite):
    status, found, said = doctor(HEALTHY)
    assert status == PASS, said
    assert found["MPI", "cpu+system"]["found"].startswith("srun connects")
    assert "see the same files" in found["storage shared", "cpu"]["found"]
    assert not [*suite.results.rglob("*kappa-doctor*")] and not suite.jobs()
    assert suite.cluster("exec", "node1", "sh", "-c", "ls /scratch /shared | grep kappa-doctor", check=False).returncode


@long
def test_each_fault_is_named_with_its_remedy(doctor, suite, tmp_path):
    """25 s: nodes wait for one another where they do not share."""
    date = tmp_path / "date"
    shutil.copy(shutil.which("date"), tmp_path / "date-as-it-is")
    date.write_text(f'#!/bin/sh\nexec {tmp_path}/date-as-it-is --date="3 minutes" "$@"\n')
    date.chmod(0o755)
    suite.cluster("exec", "node2", "mount", "--bind", str(date), shutil.which("date"))
    suite.cluster("exec", "node3", "mount", "-t", "tmpfs", "tmpfs", str(suite.results))
    try:
        status, found, said = doctor(ILL)
    finally:
        suite.cluster("exec", "node2", "umount", shutil.which("date"))
        suite.cluster("exec", "node3", "umount", str(suite.results))
    assert status == FAIL
    for (subject, place), words, remedy in (
        (("nodes", "cpu"), "site.yaml says 3, Slurm has 2", "`nodes: 2`"),
        (("clock", "cpu"), "node2 is 1", "NTP"),
        (("storage scratch", "cpu"), "has no folder /scratch/missing", "storage.scratch.path"),
        (("storage shared", "cpu"), "node[1-2] does not see what other nodes write into /scratch", "`parallel: true`"),
        (("MPI", "cpu+without-pmi"), "srun", "SLURM_MPI_TYPE: pmix"),
        (("folder results", "gpu"), "node3 does not see what this machine wrote", "KAPPA_RESULTS"),
        (("jobs", "kept"), "reservation", "scontrol show reservation"),
    ):
        one = found[subject, place]
        assert one["state"] == "wrong" and words in one["found"] and remedy in one["remedy"], (one, said)
    assert found["MPI", "cpu+system"]["state"] == found["clock", "gpu"]["state"] == "right"
    assert found["MPI", "gpu+system"]["state"] == found["nodes of a job", "kept"]["state"] == "not told"


def test_busy_nodes_blame_nobody(doctor, suite):
    job = suite.cluster(
        "exec", "login", "sbatch", "--parsable", "-pcpu", "-N2", "--exclusive", "--wrap=sleep 600", "-o/dev/null"
    )
    number = job.stdout.strip()
    try:
        suite.cluster(
            "exec", "login", "sh", "-c", f"until squeue -hj {number} -tRUNNING | grep -q .; do sleep 0.2; done"
        )
        status, found, said = doctor(HEALTHY, "--wait", "3")
    finally:
        suite.cluster("exec", "login", "scancel", number)
    assert status == INCOMPLETE, said
    assert "2 nodes did not become free within 3 s (Slurm: Resources" in found["nodes of a job", "cpu"]["found"]
    assert not {one["state"] for one in found.values()} & {"wrong"}
    assert not suite.jobs()
