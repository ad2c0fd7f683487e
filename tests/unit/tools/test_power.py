"""The tables of ``python -m tests.power``, and the upper bound of a rate of false positives."""

import pytest

from tests import power


def test_the_first_table_finds_more_of_what_is_slower():
    title, _, table = power._bounds(20)
    assert title.startswith("**One run")
    for row in table.splitlines()[2:]:
        values, *found, _ = [float(cell.strip("| %")) for cell in row.split(" | ")]
        assert values in (20, 60, 200)
        assert len(found) == len(power.SLOW_DOWNS) and found == sorted(found)
        assert found[0] < 20 and found[-1] > 80


@pytest.mark.parametrize(
    ("alarms", "months", "at_most"),
    # No event: -ln(0.05) in all. One event: Garwood's table (1936).
    [(0, 1, 2.9957), (0, 12, 0.2496), (1, 1, 4.7439)],
)
def test_the_most_alarms_a_month(alarms, months, at_most):
    assert power.most_a_month(alarms, months) == pytest.approx(at_most, abs=1e-4)
