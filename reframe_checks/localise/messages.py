"""Find faulty nodes and links from lost and wrong messages."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import median

import numpy as np

from reframe_checks.localise.finding import Finding, Floats, ranked
from reframe_checks.localise.pairs import Pair, blamed, cover
from reframe_checks.parsers.pair_sweep import CollectiveBlocks, Packets, Payloads

# Lost packets of every pair of nodes -> ranked findings against nodes and links.
# Counters have no noise: a healthy link loses no packet. So the fewest nodes and links that explain every lossy pair
# are named.

# Fewer packets may belong to other programs on the same adapters.
LEAST_PACKETS = 5
LOSS = "packet loss"


def loss_counts(packets: Iterable[Packets], nodes: int) -> tuple[Floats, Floats]:
    """Return the packets sent and lost, both n x n and symmetric."""
    sent, lost = np.zeros((2, nodes, nodes))
    for pair in packets:
        for i, j in (pair.pair, pair.pair[::-1]):
            sent[i, j], lost[i, j] = pair.sent, pair.lost
    return sent, lost


def loss_shares(sent: Floats, lost: Floats, *, least_loss: float) -> Floats:
    """Return the share of lost packets of each pair, n x n, symmetric; NaN on the diagonal.

    :param sent: n x n, symmetric, by both nodes of the pair while they were measured.
    :param lost: as ``sent``. Fewer than ``LEAST_PACKETS`` count as 0 if their share is above ``least_loss``.
    """
    shares = lost_shares(sent, lost, least_loss=least_loss)
    np.fill_diagonal(shares, np.nan)
    return shares


def lost_shares(sent: Floats, lost: Floats, *, least_loss: float) -> Floats:
    """Return the share of lost packets as ``loss_shares``, for arrays of any shape."""
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = np.where(sent > 0, lost / sent, 0.0)
    shares[(lost < LEAST_PACKETS) & (shares >= least_loss)] = 0
    return shares


def suspects_of_losses(nodes: Sequence[str], shares: Floats, *, least_loss: float) -> list[Finding]:
    """Return findings as ``suspects_of_lossy_pairs``, if every pair was measured.

    :param shares: n x n, symmetric, the share of lost packets.
    """
    lossy = np.argwhere(np.triu(np.nan_to_num(shares) >= least_loss))
    bad = {(int(i), int(j)): float(shares[i, j]) for i, j in lossy}
    return suspects_of_lossy_pairs(nodes, bad, [len(nodes) - 1] * len(nodes), least_loss=least_loss)


def suspects_of_lossy_pairs(
    nodes: Sequence[str], lossy: Mapping[Pair, float], partners: Sequence[int], *, least_loss: float
) -> list[Finding]:
    """Return findings, the greatest loss first: a node if more than half of its pairs lose packets, else the link.

    ``score`` is the typical loss of the lossy pairs, divided by ``least_loss``.

    :param lossy: pair (smaller number first) -> share of lost packets, for pairs that lost ``least_loss`` or more.
    :param partners: the number of other nodes that each node was measured with.
    """
    findings = []
    for members, explained in cover(lossy, partners):
        loss = median(lossy[pair] for pair in explained)
        pairs = f" with {len(explained)} of {partners[members[0]]} nodes" if len(members) == 1 else ""
        evidence = f"{100 * loss:.2f} %{pairs}"
        findings.append(Finding(*blamed(nodes, members), LOSS, loss / least_loss, None, evidence))
    return ranked(findings)


# Messages with wrong data -> findings against the nodes and links that may have changed them.
# One wrong message is enough, because data are equal or not. The fewest nodes and links that explain every wrong pair
# are named. In an all-to-all of large blocks, each block goes directly from sender to receiver, so the pair is known.
# Other collectives forward blocks: there a node is named only if it is the only one of three or more with wrong data.

WRONG_PAYLOAD = "wrong payload"
SENT_DIRECTLY = "all-to-all"


def suspects_of_payloads(
    nodes: Sequence[str],
    payloads: Iterable[Payloads],
    collectives: Iterable[CollectiveBlocks],
    partners: Sequence[int] | None = None,
) -> list[Finding]:
    """Return findings, the most wrong messages first; ``score`` is their number.

    :param partners: the number of other nodes that each node was measured with; by default all.
    """
    wrong: Counter[Pair] = Counter()
    for each in payloads:
        wrong[each.pair] += each.wrong
    findings = []
    for collective in collectives:
        if collective.operation != SENT_DIRECTLY:
            findings += _alone(nodes, collective)
            continue
        for sender, receiver in collective.wrong_blocks:
            if sender != receiver:
                wrong[min(sender, receiver), max(sender, receiver)] += 1
    for members, explained in cover(+wrong, partners or [len(nodes) - 1] * len(nodes)):
        count = sum(wrong[pair] for pair in explained)
        told = _told(count, len(explained))
        findings.append(Finding(*blamed(nodes, members), WRONG_PAYLOAD, float(count), None, told))
    return ranked(findings)


def _alone(nodes: Sequence[str], collective: CollectiveBlocks) -> list[Finding]:
    receivers = {receiver for _, receiver in collective.wrong_blocks}
    if len(receivers) != 1 or len(nodes) < 3:
        return []
    (node,) = (nodes[receiver] for receiver in receivers)
    evidence = f"is the only node with wrong data of {collective.operation}"
    return [Finding("node", node, (node,), WRONG_PAYLOAD, float(len(collective.wrong_blocks)), None, evidence)]


def _told(wrong: int, pairs: int) -> str:
    return f"in {wrong} of all messages" + (f", with {pairs} nodes" if pairs > 1 else "")


def complaints(
    nodes: Sequence[str], payloads: Iterable[Payloads], collectives: Iterable[CollectiveBlocks]
) -> list[str]:
    """Return texts for the operator: pairs with wrong messages, and collectives with the nodes that got wrong data."""
    pairs = [
        f"{'-'.join(nodes[node] for node in each.pair)}: {each.wrong} of {each.messages} messages have wrong data"
        for each in payloads
        if each.wrong
    ]
    return pairs + [
        f"{each.operation}: wrong data on {', '.join(sorted({nodes[receiver] for _, receiver in each.wrong_blocks}))}"
        for each in collectives
        if each.wrong_blocks
    ]
