import re

import pytest

from reframe_checks.parsers import applications
from reframe_checks.parsers.text import ParseError


def test_each_step_has_its_residual_and_continuity_error(recorded):
    log = applications.openfoam(recorded("openfoam/two_ranks.log"))
    assert (log.ranks, len(log.steps)) == (2, 4)
    assert log.steps[-1] == applications.FoamStep(
        0.0831558, (8.85888e-07, 7.68215e-06, 8.59773e-07), 4.7133e-11, (55, 112)
    )


def test_the_run_is_timed_by_the_wall_clock(recorded):
    found = applications.openfoam_profiling(recorded("openfoam/two_ranks.profiling"))
    assert found == applications.FoamProfile(4, 4.21861)


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("killed", "`End`"),
        ("diverged", "`End`|cut off"),
        ("fatal_error", "FOAM FATAL ERROR"),
        ("not_converged", "a residual of at most 1, found 2.94631"),
    ],
)
def test_a_run_that_did_not_end_well_says_why(recorded, file, message):
    with pytest.raises(ParseError, match=message):
        applications.openfoam(recorded(f"openfoam/{file}.log"))


@pytest.mark.parametrize("end", ["\n", ""])
@pytest.mark.parametrize(
    ("file", "parse"),
    [("two_ranks.log", applications.openfoam), ("two_ranks.profiling", applications.openfoam_profiling)],
)
def test_what_is_cut_off_before_its_last_figure_is_refused(recorded, file, parse, end):
    lines = recorded(f"openfoam/{file}").splitlines()
    last = next(number for number in reversed(range(len(lines))) if re.match("End|// [*]+ //", lines[number]))
    for length in range(last):
        with pytest.raises(ParseError):
            parse("\n".join(lines[:length]) + end)


@pytest.mark.parametrize(
    ("damaged", "by", "message"),
    [
        ("Final residual = 8.", "Final residual = nan", "solutions for Ux, Uy, p and p"),
        ("Time = 0.0125\n", "Time = 0.0135\n", "of steps of 0.003125 each"),
        ("DICPCG:  Solving for p, ", "DICPCG:  Solving for p, \n", "solutions for Ux, Uy, p and p"),
        ("global = 7.35694e-21", "global = 7.35695e-20", "a cumulative error of"),
    ],
)
def test_damage_is_refused(recorded, damaged, by, message):
    text = recorded("openfoam/two_ranks.log")
    assert damaged in text
    with pytest.raises(ParseError, match=message):
        applications.openfoam(text.replace(damaged, by))


@pytest.mark.parametrize(
    ("damaged", "by", "message"),
    [
        ("    trigger2\n", "    trigger12\n", "12 as id"),
        ("totalTime       4.21861", "totalTime       4.31861", r"a childTime of 4\.3187"),
    ],
)
def test_damaged_times_are_refused(recorded, damaged, by, message):
    text = recorded("openfoam/two_ranks.profiling")
    assert damaged in text
    with pytest.raises(ParseError, match=message):
        applications.openfoam_profiling(text.replace(damaged, by))
