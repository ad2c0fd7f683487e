"""`kappa doctor` of a site, with scripts that print recorded output in place of Slurm's commands."""

import pathlib

import pytest

from kappa.app.conduct.doctor.examination import Examination
from kappa.app.survey.doctor.results import NOT_APPLICABLE, RIGHT, UNTOLD, WRONG
from kappa.core.ground.folders import SUITE as REPOSITORY
from kappa.core.ground.processes import Stop
from kappa.core.sites.site_file import describe

DATA = REPOSITORY / "tests/data/survey"
SAID = {"scontrol": 'cat "{data}/embedded-${{@: -1}}.txt"', "srun": 'cat "{data}/embedded-mpi.txt"'}


@pytest.fixture
def accounting(tmp_path, monkeypatch):
    """Gives what examines a site of the partition ``cpu`` whose sacct is that script: the result for accounting."""
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("KAPPA_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("KAPPA_RESULTS", str(tmp_path / "results"))
    # No job: of accounting nothing is learnt by one.
    refuses = "echo 'allocation failure: Invalid qos specification' >&2; exit 1"
    for name, script in {**SAID, "sbatch": refuses, "sacctmgr": "exit 1"}.items():
        program(tmp_path / name, script.format(data=DATA))

    def examine(sacct: str, scheduler: str = "slurm"):
        program(tmp_path / "sacct", sacct)
        folder = tmp_path / "site_configs/one"
        folder.mkdir(parents=True)
        text = (REPOSITORY / "site_configs/cpu-infiniband/site.yaml").read_text()
        (folder / "site.yaml").write_text(text.replace("\n  cpu:\n", f"\n  cpu:\n    scheduler: {scheduler}\n"))
        found = Examination(describe(folder), 2, 1.0, Stop(), lambda _: None).results()
        [one] = [each for each in found if each.subject == "accounting"]
        return one

    return examine


# Starts the command as the task of a single node.
STEP = """case "$*" in *--mpi=list*) cat "{data}/embedded-mpi.txt"; exit;; esac
while [[ $1 == --* ]]; do shift; done
SLURMD_NODENAME=node1 "$@" | sed -u 's/^/0: /'"""
# Runs the job's script before it answers. A compiler and a launcher are not needed to test that all is asked.
JOB = """for word; do case "$word" in --test-only) exit;; --output=*) output=${{word#*=}};; esac; done
bash "${{@: -1}}" >"$output" 2>&1; echo 17"""
SITE = """\
descr: a node
partitions:
  cpu:
    nodes: 2
    cores: {{per_node: 2}}
    environments: [system]
    features: [scale_one_node, network]
    storage: {{scratch: {{path: {folder}}}, shared: {{path: {folder}/none, parallel: true}}}}
environments:
  system: {{features: [fio, emt-build], build_dir: .kappa/build, cc: mpicc.none}}
"""


def test_jobs_ask_a_node_and_leave_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("KAPPA_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("KAPPA_RESULTS", str(tmp_path / "results"))
    scripts = {"sbatch": JOB, "squeue": "", "scancel": "", "sacct": "", "sacctmgr": "exit 1", "fio": ""}
    for name, script in {**SAID, **scripts, "srun": STEP}.items():
        program(tmp_path / name, script.format(data=DATA))
    scratch, folder = tmp_path / "scratch", tmp_path / "site_configs/one"
    scratch.mkdir()
    folder.mkdir(parents=True)
    (folder / "site.yaml").write_text(SITE.format(folder=scratch))
    found = Examination(describe(folder), 1, 20.0, Stop(), lambda _: None).results()
    states = {(each.subject, *each.places): each.state for each in found if not each.subject.startswith("quota")}
    right = ["nodes of a job", "user", "clock", "folder results", "folder .kappa", "storage scratch", "nodes", "jobs"]
    assert {subject: states.get((subject, "cpu")) for subject in right} == dict.fromkeys(right, RIGHT)
    assert states["storage shared", "cpu"] == states["compilers", "system"] == WRONG
    assert states["programs", "cpu+system"] == RIGHT and states["MPI", "cpu+system"] == UNTOLD
    assert states["compilers on nodes", "cpu+system"] == NOT_APPLICABLE
    assert not [*scratch.iterdir()] and not [*tmp_path.rglob("*kappa-doctor*")]


def program(path: pathlib.Path, script: str) -> None:
    path.write_text(f"#!/bin/bash\n{script}\n")
    path.chmod(0o755)


@pytest.mark.parametrize(
    "said", ["Slurm accounting storage is disabled", "sacct: error: Access/permission denied"],
)  # fmt: skip
def test_accounting_that_does_not_tell_is_wrong_with_the_remedy(accounting, said):
    one = accounting(f"echo '{said}' >&2; exit 1")
    assert (one.state, one.places) == (WRONG, ("cpu",))
    assert said in one.finding and "`scheduler: squeue`" in one.remedy


def test_accounting_that_tells_is_right(accounting):
    assert accounting("exit 0").state == RIGHT


def test_accounting_of_a_partition_that_does_without_is_not_asked(accounting, tmp_path):
    one = accounting(f"touch {tmp_path}/asked", "squeue")
    assert one.state == NOT_APPLICABLE and not (tmp_path / "asked").exists()
