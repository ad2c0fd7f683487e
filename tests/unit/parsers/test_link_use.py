import json

import pytest

from reframe_checks.parsers import link_use
from reframe_checks.parsers.errors import ParseError


@pytest.fixture
def text(recorded):
    return recorded("link_use/random_ring.json")


def test_the_busiest_links(text):
    found = link_use.parse(text)
    assert len(found.busiest) == link_use.SHOWN < found.links_used
    first = found.busiest[0]
    # Two ranks on each node, each of which sends 2 MB to both sides three times.
    assert first.link.startswith("dma-")
    assert first.bytes == pytest.approx(2 * 2 * 3 * 2e6, rel=0.01)
    assert first.use == pytest.approx(first.bytes / 2.8e9 / found.simulated_s)


def test_a_program_that_sends_nothing():
    text = '{"format": "kappa-link-use", "version": 1, "simulated_s": 0.0, "links_used": 0, "busiest": []}\n'
    assert link_use.parse(text) == link_use.LinkUse(0, 0, ())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.update(version=2), "version 1"),
        (lambda d: d["busiest"].pop(), "10 links, found 9"),
        (lambda d: d["busiest"].reverse(), "falling use"),
        (lambda d: d["busiest"][3].update(bytes=1), "bytes over bandwidth"),
        (lambda d: d["busiest"][3].update(d["busiest"][2]), "each link once"),
        (lambda d: d["busiest"][0].pop("link"), "link: a value"),
    ],
)
def test_what_does_not_fit_is_named(text, change, message):
    document = json.loads(text)
    change(document)
    with pytest.raises(ParseError, match=message):
        link_use.parse(json.dumps(document, indent=1) + "\n")
