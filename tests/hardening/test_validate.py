"""The conductor with ReFrame replaced by a script: names, locks, permissions, and reports cut off."""

import fcntl
import os
import pathlib
import shutil
import stat
import subprocess
import sys

import pytest

REPOSITORY = pathlib.Path(__file__).parents[2]
SAMPLE = REPOSITORY / "tests/data/reports/campaign.json"
REPORT = 'for word; do case $word in --report-file=*) report=${word#*=} ;; esac; done\n'


@pytest.fixture
def tree(tmp_path):
    (tmp_path / "site_configs/embedded").mkdir(parents=True)
    (tmp_path / "site_configs/embedded/settings.py").touch()
    shutil.copy(REPOSITORY / "site_configs/validate", tmp_path / "site_configs/validate")
    shutil.copy(REPOSITORY / "site_configs/embedded/expected.yaml", tmp_path / "site_configs/embedded")
    for package in ("reports", "reframe_checks"):
        (tmp_path / package).symlink_to(REPOSITORY / package)
    (tmp_path / ".venv/bin").mkdir(parents=True)
    python = tmp_path / ".venv/bin/python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    return tmp_path


def validate(tree, reframe, *arguments):
    script = tree / ".venv/bin/reframe"
    script.write_text(f"#!/bin/bash\n{REPORT}{reframe}\n")
    script.chmod(0o755)
    return subprocess.run(
        [tree / "site_configs/validate", *arguments], capture_output=True, text=True, timeout=120, check=False,
        env={**os.environ, "KAPPA_RESULTS": str(tree / "results")},
    )  # fmt: skip


@pytest.mark.parametrize("name", ["../embedded", "$(touch pwned)", "a b", ".", "x;true"])
def test_a_name_is_no_path_and_no_command(tree, name):
    for arguments in ((name,), ("embedded", name)):
        done = validate(tree, "touch ran", *arguments)
        assert done.returncode == 2
        assert "expected letters, digits" in done.stderr
    assert not (tree / "results").exists()


def test_a_report_cut_off_is_incomplete_and_kept_aside(tree):
    done = validate(tree, f'head -c 5000 "{SAMPLE}" > "$report"', "embedded")
    assert done.returncode == 2
    assert "report is not complete" in done.stderr
    [run] = (tree / "results/runs").iterdir()
    assert [path.name for path in run.iterdir()] == ["run-report.json.part"]


def test_results_are_private_and_whole(tree):
    done = validate(tree, f'cat "{SAMPLE}" > "$report"', "embedded")
    assert "report: " in done.stdout, done.stderr
    [run] = (tree / "results/runs").iterdir()
    assert (run / "run-report.json").read_bytes() == SAMPLE.read_bytes()
    for path in [tree / "results", *(tree / "results").rglob("*")]:
        assert not stat.S_IMODE(path.stat().st_mode) & 0o077, path


def test_two_runs_at_once(tree):
    (tree / "results").mkdir()
    with (tree / "results/lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = validate(tree, "touch ran", "embedded")
    assert done.returncode == 2
    assert "another run uses" in done.stderr
    assert not list((tree / "results/runs").iterdir())


def test_results_that_cannot_be_written(tree):
    (tree / "results").write_text("a file, where root's permissions do not help either")
    done = validate(tree, "touch ran", "embedded")
    assert done.returncode == 2
    assert "cannot write in" in done.stderr
