import json

import pytest

from reframe_checks.parsers import mpi_behaviour
from reframe_checks.parsers.errors import ParseError

PARSERS = {
    "any_source": (mpi_behaviour.any_source, 4),
}


@pytest.fixture
def parsed(recorded):
    """The recorded result, after ``change`` of its document."""

    def parse(name, change=lambda document: None, expect_ranks=None):
        document = json.loads(recorded(f"mpi_behaviour/{name}.json"))
        change(document)
        read, ranks = PARSERS[name]
        return read(json.dumps(document, indent=1) + "\n", expect_ranks=expect_ranks or ranks)

    return parse


def test_any_source_has_an_entry_for_each_doubling_and_all_peers(parsed):
    found = parsed("any_source")
    assert (found.ranks, found.nodes, found.repeats, found.message_bytes) == (4, 2, 5, 8)
    assert [one.peers for one in found.series] == [1, 2, 3]
    assert all(len(one.unexpected_any_us) == 5 for one in found.series)


@pytest.mark.parametrize("name", PARSERS)
def test_of_other_ranks_or_another_measurement_is_an_error(parsed, name):
    with pytest.raises(ParseError, match="16 ranks"):
        parsed(name, expect_ranks=16)
    with pytest.raises(ParseError, match="a measurement of"):
        parsed(name, lambda document: document.update(measured="other"))
    with pytest.raises(ParseError, match="version 1"):
        parsed(name, lambda document: document.update(version=2))
    with pytest.raises(ParseError, match="no more nodes than ranks"):
        parsed(name, lambda document: document.update(nodes=17))


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("any_source", lambda document: document["series"].pop(), "entries with 1, 2, 3 peers"),
        ("any_source", lambda document: document["series"][1]["expected_any_us"].pop(), "list of 5 numbers"),
        ("any_source", lambda document: document["series"][0].update(unexpected_any_us=[1, 1, 1, 1, 0]), "above 0"),
        ("any_source", lambda document: document.update(bytes=0), "at least 1"),
    ],
)
def test_what_contradicts_is_an_error(parsed, name, change, message):
    with pytest.raises(ParseError, match=message):
        parsed(name, change)
