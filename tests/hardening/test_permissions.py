"""Files of nights and reports are readable by their owner only, whatever the umask."""

import os
import pathlib
import stat
import subprocess
import sys

import pytest

from kappa.app.command.main import main
from tests.hardening.test_database import CHECK
from tests.hardening.test_validate import SAMPLE, make_kappa
from tests.sites.dry_run import settings

OPEN = 0o022


def modes_below(folder):
    paths = [folder, *folder.rglob("*")]
    assert any(path.is_file() for path in paths)
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in paths}


def private(modes):
    return not any(mode & 0o077 for mode in modes.values())


@pytest.fixture
def tree(tmp_path):
    """A site without ReFrame, and a Slurm that says with which umask it is called."""
    (tmp_path / "site_configs/mycluster").mkdir(parents=True)
    (tmp_path / "site_configs/mycluster/settings.py").touch()
    (tmp_path / ".venv/bin").mkdir(parents=True)
    make_kappa(tmp_path)
    (tmp_path / "bin").mkdir()
    for name, does in (("sbatch", 'umask > "$KAPPA_RESULTS/nightly/umask"; echo 1'), ("squeue", ":")):
        (tmp_path / "bin" / name).write_text(f"#!/bin/sh\n{does}\n")
        (tmp_path / "bin" / name).chmod(0o755)
    return tmp_path


def nightly(tree, action, *arguments):
    path = f"{tree / 'bin'}:{os.environ['PATH']}"
    return subprocess.run(
        [tree / ".venv/bin/kappa", "night", action, "mycluster", *arguments], cwd=tree, umask=OPEN,
        capture_output=True, text=True, check=False,
        env={**os.environ, "PATH": path, "KAPPA_RESULTS": str(tree / "results")},
    )  # fmt: skip


def test_a_night_from_its_lock_on(tree):
    assert "reframe: run `make setup`" in nightly(tree, "run").stderr
    assert private(modes_below(tree / "results"))


def test_a_schedule_and_what_slurm_writes_for_it(tree):
    assert nightly(tree, "schedule", "sbatch").returncode == 0
    assert private(modes_below(tree / "results"))
    # Slurm takes it for the job's output.
    assert (tree / "results/nightly/umask").read_text() == "0077\n"


@pytest.mark.parametrize("site", ["embedded", "ibisco-like", "cpu-infiniband"])
def test_reframes_database_whoever_calls_reframe_first(tmp_path, monkeypatch, site):
    # Settings put a site's programs first on PATH.
    monkeypatch.setenv("PATH", os.environ["PATH"])
    [storage] = settings(site)["storage"]
    storage["sqlite_db_file"] = str(tmp_path / "results.db")
    (tmp_path / "settings.py").write_text(f"site_configuration = {{'storage': [{storage}]}}")
    (tmp_path / "check.py").write_text(CHECK)
    done = subprocess.run(
        [
            pathlib.Path(sys.executable).with_name("reframe"), "--nocolor", "-C", "settings.py", "-c", "check.py", "-r",
            "--report-file=report.json",
        ],
        cwd=tmp_path, umask=OPEN, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert stat.S_IMODE((tmp_path / "results.db").stat().st_mode) == 0o600


def test_a_history_read_in_by_hand(tmp_path, monkeypatch):
    monkeypatch.setenv("KAPPA_RESULTS", str(tmp_path))
    before = os.umask(OPEN)
    try:
        assert main(["history", "embedded", "--add", str(SAMPLE)]) == 0
        assert os.umask(OPEN) == OPEN, "as it was for who calls it"
    finally:
        os.umask(before)
    assert private(modes_below(tmp_path / "history"))
