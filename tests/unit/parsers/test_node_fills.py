import json

import pytest

from reframe_checks.parsers import node_fills
from reframe_checks.parsers.errors import ParseError


@pytest.fixture
def text(recorded):
    return recorded("node_fills/two_nodes.json")


def changed(text, change):
    document = json.loads(text)
    change(document)
    return json.dumps(document, indent=1) + "\n"


def speeds(active):
    return {"active": active, "triad_MBps": [9.0] * len(active), "gflops": [2.0] * len(active)}


def of_eight_cores():
    """Two sockets, whose cores are numbered in turns."""
    cores = [0, 2, 4, 6, 1, 3, 5, 7]
    spread = [[0], [0, 1], [0, 4, 1, 5], cores]
    fills = [{"spread": True, **speeds(active)} for active in spread]
    fills += [{"spread": False, **speeds(active)} for active in (cores[:2], cores[:4])]
    return {
        "node": "big", "cores": cores, "domains": [0] * 4 + [1] * 4, "available_MiB": 4096, "fills": fills, "wrong": [],
    }  # fmt: skip


def test_speeds_of_a_core_while_others_rest(text):
    nodes = node_fills.parse(text)
    assert list(nodes) == ["node1", "node2"]
    assert nodes["node1"].spread[1].triad_mbps == (19890.2,)
    assert nodes["node1"].spread[2].gflops == (22.432, 14.3675)
    assert nodes["node2"].packed[1].gflops == (23.4163,)


def test_half_of_two_sockets_is_half_of_each(text):
    big = node_fills.parse(changed(text, lambda d: d.update(nodes=[of_eight_cores()], ranks=1)))["big"]
    assert (big.domains, list(big.spread), list(big.packed)) == (2, [1, 2, 4, 8], [2, 4])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.update(format="kappa-node-sweep"), "kappa-node-fills"),
        (lambda d: d["nodes"].pop(), "2 nodes"),
        (lambda d: d["nodes"][0].update(cores=[1, 0]), "in whose order they are"),
        (lambda d: d["nodes"][0]["fills"].pop(), "a quarter and half packed"),
        (lambda d: d["nodes"][0]["fills"][0].update(active=[1]), "a quarter, half and all"),
        (lambda d: d["nodes"][0]["fills"][1]["gflops"].pop(), "2 numbers above 0"),
        (lambda d: d["nodes"][0].update(wrong=[5]), "some of the cores"),
    ],
)
def test_what_is_not_such_a_result(text, change, message):
    with pytest.raises(ParseError, match=message):
        node_fills.parse(changed(text, change))
