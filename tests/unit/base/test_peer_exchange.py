"""Results of PeerExchange: the named nodes, and the figures that count."""

import pytest
from msgspec.structs import replace
from reframe.core.exceptions import SanityError
from reframe.utility.sanity import evaluate

from reframe_checks.network.peer_exchange import PeerExchange
from tests.stand_in import StandIn
from tests.unit.localise.test_exchange import HEALTHY, RECORDED, changed


class Exchange(StandIn):
    """The check without a job."""

    def __init__(self, told):
        limits = {"least_share": 0.5, "least_outage": 100.0}
        super().__init__(PeerExchange, told=told, hint="", num_tasks=4, matrices={}, **limits)

    def parsed(self, *_, **__):
        return self.told

    def output_text(self):
        return ""

    def record_matrix(self, name, unit, nodes, values):
        self.matrices[name] = unit


def read(told):
    check = Exchange(told)
    evaluate(check.read_exchange())
    return check


def test_the_worst_pair_counts():
    check = read(RECORDED)
    assert check.worst == {
        "longest_outage": 0, "lost_packets": 0, "packets_out_of_order": 0, "slow_connections": 0,
        "duplicate_packets": pytest.approx(100 * 79 / 2100),
    }  # fmt: skip
    assert check.matrices.keys() == check.worst.keys() == PeerExchange.metrics.keys()
    assert [finding.name for finding in check.findings] == ["node4"]


def test_an_outage_is_told_before_the_packets_that_it_lost():
    told = changed(lambda *pair: "node2" in pair, longest_outage_ms=300.0, missing=60)
    assert [finding.quantity for finding in read(told).findings] == ["an outage", "packet loss"]


def test_a_long_message_that_does_not_arrive_fails():
    told = changed(lambda *pair: pair == ("node2", "node4"), failure="nothing moves for 8 s")
    check = Exchange(told)
    with pytest.raises(SanityError, match="node2 to node4: nothing moves"):
        evaluate(check.read_exchange())
    assert [finding.kind for finding in check.findings] == ["link"]


def test_who_has_the_address_of_another_is_the_suspect():
    told = [replace(one, answered_by="node1" if one.peer == "node3" else None) for one in HEALTHY]
    check = Exchange(told)
    with pytest.raises(SanityError, match="node1 answers for the address of node3"):
        evaluate(check.read_exchange())
    assert check.suspects == ["node1"]
