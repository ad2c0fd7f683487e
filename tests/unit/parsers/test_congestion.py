import json

import pytest

from reframe_checks.parsers import congestion
from reframe_checks.parsers.congestion import Samples
from reframe_checks.parsers.errors import ParseError


@pytest.fixture
def parsed(recorded):
    """The recorded result of three samples in each of two rounds, after ``change`` of its document."""

    def parse(change=lambda document: None, expect_ranks=4):
        document = json.loads(recorded("patterns/congestion.json"))
        change(document)
        return congestion.parse(json.dumps(document, indent=1) + "\n", expect_ranks=expect_ranks)

    return parse


def slower(document, load, factor):
    """The bandwidth's samples beside ``load`` take so many times those alone."""
    for entry in document["loads"]:
        found = entry["bandwidth"]
        found["beside_us"] = [us * (factor if entry["load"] == load else 1) for us in found["alone_us"]]
        for pattern in ("latency", "allreduce"):
            entry[pattern]["beside_us"] = list(entry[pattern]["alone_us"])


def test_impact_is_time_beside_over_time_alone():
    samples = Samples(alone_us=((10, 20, 30), (10, 20, 40)), beside_us=((20, 40, 50), (60, 60, 400)))
    assert samples.impact() == 50 / 20
    assert samples.impact(99) == 400 / 40
    assert samples.impacts_of_rounds() == (2, 3)


def test_samples_are_those_of_rounds(parsed):
    found = parsed()
    assert (found.victims, found.aggressors, found.nodes) == (2, 2, 4)
    assert list(found.loads) == ["compute", "all-to-all", "incast", "broadcast"]
    for load in found.loads.values():
        assert [len(times) for times in load.samples["latency"].beside_us] == [3, 3]


def test_what_lies_above_the_control_is_named(parsed):
    assert parsed(lambda document: slower(document, "incast", 3)).above_control() == [("incast", "bandwidth")]
    assert parsed(lambda document: slower(document, "compute", 3)).above_control() == []
    assert parsed(lambda document: slower(document, "none", 3)).above_control() == []


def test_one_round_alone_is_no_congestion(parsed):
    def once(document):
        slower(document, "incast", 3)
        incast = next(entry for entry in document["loads"] if entry["load"] == "incast")["bandwidth"]
        incast["beside_us"][3:] = incast["alone_us"][3:]

    assert parsed(once).above_control() == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda one: one.update(victims=3), "victims: with the aggressors 4 ranks"),
        (lambda one: one["loads"].pop(0), "loads: the control compute among the loads"),
        (lambda one: one["loads"].append(one["loads"][0]), "each load once"),
        (lambda one: one["loads"][1]["operations"].pop(), "at least one operation in each of 2 rounds"),
        (lambda one: one["loads"][1].update(operations=[0, 3]), "at least one operation in each of 2 rounds"),
        (lambda one: one["loads"][1]["latency"]["beside_us"].pop(), "a list of 6 numbers"),
        (lambda one: one["loads"][1].pop("allreduce"), "found no such key"),
    ],
)
def test_what_cannot_be_is_refused(parsed, change, message):
    with pytest.raises(ParseError, match=message):
        parsed(change)


def test_of_other_ranks(parsed):
    with pytest.raises(ParseError, match="5 ranks"):
        parsed(expect_ranks=5)
