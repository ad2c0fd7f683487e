import pytest

from reframe_checks.parsers import applications
from reframe_checks.parsers.text import ParseError


def test_runs_with_their_rows(recorded):
    melting, measured = applications.lammps(recorded("lammps/two_ranks.log"))
    assert (measured.ranks, measured.atoms, measured.steps, measured.dangerous_builds) == (2, 8000, 60, 0)
    assert [row.step for row in melting.rows] == [0, 20, 40, 60]
    assert [row.step for row in measured.rows] == [60, 80, 100, 120]
    assert melting.rows[0].temperature_lj == 1.44
    assert 0 < measured.loop_s < 60


def test_the_log_of_a_newer_version_has_other_blanks_and_one_rate_more(recorded):
    text = recorded("lammps/two_ranks.log")
    newer = text.replace(
        "Step Atoms Temp PotEng KinEng TotEng", "   Step         Atoms  Temp          PotEng KinEng TotEng"
    )
    newer = "".join(
        line.replace(" timesteps/s", " timesteps/s, 2.262 Matom-step/s") for line in newer.splitlines(keepends=True)
    )
    assert newer != text
    assert applications.lammps(newer) == applications.lammps(text)


def test_builds_that_came_too_late_are_counted(recorded):
    assert [run.dangerous_builds for run in applications.lammps(recorded("lammps/dangerous_builds.log"))] == [1, 1]


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("lost_atoms", "Lost atoms: original 4000 current 143"),
        ("not_a_number", "Non-numeric atom coords"),
        ("killed", "cut off"),
    ],
)
def test_a_run_that_did_not_end_says_why(recorded, file, message):
    with pytest.raises(ParseError, match=message):
        applications.lammps(recorded(f"lammps/{file}.log"))


@pytest.mark.parametrize("end", ["\n", ""])
def test_a_run_cut_off_anywhere_is_refused(recorded, end):
    lines = recorded("lammps/two_ranks.log").splitlines()
    for length in range(len(lines)):
        with pytest.raises(ParseError):
            applications.lammps("\n".join(lines[:length]) + end)


@pytest.mark.parametrize(
    ("damaged", "by", "message"),
    [
        ("8000 1.4400000000 -6.3328119926", "7999 1.4400000000 -6.3328119926", "8000 atoms, as were created"),
        ("Loop time of 0.545917", "Loop time of 0.424562", "timesteps/s, by the steps and the loop time"),
        ("8000 1.4400000000 -6.3328119926", "8000 inf inf", "at most"),
        ("8000 1.4400000000 -6.3328119926", "8000 nan nan", "at most"),
        ("8000 1.4400000000 -6.3328119926", "8000 1.4400000000 -6.3328119925", None),
        ("8000 1.4400000000 -6.3328119926", "8000 1.4400000000 -6.3328119000", "sum of the potential and the kinetic"),
    ],
)
def test_figures_that_contradict_each_other_are_refused(recorded, damaged, by, message):
    text = recorded("lammps/two_ranks.log")
    assert damaged in text
    if message is None:  # the last digit is rounding
        assert applications.lammps(text.replace(damaged, by)) == applications.lammps(text)
        return
    with pytest.raises(ParseError, match=message):
        applications.lammps(text.replace(damaged, by))
