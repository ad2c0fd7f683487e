"""Nights join the present entries of a scrontab; a broken chain of ``sbatch`` is mended if possible."""

import os
import re
import subprocess
from unittest import mock

import pytest

from kappa.app.command import night
from kappa.app.command.main import main
from kappa.app.conduct.night import BusyError
from kappa.app.conduct.night_schedule import install
from kappa.core.ground.errors import InputError
from tests.unit.nightly.samples import parse

# As Slurm's: a file for each user, which another replaces as a whole; without one it says so.
SCRONTAB = """\
#!/bin/sh
case $1 in
    -l) cat "{tab}" 2>/dev/null || {{ echo "no crontab for $(id -un)" >&2; exit 1; }} ;;
    *) cp "$1" "{tab}" ;;
esac
"""
OFF = "#!/bin/sh\necho 'scrontab: error: scrontab is disabled on this cluster' >&2\nexit 1\n"
INCOMPLETE, BUSY = 2, 75
FAR = """\
descr: a cluster of several
cluster: beyond
path: [{bin}]
environments: {{gnu: {{features: []}}}}
partitions:
  cpu: {{nodes: 2, cores: {{per_node: 4}}, features: [], environments: [gnu]}}
"""


@pytest.fixture(autouse=True)
def environment():
    """In which a command leaves where Slurm's are."""
    with mock.patch.dict(os.environ):
        yield


@pytest.fixture
def scrontab(tmp_path, monkeypatch):
    program = tmp_path / "bin/scrontab"
    program.parent.mkdir()
    program.write_text(SCRONTAB.format(tab=tmp_path / "tab"))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")
    return program


def install_nights(tmp_path, *options):
    chosen = parse(["schedule", "mycluster", "scrontab", *options])
    install(chosen, ["/opt/kappa", "night"], tmp_path, tmp_path / "results")


def test_a_first_scrontab(scrontab, tmp_path, capsys):
    install_nights(tmp_path, "--at=03:30")
    listed = subprocess.run([scrontab, "-l"], capture_output=True, text=True, check=True).stdout
    assert re.search(r"\n30 3 \* \* \* /opt/python -I .*; exec /opt/kappa night\n", listed)
    assert f"#SCRON --output={tmp_path}/results/nightly/scrontab.log\n" in listed
    assert "every day at 03:30" in capsys.readouterr().out


def test_what_is_in_the_scrontab_stays_and_an_entry_is_replaced(scrontab, tmp_path):
    (tmp_path / "tab").write_text("0 1 * * * /bin/backup\n")
    install_nights(tmp_path, "--at=03:30")
    install_nights(tmp_path, "--at=04:00")
    lines = (tmp_path / "tab").read_text().splitlines()
    assert [line[:12] for line in lines if not line.startswith("#")] == ["0 1 * * * /b", "0 4 * * * /o"]


def test_a_dry_run_changes_nothing(scrontab, tmp_path, capsys):
    install_nights(tmp_path, "--dry-run")
    assert "exec /opt/kappa night" in capsys.readouterr().out
    assert not (tmp_path / "tab").exists()


def test_a_cluster_without_scrontab(scrontab, tmp_path, monkeypatch):
    scrontab.write_text(OFF)
    with pytest.raises(InputError, match=r"is disabled .* is ScronParameters=enable set"):
        install_nights(tmp_path)


def test_the_chain_goes_to_the_cluster_of_the_site_by_its_commands(tmp_path, monkeypatch, capsys):
    site = tmp_path / "sites/far"
    site.mkdir(parents=True)
    (site / "settings.py").touch()
    (site / "site.yaml").write_text(FAR.format(bin=tmp_path / "bin"))
    (tmp_path / "bin").mkdir()
    for name, says in (("squeue", ""), ("sbatch", "61;$SLURM_CLUSTERS")):
        (tmp_path / "bin" / name).write_text(f'#!/bin/sh\necho "{says}"\necho "$SLURM_CLUSTERS" >>{tmp_path}/asked\n')
        (tmp_path / "bin" / name).chmod(0o755)
    monkeypatch.setenv("KAPPA_SITES", str(site.parent))
    monkeypatch.setenv("KAPPA_RESULTS", str(tmp_path / "results"))
    assert main(["night", "schedule", "far", "sbatch"]) == 0
    assert main(["night", "schedule", "far", "sbatch", "--dry-run"]) == 0
    assert (tmp_path / "asked").read_text() == "beyond\nbeyond\n"
    submitted, shown = capsys.readouterr().out.splitlines()
    assert submitted.startswith("night submitted: job 61 starts at ")
    assert shown.startswith("env SLURM_CLUSTERS=beyond sbatch --parsable ")


@pytest.mark.parametrize(("failures", "late"), [(0, ""), (1, ""), (2, "Slurm is down")])
def test_a_next_night_is_submitted_at_the_end_if_it_could_not_be_before(tmp_path, monkeypatch, failures, late):
    calls, said = [], []

    def submit(options, command, log):
        calls.append(command)
        if len(calls) <= failures:
            raise InputError("Slurm is down")

    def conduct(options, site, results, lock, submit_late):
        said.append(submit_late())
        return 0

    monkeypatch.setenv("KAPPA_RESULTS", str(tmp_path))
    # As a night that Slurm starts: there is a cluster.
    monkeypatch.setenv("SLURM_JOB_ID", "1")
    monkeypatch.setattr(night, "submit_next", submit)
    monkeypatch.setattr("kappa.app.conduct.night.conduct", conduct)
    assert main(["night", "run", "embedded", "--resubmit"]) == 0
    assert said == [late]
    assert len(calls) == min(failures, 1) + 1


@pytest.mark.parametrize(("failing", "status"), [(True, INCOMPLETE), (False, BUSY)])
def test_a_chain_that_ends_beside_another_night_is_an_error(tmp_path, monkeypatch, failing, status):
    def submit(*_):
        if failing:
            raise InputError("Slurm is down")

    def busy(path, site):
        raise BusyError("another night is running")

    monkeypatch.setenv("KAPPA_RESULTS", str(tmp_path))
    # As a night that Slurm starts: there is a cluster.
    monkeypatch.setenv("SLURM_JOB_ID", "1")
    monkeypatch.setattr(night, "submit_next", submit)
    monkeypatch.setattr("kappa.app.conduct.night.only_one", busy)
    assert main(["night", "run", "embedded", "--resubmit"]) == status
