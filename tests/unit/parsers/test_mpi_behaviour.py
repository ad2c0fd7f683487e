import json
from functools import partial

import pytest

from reframe_checks.parsers import mpi_behaviour
from reframe_checks.parsers.errors import ParseError

PARSERS = {
    "any_source": (mpi_behaviour.any_source, 4),
    "threads": (partial(mpi_behaviour.threads, expect_threads=[1, 2, 4]), 2),
    "memory": (mpi_behaviour.memory, 4),
    "persistent": (partial(mpi_behaviour.persistent, expect_sizes=[8, 65536]), 2),
    "overlap": (partial(mpi_behaviour.overlap, expect_operation="isend", expect_sizes=[8192, 1 << 20]), 2),
    "matching": (partial(mpi_behaviour.matching, expect_depths=[0, 1, 4, 16, 64, 256, 1024]), 2),
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


def test_several_threads_are_there_only_where_mpi_gives_multiple(parsed):
    found = parsed("threads")
    assert (found.asked, found.provided, [one.threads for one in found.series]) == ("multiple", "multiple", [1, 2, 4])
    with pytest.raises(ParseError, match="entries with 1 threads"):
        parsed("threads", lambda document: document.update(provided="serialized"))
    less = parsed("threads", lambda document: document.update(provided="serialized", series=document["series"][:1]))
    assert (less.asked, less.provided, len(less.series)) == ("multiple", "serialized", 1)


def test_memory_has_a_slope_over_peers(parsed):
    def line(document):
        for one in document["series"]:
            one["median_kib"] = one["largest_kib"] = 5000 + 12 * one["peers"]
        document["before_init"] = {"median_kib": 1000, "largest_kib": 1000}

    found = parsed("memory", line)
    assert [one.peers for one in found.series] == [0, 2, 3]
    assert (found.start_kib, round(found.per_peer_kib, 6)) == (4000, 12)


@pytest.mark.parametrize(("both", "percent"), [(30, 0), (25, 25), (10, 100), (9, 100), (50, 0)])
def test_what_does_not_show_was_hidden(parsed, both, percent):
    def change(document):
        document["series"][0].update(communication_us=[20] * 5, computation_us=[10] * 5, both_us=[both] * 5)

    assert parsed("overlap", change).series[0].hidden_percent == pytest.approx(percent)


@pytest.mark.parametrize("name", PARSERS)
def test_of_other_ranks_or_another_measurement_is_an_error(parsed, name):
    with pytest.raises(ParseError, match="16 ranks"):
        parsed(name, expect_ranks=16)
    with pytest.raises(ParseError, match="the measured "):
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
        ("threads", lambda document: document.update(provided="some"), "single or funneled or serialized or multiple"),
        (
            "threads",
            lambda document: document["series"][0].update(messages_per_s=[1e9] * 5),
            "no more messages than 1 threads",
        ),
        ("memory", lambda document: document["series"].pop(), "entries with 0, 2, 3 peers"),
        ("memory", lambda document: document["series"][0].update(largest_kib=1), "no less than the median"),
        ("persistent", lambda document: document["series"].reverse(), "entries with 8, 65536 bytes"),
        ("overlap", lambda document: document.update(operation="iallreduce"), "isend"),
        ("matching", lambda document: document.update(series=[]), "entries with 0, 1, 4"),
    ],
)
def test_what_contradicts_is_an_error(parsed, name, change, message):
    with pytest.raises(ParseError, match=message):
        parsed(name, change)
