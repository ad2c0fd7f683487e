"""Which drained nodes are in a quarantine of ours."""

from reports.quarantine.standing import held_nodes, interrupted_tests, is_due
from tests.unit.quarantine.samples import DAY_S, NOW, action, cluster, drained


def test_only_a_drain_with_a_recorded_mark_is_ours():
    ours, given_back = action("node1"), action("node4")
    nodes = cluster(
        node1=drained("node1", f"{ours.mark} slow"),
        node2=drained("node2", "fan broken"),
        node3=drained("node3", f"{ours.mark} slow"),
    )
    assert held_nodes(nodes, [ours, given_back]) == {"node1": ours}


def test_somebody_elses_reason_in_place_of_ours_makes_it_theirs():
    ours = action("node1")
    assert held_nodes(cluster(node1=drained("node1", f"fan broken, was {ours.mark}")), [ours]) == {}


def test_the_newest_action_holds_it_also_one_whose_command_seemed_to_fail():
    first, again = action("node1"), action("node1", what="keep", time=NOW, outcome="failed")
    nodes = cluster(node1=drained("node1", f"{again.mark} slow"))
    assert held_nodes(nodes, [first, again]) == {"node1": again}


def test_a_quarantine_ends():
    assert not is_due(action("node1", until=NOW + 1), NOW)
    assert is_due(action("node1", until=NOW), NOW)
    assert not is_due(action("node1", until=None), NOW)


def test_a_test_that_never_said_what_came_of_it_was_interrupted():
    begun = action("node1", what="return", outcome="begun", time=NOW)
    kept = action("node1", what="keep", time=NOW + 1)
    assert interrupted_tests([action("node1"), begun, kept]) == [begun]
    later = action("node1", what="return", outcome="declined", time=NOW + DAY_S)
    assert interrupted_tests([begun, later]) == []
