"""The rule's decisions on named nodes, the states of nodes, and actions in words."""

import itertools
from typing import get_args

import pytest
from msgspec.structs import replace

from kappa.core.record.actions import ActionKind, Outcome
from reports.quarantine.decide import NodeNow, decide, held_nodes, interrupted_tests, is_due, reason_of, told
from tests.unit.quarantine.samples import DAY_S, HOUR_S, NOW, RULE, action, cluster, drained, named, proof


def decided(names, nodes, actions=(), rule=RULE, measured=NOW - HOUR_S):
    """node -> why it is not drained, empty for one that is."""
    found = decide(names, rule, nodes, actions, measured=measured, now=NOW)
    assert all((one.outcome == "begun") == (not one.said) for one in found)
    return {one.node: one.said for one in found}


def test_a_node_is_drained_for_as_long_as_the_rule_says():
    [drain] = decide(named("node2"), RULE, cluster(), [], measured=NOW - HOUR_S, now=NOW, report="runs/1")
    assert (drain.what, drain.outcome, drain.until) == ("drain", "begun", NOW + 7 * DAY_S)
    assert (drain.evidence, drain.report) == ((proof(),), "runs/1")


def test_nobody_named_is_nothing_done():
    assert decide({}, RULE, cluster(), [], measured=NOW, now=NOW) == []


@pytest.mark.parametrize(
    ("node", "why"),
    [
        (drained("node2", "fan broken"), "node2 is drained, for the reason 'fan broken': out of service already"),
        (drained("node2", "kappa-quarantine 20200101T000000000: another Kappa"), "out of service already"),
        (NodeNow("node2", frozenset({"cpu"}), "down", usable=False, reason="Not responding"), "node2 is down"),
        (NodeNow("node2", frozenset({"cpu"}), "maint", usable=False, reserved=True), "node2 is maint"),
        (NodeNow("node2", frozenset({"cpu"}), "idle", usable=True, reason="watch it"), "'watch it'"),
    ],
)
def test_what_somebody_else_decides_is_left_alone(node, why):
    assert why in decided(named("node2"), cluster(node2=node))["node2"]


def test_a_name_that_slurm_does_not_know_reaches_no_command():
    assert decided(named("node2; rm -r /"), cluster()) == {"node2; rm -r /": "Slurm does not list this node"}


def test_a_node_in_quarantine_is_not_drained_again():
    held = action("node2")
    nodes = cluster(node2=drained("node2", f"{held.mark} slow"))
    assert decided(named("node2"), nodes, [held]) == {"node2": "the node is in quarantine already"}


def test_what_was_measured_before_the_node_was_given_back_counts_no_more():
    back = action("node2", what="return", time=NOW - HOUR_S)
    why = decided(named("node2"), cluster(), [back], measured=NOW - 2 * HOUR_S)["node2"]
    assert why == "the node was resumed after the measurement"
    assert not decided(named("node2"), cluster(), [back], measured=NOW - HOUR_S / 2)["node2"]
    failed = replace(back, outcome="declined")
    assert not decided(named("node2"), cluster(), [failed], measured=NOW - 2 * HOUR_S)["node2"]


@pytest.mark.parametrize(("size", "faults"), [(size, faults) for size in range(1, 9) for faults in range(1, size + 1)])
def test_half_of_a_partition_or_more_is_no_nodes_fault(size, faults):
    nodes = [f"node{number}" for number in range(1, faults + 1)]
    found = decided(named(*nodes), cluster(size), rule=replace(RULE, most_a_night=99))
    if 2 * faults >= size:
        assert all(f"{faults} of {size} node" in why and "drains no node" in why for why in found.values())
    else:
        assert not any(found.values())


def test_what_is_in_quarantine_counts_to_the_half():
    held = [action(f"node{number}") for number in (1, 2, 3)]
    out = {one.node: drained(one.node, one.mark) for one in held}
    assert "4 of 8 nodes" in decided(named("node4"), cluster(8, **out), held)["node4"]
    assert not decided(named("node4"), cluster(9, **out), held)["node4"]


def test_half_of_any_partition_of_the_node_keeps_it_and_no_other():
    both = NodeNow("node1", frozenset({"cpu", "debug"}), "idle", usable=True)
    other = NodeNow("debug2", frozenset({"debug"}), "idle", usable=True)
    found = decided(named("node1", "node2"), cluster(node1=both, debug2=other))
    assert "1 of 2 nodes of partition debug" in found["node1"]
    assert not found["node2"]


