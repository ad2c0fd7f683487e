"""Rounds of nights: balanced, and a node that is slow over several nights is named by ``kappa night report``."""

from collections import Counter

from tests.fault_campaign.nights import KINDS, NightsRound, plan, run_round
from tests.tiers import long


def test_as_many_healthy_rounds_as_faults():
    rounds = plan(1, 3)
    assert Counter(one.kind for one in rounds) == {**dict.fromkeys(KINDS, 3), None: 3 * len(KINDS)}
    assert rounds == plan(1, 3) != plan(2, 3)
    assert all(0.05 <= one.slow_down <= 0.1 for one in rounds)


@long
def test_a_slow_node_is_named_by_the_message(tmp_path):
    named = run_round(NightsRound("slow node", "node3", 0.08, 5), tmp_path)
    assert 1 <= named.night <= 5
    assert named.nodes == {"node3"}
