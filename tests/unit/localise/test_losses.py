import numpy as np
import pytest

from reframe_checks.localise.messages import loss_counts, loss_shares, suspects_of_losses
from reframe_checks.parsers import pair_sweep

LEAST = 0.001


def shares(count, lossy):
    """Pairs that sent 10 000 packets each; ``lossy`` maps pairs to what they lost."""
    sent, lost = np.full((count, count), 10_000.0), np.zeros((count, count))
    for (i, j), packets in lossy.items():
        lost[i, j] = lost[j, i] = packets
    return loss_shares(sent, lost, least_loss=LEAST)


def named(count, lossy):
    nodes = [f"n{number}" for number in range(count)]
    return [finding.name for finding in suspects_of_losses(nodes, shares(count, lossy), least_loss=LEAST)]


def test_nothing_lost_names_nobody():
    assert named(4, {}) == []


def test_all_pairs_of_a_node():
    [finding] = suspects_of_losses(
        ["a", "b", "c", "d"], shares(4, {(0, 2): 180, (1, 2): 220, (2, 3): 200}), least_loss=LEAST
    )
    assert (finding.kind, finding.name, finding.score) == ("node", "c", pytest.approx(20))
    assert finding.evidence == "2.00 % with 3 of 3 nodes"


def test_one_pair_is_a_link():
    assert named(4, {(0, 2): 180}) == ["n0-n2"]


def test_two_nodes_cannot_be_told_apart():
    assert named(2, {(0, 1): 180}) == ["n0-n1"]


def test_a_node_and_a_link_elsewhere_the_greater_loss_first():
    node = {(min(3, other), max(3, other)): 300 for other in range(8) if other != 3}
    assert named(8, {**node, (5, 6): 100}) == ["n3", "n5-n6"]


def test_two_nodes_are_both_named():
    lossy = {(i, j): 300 for i in range(8) for j in range(i + 1, 8) if {i, j} & {1, 6}}
    assert sorted(named(8, lossy)) == ["n1", "n6"]


@pytest.mark.parametrize("packets", [4, 9])
def test_a_few_packets_name_nobody(packets):
    assert named(4, {(0, 1): packets}) == []


def test_what_sent_nothing_lost_nothing():
    found = loss_shares(np.zeros((3, 3)), np.zeros((3, 3)), least_loss=LEAST)
    assert np.isnan(np.diag(found)).all()
    assert np.nansum(found) == 0


def test_a_node_that_drops_packets(recorded):
    sweep = pair_sweep.PairSweepResult.read(recorded("pair_sweep/eight_nodes_lossy.json"))
    found = suspects_of_losses(
        sweep.nodes, loss_shares(*loss_counts(sweep.packets, 8), least_loss=LEAST), least_loss=LEAST
    )
    assert [(finding.kind, finding.name) for finding in found][:1] == [("node", "node5")]


def test_a_thousand_nodes():
    lossy = {(min(17, other), max(17, other)): 50 for other in range(1000) if other != 17}
    assert named(1000, {**lossy, (3, 900): 400}) == ["n3-n900", "n17"]
