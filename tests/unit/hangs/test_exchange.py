"""Messages between nodes over TCP and UDP, and a receiver's record of arrived datagrams."""

import os
import subprocess
import sys

import pytest

from kappa.node.watch.exchange import Receiver, answering, meet, peers_of
from reframe_checks.parsers.exchange import exchanged
from reframe_checks.parsers.text import ParseError

PER_TICK_MS = 20 / 4


@pytest.fixture
def run(program, tmp_path):
    """run(nodes): the output of a task for each of the nodes, all on this machine."""
    command = [sys.executable, program, "exchange", "--seconds=0.4", f"--folder={tmp_path}", "--wait=30"]

    def output(nodes):
        environ = {**os.environ, "SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": str(len(nodes))}
        started = [
            subprocess.Popen(command, env={**environ, "SLURMD_NODENAME": node}, stdout=subprocess.PIPE, text=True)
            for node in nodes
        ]
        return "".join(process.communicate(timeout=120)[0] for process in started)

    return output


def test_what_is_sent_arrives(run):
    found = exchanged(run(["n1", "n2", "n3"]), expect_nodes=3)
    assert len(found) == 6
    for one in found:
        assert (one.failure, one.refused, one.answered_by) == (None, None, None)
        assert (one.missing, one.twice, one.out_of_order) == (0, 0, 0)
        assert one.datagrams > 0 < one.segments


def test_a_node_alone_has_nothing_to_tell(run):
    assert run(["n1"]) == ""
    with pytest.raises(ParseError):
        exchanged("", expect_nodes=2)


def received(numbers, delays_s=None, sent=None, overflowed=0):
    receiver = object.__new__(Receiver)
    receiver.arrived = {7: [(number, (delays_s or {}).get(number, 0.001)) for number in numbers]}
    receiver.sent, receiver.overflowed = {7: sent} if sent else {}, overflowed
    told = receiver.told(7)
    return {name: value for name, value in told.items() if value and "datagrams" not in name}


def test_datagrams_in_order_and_in_time_are_nothing_to_tell():
    assert received(range(100)) == {}


def test_lost_ones_and_the_longest_time_without_one():
    assert received([n for n in range(100) if not 40 <= n < 60], sent=100) == {
        "missing": 20, "missing_long": 2, "longest_outage_ms": 20 * PER_TICK_MS
    }  # fmt: skip


def test_late_ones_are_an_outage_and_not_lost():
    assert received(range(100), {n: 0.2 for n in range(40, 60)}) == {"longest_outage_ms": 20 * PER_TICK_MS}


def test_the_end_counts_as_lost_where_the_sender_says_how_many_there_were():
    assert received(range(90), sent=100)["missing"] == 10
    assert received(range(90)) == {}


def test_a_repeated_one_and_one_out_of_order():
    assert received([0, 1, 1, 3, 2, 4]) == {"twice": 1, "out_of_order": 1}
    # One that comes again later has not come out of order.
    assert received([0, 1, 2, 3, 1]) == {"twice": 1}


def test_what_the_node_did_not_read_in_time_is_not_lost():
    assert received([n for n in range(100) if not 40 <= n < 60], sent=100, overflowed=20) == {}


def test_each_node_is_a_peer_of_its_peers():
    nodes = [f"n{number:03}" for number in range(200)]
    of_each = {node: {*peers_of(node, nodes)} for node in nodes}
    assert {len(peers) for peers in of_each.values()} == {64}
    assert all(node in of_each[peer] and node != peer for node, peers in of_each.items() for peer in peers)
    assert sorted(peers_of("n001", nodes[:4])) == ["n000", "n002", "n003"]


def test_two_of_slurms_nodes_on_one_machine_take_no_address_of_each_other():
    machine = {"addresses": ["192.0.2.1"], "macs": ["02:00:00:00:00:01"]}
    assert answering("192.0.2.1", "a", {"a": machine, "b": machine}) is None
    taker = {"addresses": ["192.0.2.1", "192.0.2.2"], "macs": ["02:00:00:00:00:02"]}
    assert answering("192.0.2.1", "a", {"a": machine, "b": taker}) == "b"


def test_own_address_is_not_written_through_a_link(tmp_path):
    (tmp_path / "victim").write_text("of the user")
    meeting = tmp_path / "meeting"
    meeting.mkdir()
    (meeting / "node1.part").symlink_to("../victim")
    assert meet(str(meeting), {"node": "node1"}, 1, 60) == {"node1": {"node": "node1"}}
    assert (tmp_path / "victim").read_text() == "of the user"
