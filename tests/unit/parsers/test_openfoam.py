import re

import pytest

from reframe_checks.parsers import openfoam
from reframe_checks.parsers.errors import ParseError


def test_each_step_has_its_residual_and_continuity_error(recorded):
    log = openfoam.parse(recorded("openfoam/two_ranks.log"))
    assert (log.ranks, len(log.steps)) == (2, 4)
    assert log.steps[-1] == openfoam.Step(0.0831558, 7.68215e-06, 4.7133e-11, (55, 112))


def test_the_run_is_timed_by_the_wall_clock(recorded):
    assert openfoam.parse_profiling(recorded("openfoam/two_ranks.profiling")) == openfoam.Profile(4, 4.21861)


def test_times_that_were_rounded_apart_are_of_one_run(recorded):
    # Its parent says 0.388083 s of all children, which are 0.388084 s together.
    assert openfoam.parse_profiling(recorded("openfoam/rounded.profiling")).steps == 4


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
        openfoam.parse(recorded(f"openfoam/{file}.log"))


@pytest.mark.parametrize("end", ["\n", ""])
@pytest.mark.parametrize(
    ("file", "parse"), [("two_ranks.log", openfoam.parse), ("two_ranks.profiling", openfoam.parse_profiling)]
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
    ],
)
def test_damage_is_refused(recorded, damaged, by, message):
    text = recorded("openfoam/two_ranks.log")
    assert damaged in text
    with pytest.raises(ParseError, match=message):
        openfoam.parse(text.replace(damaged, by))
