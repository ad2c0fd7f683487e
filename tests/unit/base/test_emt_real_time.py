"""Results of the check of paced steps for a recorded run."""

import json

import pytest
from reframe.core.exceptions import SanityError

from reframe_checks.application.emt import EmtRealTime
from tests.figures import figure
from tests.stand_in import StandIn


@pytest.fixture
def check(recorded):
    text = recorded("emt_pace/two_ranks.json")
    ranks = json.loads(text)["pace"]["per_rank"]
    # Two nodes, the second with two ranks.
    result = json.loads(text) | {"ranks": 3}
    result["pace"]["per_rank"] = [
        {**ranks[0], "node": "n1"}, {**ranks[1], "node": "n2"},
        {**ranks[1], "rank": 2, "node": "n2", "overruns": 0, "in_time": 20000, "episodes": 0,
         "late_p999_us": 0, "late_worst_us": 0},
    ]  # fmt: skip
    made = StandIn(EmtRealTime, steps=20000, num_tasks=3, ranks=ranks, seen=[])
    made.output_text = lambda name: json.dumps(result) + "\n"
    made.require_all_nodes = lambda nodes: made.seen.append(nodes) or True
    return made


def test_the_rank_with_most_is_gated_and_each_node_is_evidence(check):
    assert check.read_paces().evaluate()
    most = max(rank["overruns"] for rank in check.ranks)
    assert figure(EmtRealTime, "overruns", check) == pytest.approx(most * 50)
    assert figure(EmtRealTime, "late_worst", check) == max(rank["late_worst_us"] for rank in check.ranks)
    assert check.per_node["overruns"] == {
        "n1": check.ranks[0]["overruns"] * 50, "n2": check.ranks[1]["overruns"] * 50,
    }  # fmt: skip
    assert check.seen == [{"n1", "n2"}]


def test_another_number_of_ranks_or_steps_fails(check):
    check.num_tasks = 4
    with pytest.raises(SanityError, match="on 3 ranks, expected 20000 on 4"):
        check.read_paces().evaluate()
