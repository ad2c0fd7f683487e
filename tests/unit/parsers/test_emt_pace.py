import json

import pytest

from reframe_checks.parsers import emt_pace
from reframe_checks.parsers.errors import ParseError


@pytest.fixture
def text(recorded):
    return recorded("emt_pace/two_ranks.json")


def test_figures_of_each_rank(text):
    result, told = emt_pace.parse(text), json.loads(text)["pace"]
    assert (result.steps, result.dt_us, result.exchange, len(result.ranks)) == (20000, 50, "step", 2)
    assert max(rank.overruns for rank in result.ranks) == told["overruns"] > 0
    assert max(rank.late_worst_us for rank in result.ranks) == told["late_worst_us"] > 0


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [("overruns", 10**6, "with the steps in time 20000"), ("episodes", 30000, "of as many overruns"),
     ("late_p999_us", 1e9, "of as many overruns"), ("rank", 7, "ranks in their order")],
)  # fmt: skip
def test_a_rank_that_contradicts_itself_is_refused(text, key, value, told):
    spoilt = json.loads(text)
    spoilt["pace"]["per_rank"][1][key] = value
    with pytest.raises(ParseError, match=told):
        emt_pace.parse(json.dumps(spoilt) + "\n")


def test_a_run_that_was_ended_is_refused(text):
    with pytest.raises(ParseError, match="ended before its last"):
        emt_pace.parse(json.dumps(json.loads(text) | {"ended_by": "signal"}) + "\n")
