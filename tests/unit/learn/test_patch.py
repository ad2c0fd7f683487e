"""How bounds are written."""

import datetime
import math

import numpy as np
import pytest
import yaml
from reframe.utility.sanity import reference_bounds

from reports.learn.limits import Limits
from reports.learn.patch import Proposal, diff
from reports.learn.samples import Place


@pytest.fixture
def written(tmp_path):
    """A function that gives the bounds that ReFrame takes from what is proposed."""
    (tmp_path / "network.yaml").write_text("Some:\n  metric: [1, null, null, us]\n", encoding="utf-8")

    def bounds(limits):
        proposal = Proposal(Place("network.yaml", ("Some", "metric")), limits, "us", "learned", 20, "")
        patch = diff(tmp_path, [proposal], datetime.date(2026, 11, 21))
        (line,) = (line for line in patch.splitlines() if line.startswith("+  metric:"))
        return reference_bounds(*yaml.safe_load(line[1:])["metric"][:3])

    return bounds


@pytest.mark.parametrize("centre", [0.0, 0.12346, 1.23449, -1.23449, 98765.4])
def test_bounds_are_rounded_outwards(written, centre):
    for reach in np.random.default_rng(1).uniform(0, 0.5, 30) * (abs(centre) or 1.0):
        limits = Limits(centre, centre - reach, centre + reach)
        lower, upper = written(limits)
        assert lower <= limits.lower and upper >= limits.upper


def test_the_largest_value_stays_within_the_bound_of_a_level_of_0(written):
    assert written(Limits(0.0, -math.inf, 0.123449)) == (-math.inf, 0.1235)


def test_a_measured_value_on_the_bound_keeps_it(written):
    """3.3 * (1 + 0.005) is less than 3.3165 in binary, for instance."""
    for share in range(60):
        highest = 33 * (1000 + share) / 10000
        assert written(Limits(3.3, -math.inf, highest))[1] >= highest


@pytest.mark.parametrize("centre", [1.23449, 1.23451, -1.23449, -1.23451])
def test_a_bound_on_the_level_is_one_that_reframe_takes(written, centre):
    """Rounding takes the value past it, and ReFrame wants no positive fraction below, and no negative above."""
    lower, upper = written(Limits(centre, centre, centre))
    assert lower <= centre <= upper
