import json

import pytest

from reframe_checks.parsers import bit_sweep
from reframe_checks.parsers.errors import ParseError


@pytest.fixture
def text(recorded):
    return recorded("bit_sweep/four_nodes.json")


def changed(text, change):
    document = json.loads(text)
    change(document)
    return json.dumps(document, indent=1) + "\n"


def test_bits_of_every_core_and_work(text):
    sweep = bit_sweep.parse(text)
    assert sweep.variant == 6
    assert len(sweep.bits) == 4 * 2 * 3
    first = sweep.bits[0]
    assert (first.node, first.core, first.work, first.basis) == ("node1", 0, "dense", "fused")
    assert first.rounds == (("ff882035025507d8", 59),)


def test_the_emt_application_writes_the_same_format(recorded):
    sweep = bit_sweep.parse(recorded("bit_sweep/emt_four_nodes.json"))
    assert {(bits.node, bits.core) for bits in sweep.bits} == {(f"node{n}", c) for n in (1, 2, 3, 4) for c in (0, 1)}
    assert {bits.work for bits in sweep.bits} == {"emt"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.update(version=2), "version 1"),
        (lambda d: d["nodes"].pop(), "4 nodes"),
        (lambda d: d["nodes"][0].update(node="node2"), "each once"),
        (lambda d: d["nodes"][0].update(cores=[0, 0]), "each once"),
        (lambda d: d["nodes"][0].update(cores=[]), "one core or more"),
        (lambda d: d["nodes"][0].update(works=[]), "one work or more"),
        (lambda d: d["nodes"][0]["works"][0].update(work="map"), "each once"),
        (lambda d: d["nodes"][0]["works"][0]["cores"].pop(), "one list for each core"),
        (lambda d: d["nodes"][0]["works"][0].update(cores=[1, 2]), "list of lists"),
        (lambda d: d["nodes"][0]["works"][0]["cores"][0].clear(), "one digest or more"),
        (lambda d: d["nodes"][0]["works"][0]["cores"][0][0].update(digest="f" * 15), "16 hexadecimal"),
        (lambda d: d["nodes"][0]["works"][0]["cores"][0][0].update(rounds=0), "at least 1"),
    ],
)
def test_what_contradicts_is_an_error(text, change, message):
    with pytest.raises(ParseError, match=message):
        bit_sweep.parse(changed(text, change))
