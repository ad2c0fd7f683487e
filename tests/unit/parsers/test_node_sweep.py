import json

import pytest

from reframe_checks.parsers import node_sweep
from reframe_checks.parsers.errors import ParseError


@pytest.fixture
def text(recorded):
    return recorded("node_sweep/four_nodes.json")


def changed(text, change):
    document = json.loads(text)
    change(document)
    return json.dumps(document, indent=1) + "\n"


def test_speeds_of_every_core(text):
    sweep = node_sweep.parse(text)
    assert list(sweep.nodes) == ["node1", "node2", "node3", "node4"]
    assert sweep.nodes["node1"].cores == (0, 1)
    assert sweep.nodes["node1"].alone.gflops == (28.2639, 28.2732)
    assert sweep.nodes["node4"].together.triad_mbps == (8541.6, 7998.27)
    assert all(speeds.wrong == () for speeds in sweep.nodes.values())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.update(version=2), "version 1"),
        (lambda d: d["nodes"].pop(), "4 nodes"),
        (lambda d: d["nodes"][0].update(node="node2"), "each once"),
        (lambda d: d["nodes"][0]["alone"]["gflops"].pop(), "2 numbers above 0"),
        (lambda d: d["nodes"][0].update(cores=[]), "one core or more"),
        (lambda d: d["nodes"][0].update(cores=[0, 0]), "each once"),
        (lambda d: d["nodes"][0].update(wrong=[5]), "some of the cores"),
        (lambda d: d["nodes"][0].update(wrong=[True]), "integers"),
    ],
)
def test_what_contradicts_is_an_error(text, change, message):
    with pytest.raises(ParseError, match=message):
        node_sweep.parse(changed(text, change))