def test_the_last_node_that_takes_jobs_stays():
    out = {f"node{number}": drained(f"node{number}", "old") for number in range(2, 9)}
    assert "the last one of partition cpu" in decided(named("node1"), cluster(**out))["node1"]
    del out["node8"]
    assert not decided(named("node1"), cluster(**out))["node1"]
    found = decided(named("node1", "node8"), cluster(**out), rule=replace(RULE, most_a_night=9))
    assert (bool(found["node1"]), bool(found["node8"])) == (False, True)


def test_at_most_so_many_a_night_and_those_with_most_evidence_first():
    names = {**named("node1", "node2"), "node3": (proof(), proof(check="PairSweep"))}
    found = decided(names, cluster())
    assert list(found) == ["node3", "node1", "node2"]
    assert [bool(why) for why in found.values()] == [False, True, True]
    assert "node3 was drained this night; the rule allows 1 node a night" in found["node1"]
    assert [bool(why) for why in decided(names, cluster(), rule=replace(RULE, most_a_night=2)).values()] == [
        False, False, True,
    ]  # fmt: skip


@pytest.mark.parametrize("outcome", ["begun", "done", "failed"])
@pytest.mark.parametrize(("ago", "enough"), [(HOUR_S, True), (11 * HOUR_S, True), (13 * HOUR_S, False)])
def test_a_night_that_begins_again_drains_no_more(outcome, ago, enough):
    earlier = action("node7", time=NOW - ago, outcome=outcome)
    assert bool(decided(named("node1"), cluster(), [earlier])["node1"]) is enough


@pytest.mark.parametrize("changes", [{"outcome": "declined"}, {"what": "keep"}, {"what": "return"}])
def test_what_took_no_node_out_of_service_tonight_does_not_count(changes):
    assert not decided(named("node1"), cluster(), [action("node7", time=NOW - HOUR_S, **changes)])["node1"]


def test_no_set_of_faults_takes_half_of_a_partition_or_its_last_node():
    """All sets of named nodes on all sets of nodes that are out for other reasons, of a partition of six."""
    everyone = [f"node{number}" for number in range(1, 7)]
    sets = [found for size in range(7) for found in itertools.combinations(everyone, size)]
    rule = replace(RULE, most_a_night=99)
    drains = 0
    for names, out in itertools.product(sets, sets):
        nodes = cluster(6, **{node: drained(node, "old") for node in out})
        taken = {node for node, why in decided(named(*names), nodes, rule=rule).items() if not why}
        drains += len(taken)
        assert 2 * len(taken) < 6 and not taken & set(out)
        assert not taken or set(everyone) - set(out) - taken
    assert drains > 500


def test_a_reason_begins_with_the_mark_and_is_one_line_of_plain_letters():
    drain = action("node2", outcome="begun", evidence=(proof(text="2.0 ×\nslower; ä `rm` \x1b[31m" + "x" * 500),))
    reason = reason_of(drain)
    assert reason.startswith(f"{drain.mark} NodeLinks: 2.0 x slower")
    assert reason.isascii() and reason.isprintable() and len(reason) < 220


def test_each_drain_of_a_night_has_a_mark_of_its_own():
    found = decide(named("node1", "node2"), replace(RULE, most_a_night=2), cluster(), [], measured=NOW, now=NOW)
    assert len({one.mark for one in found}) == 2


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


@pytest.mark.parametrize(("what", "outcome"), [*itertools.product(get_args(ActionKind), get_args(Outcome))])
def test_every_action_can_be_told(what, outcome):
    line = told(action("node2", what=what, outcome=outcome, said="because\nof x", command=("drain", "a b")))
    assert line.startswith("node2: ") and "\n" not in line
    assert ("drain 'a b'" if outcome == "begun" else "because of x") in line


def test_a_drain_tells_its_evidence_and_how_long_it_lasts():
    line = told(action("node2", evidence=(proof(text="slow"), proof(check="Stream"), proof(check="Hpl"))))
    assert "drained until 20" in line and "NodeLinks %scale=each_node on cpu+system: slow; Stream " in line
    assert "Hpl" not in line
