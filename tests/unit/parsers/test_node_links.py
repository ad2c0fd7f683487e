import re

import pytest

from reframe_checks.parsers import osu
from reframe_checks.parsers.text import ParseError

MIB = 1 << 20


@pytest.fixture
def text(recorded):
    return recorded("node_links/four_nodes.txt")


def parse(text, repeats=2):
    return osu.links(text, message_bytes=MIB, expect_nodes=4, expect_repeats=repeats)


def test_best_repeat_of_each_link_of_the_ring(text):
    links = parse(text)
    assert list(links) == [("node1", "node2"), ("node2", "node3"), ("node3", "node4"), ("node4", "node1")]
    figures = [float(figure) for figure in re.findall(rf"^ +{MIB} +([\d.]+)$", text, re.MULTILINE)]
    assert list(links.values()) == [max(pair) for pair in zip(figures[::2], figures[1::2], strict=True)]


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda text: "", "found none"),
        (lambda text: "\n# none\n" + text, "a line `@link NODE NODE`"),
        (lambda text: "srun: error: node1: task 0: Killed\n" + text, "a line `@link NODE NODE`"),
        (lambda text: text.replace(str(MIB), "8"), "message sizes"),
        (lambda text: text[: text.rindex("@link")], "2 measurements of node4-node1, found 1"),
        (lambda text: text[text.index("@link node4") :], "ring of 4 nodes"),
        (lambda text: text[:-5], "cut off"),
        (lambda text: re.sub(r"[\d.]+$", "nan", text.rstrip()) + "\n", "plain number"),
    ],
)
def test_damaged_output_is_an_error(text, damage, message):
    with pytest.raises(ParseError, match=message):
        parse(damage(text))
