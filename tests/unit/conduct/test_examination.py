"""`kappa doctor` of a site, with scripts that print recorded output in place of Slurm's commands."""

import pathlib

import pytest

from kappa.app.conduct.doctor.examination import Examination
from kappa.app.survey.doctor.results import NOT_APPLICABLE, RIGHT, WRONG
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
