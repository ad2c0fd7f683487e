"""Lost and wrong messages: which nodes, links and switches they speak against."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import median

import numpy as np

from reframe_checks.localise.finding import Finding, Floats, ranked
from reframe_checks.localise.pairs import Pair, blamed, cover
from reframe_checks.parsers.pair_sweep import CollectiveBlocks, Packets, Payloads

# From the packets that every pair of nodes lost to a ranked list of suspect nodes and links.
# Counters are not noise: a healthy link loses none. So the fewest nodes and links are named that explain every lossy
# pair, and no spread is needed.

# Fewer may be others' packets on the same adapters.
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
    """Share of the packets of each pair that got lost, n x n, symmetric; NaN on the diagonal.

    :param sent: n x n, symmetric, by both nodes of the pair while they were measured.
    :param lost: as ``sent``. Fewer than ``LEAST_PACKETS`` count as none where they are more than ``least_loss``.
    """
    shares = lost_shares(sent, lost, least_loss=least_loss)
    np.fill_diagonal(shares, np.nan)
    return shares


def lost_shares(sent: Floats, lost: Floats, *, least_loss: float) -> Floats:
    """As above, of figures of any shape."""
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = np.where(sent > 0, lost / sent, 0.0)
    shares[(lost < LEAST_PACKETS) & (shares >= least_loss)] = 0
    return shares


def suspects_of_losses(nodes: Sequence[str], shares: Floats, *, least_loss: float) -> list[Finding]:
    """As below, where every pair was measured: ``shares`` (n x n, symmetric) of the packets that got lost."""
    lossy = np.argwhere(np.triu(np.nan_to_num(shares) >= least_loss))
    bad = {(int(i), int(j)): float(shares[i, j]) for i, j in lossy}
    return suspects_of_lossy_pairs(nodes, bad, [len(nodes) - 1] * len(nodes), least_loss=least_loss)


def suspects_of_lossy_pairs(
    nodes: Sequence[str], lossy: Mapping[Pair, float], partners: Sequence[int], *, least_loss: float
) -> list[Finding]:
    """Findings, the greatest loss first: a node where more than half of its pairs lose packets, else the link.

    ``score`` is how many times ``least_loss`` the typical lossy pair loses.

    :param lossy: the share that each pair lost, the smaller number first, of those that lost ``least_loss`` or more.
    :param partners: with how many others each node was measured.
    """
    findings = []
    for members, explained in cover(lossy, partners):
        loss = median(lossy[pair] for pair in explained)
        pairs = f" with {len(explained)} of {partners[members[0]]} nodes" if len(members) == 1 else ""
        evidence = f"{100 * loss:.2f} %{pairs}"
        findings.append(Finding(*blamed(nodes, members), LOSS, loss / least_loss, None, evidence))
    return ranked(findings)


# From messages that did not arrive as they were sent to the nodes and links that can have changed them.
# One is enough: what is compared is equal or not. The fewest nodes and links are named that explain every wrong pair.
# Of collectives, an all-to-all of large blocks tells its pairs, as each block is sent from its sender to its receiver;
# others pass blocks on: there the node is named that alone of three or more got wrong data.

WRONG_PAYLOAD = "wrong payload"
SENT_DIRECTLY = "all-to-all"


def suspects_of_payloads(
    nodes: Sequence[str],
    payloads: Iterable[Payloads],
    collectives: Iterable[CollectiveBlocks],
    partners: Sequence[int] | None = None,
) -> list[Finding]:
    """Findings, the most wrong messages first; ``score`` is their number.

    :param partners: with how many others each node was measured; all, if not given.
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
    evidence = f"alone got wrong data of {collective.operation}"
    return [Finding("node", node, (node,), WRONG_PAYLOAD, float(len(collective.wrong_blocks)), None, evidence)]


def _told(wrong: int, pairs: int) -> str:
    return f"in {wrong} of all messages" + (f", with {pairs} nodes" if pairs > 1 else "")


def complaints(
    nodes: Sequence[str], payloads: Iterable[Payloads], collectives: Iterable[CollectiveBlocks]
) -> list[str]:
    """Tell the operator the wrong pairs, and the collectives with the nodes that got wrong data."""
    pairs = [
        f"{'-'.join(nodes[node] for node in each.pair)}: {each.wrong} of {each.messages} messages have another content"
        for each in payloads
        if each.wrong
    ]
    return pairs + [
        f"{each.operation}: wrong data on {', '.join(sorted({nodes[receiver] for _, receiver in each.wrong_blocks}))}"
        for each in collectives
        if each.wrong_blocks
    ]
