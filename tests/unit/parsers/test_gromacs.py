import pytest

from reframe_checks.parsers import gromacs
from reframe_checks.parsers.text import ParseError

TOTAL = "   -9.08783e+04    2.89006e+02    5.99021e+02\n"
VIRIAL = "    5.52429e+03   -5.46412e+02   -4.62479e+01\n"


def test_the_total_energy_is_the_mean_of_all_steps(recorded):
    assert gromacs.parse(recorded("gromacs/two_ranks.log")).energy_kj_mol == -90878.3


@pytest.mark.parametrize(
    ("damaged", "by", "message"),
    [
        ("= 0.002\n", "= 0.003\n", "a length of 0.6 ps"),
        (TOTAL, VIRIAL, "the sum of the potential and the kinetic one"),
        (TOTAL, TOTAL.replace("    5.99021e+02", ""), "one below each name"),
        ("   Total Energy    Temperature", "          Other    Temperature", "'Total Energy' among the averages"),
    ],
)
def test_figures_that_contradict_each_other_are_refused(recorded, damaged, by, message):
    text = recorded("gromacs/two_ranks.log")
    assert damaged in text
    with pytest.raises(ParseError, match=message):
        gromacs.parse(text.replace(damaged, by))
