"""From the packets that every pair of nodes lost to a ranked list of suspect nodes and links.

Counters are not noise: a healthy link loses none. So the fewest nodes and links are named that explain every lossy
pair, and no spread is needed.
"""

from collections.abc import Iterable, Mapping, Sequence
from statistics import median

import numpy as np

from reframe_checks.localise.cover import Pair, blamed, cover
from reframe_checks.localise.finding import Finding, Floats, ranked
from reframe_checks.parsers.pair_sweep import Packets

# Fewer may be others' packets on the same adapters.
LEAST_PACKETS = 5
QUANTITY = "packet loss"


def loss_counts(packets: Iterable[Packets], nodes: int) -> tuple[Floats, Floats]:
    """What was sent and what got lost, both n x n and symmetric."""
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
        findings.append(Finding(*blamed(nodes, members), QUANTITY, loss / least_loss, None, evidence))
    return ranked(findings)
