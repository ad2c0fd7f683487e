"""Errors that prevent a whole run: reported at once, in at most five lines with the remedy, and with status 2.

A dead Slurm and a wrong account are tested in test_preflight.py of unit/conduct and integration.
"""

import os
import subprocess
import sys

import pytest

from kappa.core.ground.folders import SUITE as REPOSITORY
from tests.waiting import PATIENCE_S

KAPPA = ["-c", "import sys; from kappa.app.command.main import main; sys.exit(main())"]


def said(tmp_path, *arguments, python=(sys.executable,), **environment):
    """Return the command's lines on standard error when it cannot run."""
    done = subprocess.run(
        [*python, *KAPPA, *arguments], cwd=REPOSITORY, capture_output=True, text=True, timeout=PATIENCE_S, check=False,
        env={**os.environ, "KAPPA_RESULTS": str(tmp_path / "results"), "KAPPA_CLUSTER_STATE": str(tmp_path / "none"),
             **environment},
    )  # fmt: skip
    assert done.returncode == 2, done.stdout + done.stderr
    lines = done.stderr.splitlines()
    assert 1 <= len(lines) <= 5
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.glob("results/runs/*"))
    return done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["validate", "embeded"], "did you mean 'embedded'?"),
        (["validate", "embedded", "smok"], "did you mean 'smoke'?"),
        (["validate", "embedded", "smoke", "--system=embedded:nosuch"], "expected one of applications, cpu, gpu"),
        (["night", "run", "embedded", "--mode", "smok"], "did you mean 'smoke'?"),
        (["cluster", "exec", "node1", "true"], "start it with `cluster up`"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_wrong_name_or_no_cluster(tmp_path, arguments, words):
    assert words in said(tmp_path, *arguments)


def test_no_python_environment(tmp_path):
    assert "`make setup`" in said(tmp_path, "validate", "embedded", python=(sys.executable, "-S"))


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a file system")
def test_a_full_disk(tmp_path):
    results = tmp_path / "results"
    results.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", results], check=True)
    try:
        assert "a run needs 64; set KAPPA_RESULTS" in said(tmp_path, "validate", "embedded")
    finally:
        subprocess.run(["umount", results], check=True)
