import json

import pytest

from reframe_checks.parsers import emt_caches
from reframe_checks.parsers.errors import ParseError


@pytest.fixture
def text(recorded):
    return recorded("emt_caches/two_nodes.json")


def test_what_a_task_takes_over_memory(text):
    nodes = emt_caches.parse(text, expect_sizes=3)
    assert list(nodes) == ["node1", "node2"]
    assert nodes["node1"].caches == {1: 32 << 10, 2: 1 << 20, 3: 32 << 20}
    first, _, last = nodes["node2"].sizes
    assert (first.tasks, last.tasks, first.bytes_touched) == (172, 16 * 172, 410241)
    assert first.kappa_us == pytest.approx(first.step_us - first.sigma_us - first.phi_us)
    assert last.us_per_task == last.phi_us / (16 * 172)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d["nodes"].pop(), "2 nodes"),
        (lambda d: d["nodes"][0].update(node="node2"), "each once"),
        (lambda d: d["nodes"][0]["sizes"].pop(), "3 networks"),
        (lambda d: d["nodes"][0]["sizes"][1].update(bytes_touched=1), "touches more memory"),
        (lambda d: d["nodes"][0]["sizes"][1].update(case_hash="x"), "the same networks"),
        (lambda d: d["nodes"][0]["sizes"][1].update(replay_exact=False), "other bits"),
        (lambda d: d["nodes"][0]["caches"][1].update(bytes=1), "a larger cache at each level"),
    ],
)
def test_what_is_not_such_a_result(text, change, message):
    document = json.loads(text)
    change(document)
    with pytest.raises(ParseError, match=message):
        emt_caches.parse(json.dumps(document, indent=1) + "\n", expect_sizes=3)
