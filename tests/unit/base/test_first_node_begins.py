"""A job whose script did not begin: the first node does not see the folder or cannot start the script, or none can."""

import types

import pytest
from reframe.core.exceptions import SanityError

from kappa.core.ground.errors import InputError
from reframe_checks.base import watch
from reframe_checks.base.watch import CheckWatch
from tests.stand_in import StandIn


@pytest.fixture
def ended(tmp_path, monkeypatch):
    """ended(**changes): the hook on a check whose job failed on node3 and node4 and left no output."""
    monkeypatch.setattr(watch, "runs_in_slurm", lambda _: True)
    blamed = []

    def look(state="FAILED", nodelist=("node3", "node4")):
        job = types.SimpleNamespace(stdout="rfm_job.out", stderr="rfm_job.err", nodelist=list(nodelist), state=state)
        check = StandIn(
            CheckWatch, stagedir=str(tmp_path), job=job, is_dry_run=lambda: False,
            blame=lambda how, nodes: blamed.append(nodes),
        )  # fmt: skip
        check.say_who_did_not_begin()
        return blamed

    return look


@pytest.mark.parametrize("state", ["FAILED", "COMPLETED"])
def test_the_first_node_of_a_job_without_output_is_named(ended, tmp_path, state):
    assert ended(state) == [{("node3",): ("unseen", f"does not see {tmp_path}, or may not write there")}]


def test_a_job_that_began_or_never_got_a_node_names_nobody(ended, tmp_path):
    assert ended(state="CANCELLED") == ended(nodelist=()) == []
    (tmp_path / "rfm_job.out").touch()
    assert ended() == []


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("slurmstepd-node3: error: TaskProlog failed status=1", True),
        ("slurmstepd: error: execve(): /var/spool/slurmd/job00012/slurm_script: No such file or directory", True),
        ("/bin/bash: error while loading shared libraries: libtinfo.so.6: invalid ELF header", True),
        ("slurmstepd: error: *** JOB 5 ON node3 CANCELLED AT 2026-11-27T23:00:00 ***", False),
        ("module: command not found", False),
    ],
)
def test_a_first_node_that_cannot_start_the_script_is_named(ended, tmp_path, line, named):
    (tmp_path / "rfm_job.out").touch()
    (tmp_path / "rfm_job.err").write_text(f"a site's greeting\n{line}\n")
    crashed = {("node3",): ("crashed", f"the job's script did not begin there: {line}")}
    assert ended() == ([crashed] if named else [])


@pytest.mark.parametrize("written", ["provenance.txt", "kappa_ended"])
def test_a_prolog_that_failed_after_the_script_began_is_left_to_the_watch(ended, tmp_path, written):
    for name in ("rfm_job.out", written):
        (tmp_path / name).touch()
    (tmp_path / "rfm_job.err").write_text("slurmstepd-node4: error: TaskProlog failed status=1\n")
    assert ended() == []


def test_a_folder_that_is_full_for_all_names_nobody(ended, monkeypatch):
    def full(*_):
        raise InputError("written_here: No space left on device")

    monkeypatch.setattr(watch, "write_atomically", full)
    with pytest.raises(SanityError, match=r"neither the job nor this machine can write .*No space left"):
        ended()


def test_a_listing_that_is_old_names_nobody(ended, monkeypatch, tmp_path):
    """As a client of NFS keeps it until it changes the folder itself."""

    def write(*_):
        (tmp_path / "rfm_job.out").touch()

    monkeypatch.setattr(watch, "write_atomically", write)
    assert ended() == []
