from collections import Counter

from tests.fault_campaign.plan import make_plan

KINDS = ("slow link", "full disk", "slow CPU", "zombies", "slow disk")
NODES = ("node1", "node2")


def test_same_seed_same_rounds():
    assert make_plan(7, 3, KINDS, NODES) == make_plan(7, 3, KINDS, NODES)
    assert make_plan(7, 3, KINDS, NODES) != make_plan(8, 3, KINDS, NODES)


def test_more_rounds_begin_with_those_of_fewer():
    assert make_plan(7, 5, KINDS, NODES)[: 2 * (len(KINDS) + 2)] == make_plan(7, 2, KINDS, NODES)


def test_every_kind_as_often_and_a_healthy_round_for_each_four():
    plan = make_plan(7, 4, KINDS, NODES)
    assert Counter(planned.kind for planned in plan) == dict.fromkeys(KINDS, 4) | {None: 8}
    assert [planned.number for planned in plan] == list(range(28))
    assert all((planned.node is None) == (planned.kind is None) for planned in plan)


def test_every_node_is_hit_some_time():
    assert {planned.node for planned in make_plan(1, 10, KINDS, NODES)} == {*NODES, None}


def test_further_healthy_rounds_stay_what_they_are_with_more_blocks():
    few, many = (make_plan(7, rounds, KINDS, NODES, more_healthy=5)[-5:] for rounds in (1, 3))
    assert few == many
    assert {planned.kind for planned in few} == {None}
    numbers = [planned.number for planned in make_plan(7, 3, KINDS, NODES, more_healthy=5)]
    assert len(set(numbers)) == len(numbers)
