from itertools import combinations

from reframe_checks.localise.messages import complaints, suspects_of_payloads
from reframe_checks.parsers.pair_sweep import CollectiveBlocks, Payloads

NODES = ["a", "b", "c", "d"]


def payloads(wrong):
    return [Payloads(pair, 1000, wrong.get(pair, 0)) for pair in combinations(range(4), 2)]


def named(wrong=(), collectives=()):
    found = suspects_of_payloads(NODES, payloads(dict(wrong)), collectives)
    return [(finding.kind, finding.name, finding.evidence) for finding in found]


def test_nothing_wrong_names_nobody():
    assert named() == []
    assert complaints(NODES, payloads({}), [CollectiveBlocks("broadcast", (), 0)]) == []


def test_one_message_names_the_pair():
    assert named({(1, 3): 1}) == [("link", "b-d", "in 1 of all messages")]
    assert complaints(NODES, payloads({(1, 3): 1}), []) == ["b-d: 1 of 1000 messages have wrong data"]


def test_most_pairs_name_the_node():
    assert named({(0, 2): 3, (1, 2): 1, (2, 3): 2}) == [("node", "c", "in 6 of all messages, with 3 nodes")]


def test_a_block_sent_directly_names_its_pair():
    broken = CollectiveBlocks("all-to-all", ((3, 1),), 1)
    assert named(collectives=[broken]) == [("link", "b-d", "in 1 of all messages")]


def test_a_block_that_others_passed_on_names_nobody_and_is_told():
    broken = CollectiveBlocks("broadcast", ((0, 2), (0, 3)), 2)
    assert named(collectives=[broken]) == []
    assert complaints(NODES, payloads({}), [broken]) == ["broadcast: wrong data on c, d"]


def test_who_alone_got_wrong_data_is_named():
    broken = CollectiveBlocks("all-reduce", ((2, 2),), 1)
    assert named(collectives=[broken]) == [("node", "c", "is the only node with wrong data of all-reduce")]
    assert suspects_of_payloads(["a", "b"], [], [CollectiveBlocks("all-reduce", ((1, 1),), 1)]) == []
