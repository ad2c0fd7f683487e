"""Questions of `kappa site new` to Slurm's commands on PATH."""

import pytest

from kappa.app.conduct import preflight
from kappa.app.conduct.surveying import Asker
from kappa.core.ground.processes import Stop


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("[ $1 = --noheader ]", ""),
        ("echo 'sacct: error: Access/permission denied' >&2; exit 1", "said: sacct: error: Access/permission denied"),
        ("echo 'Slurm accounting storage is disabled' >&2; exit 1", "said: Slurm accounting storage is disabled"),
        ("exec sleep 60", "it did not end within 0.2 s"),
        (None, "there is no `sacct` on PATH: load Slurm's module, or use a login node of the cluster"),
    ],
)
def test_why_sacct_does_not_tell_how_jobs_go(tmp_path, monkeypatch, script, said):
    if script is None:
        monkeypatch.setenv("PATH", str(tmp_path))
    else:
        (tmp_path / "sacct").write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / "sacct").chmod(0o755)
        if "sleep" in script:
            monkeypatch.setattr(preflight, "ANSWER_S", 0.2)
    found = Asker(Stop(), [str(tmp_path)], [], 1.0).no_accounting()
    assert found.endswith(said) if said else found == ""
