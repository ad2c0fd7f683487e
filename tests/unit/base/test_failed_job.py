"""A failed job says why, beside its exit code."""

from types import SimpleNamespace

import pytest
from reframe.core.exceptions import SanityError

from reframe_checks.base.check import KappaCheck
from reframe_checks.base.evidence import MAX_ERROR_CHARS
from tests.stand_in import StandIn


def failed(said, code=3):
    check = StandIn(
        KappaCheck, stderr="job.err", output_text=said if callable(said) else lambda _: said, is_dry_run=lambda: False,
        job=SimpleNamespace(exitcode=code),
    )  # fmt: skip
    with pytest.raises(SanityError) as caught:
        check.say_why_the_job_failed()
    return str(caught.value)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("reading\nsolver: Error: full\nerror: later\nsrun: error: n1: task 0: Killed\n", ": solver: Error: full"),
        ("srun: error: n1: task 0: Exited with exit code 3\nslurmstepd-n1: error: *** STEP 1.0 ***\n", ""),
        ("terror\n", ""),
    ],
)
def test_the_first_error_that_slurm_did_not_write_is_told(said, told):
    assert failed(said) == f"job exited with exit code 3{told}"


def test_a_job_that_wrote_nothing_still_has_its_exit_code():
    def absent(_):
        raise SanityError("cannot read job.err")

    assert failed(absent) == "job exited with exit code 3: cannot read job.err"


def test_a_long_line_is_cut():
    assert len(failed(f"error {'x' * 10_000}")) < MAX_ERROR_CHARS + 50


def test_a_job_that_ended_well_is_judged_by_its_outputs():
    StandIn(KappaCheck, is_dry_run=lambda: False, job=SimpleNamespace(exitcode=0)).say_why_the_job_failed()
