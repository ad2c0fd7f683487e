"""From the packets that every pair of nodes lost to a ranked list of suspect nodes and links.

Counters are not noise: a healthy link loses none. So the fewest nodes and links are named that explain every lossy
pair (a greedy cover), and no spread is needed.
"""

from collections.abc import Iterable, Sequence

import numpy as np

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
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = np.where(sent > 0, lost / sent, 0.0)
    shares[(lost < LEAST_PACKETS) & (shares >= least_loss)] = 0
    np.fill_diagonal(shares, np.nan)
    return shares


def suspects_of_losses(nodes: Sequence[str], shares: Floats, *, least_loss: float) -> list[Finding]:
    """Findings, the greatest loss first: a node where more than half of its pairs lose packets, else the link.

    ``score`` is how many times ``least_loss`` the typical lossy pair loses.
    """
    lossy = np.nan_to_num(shares) >= least_loss
    findings = []
    while lossy.any():
        counts = lossy.sum(axis=1)
        worst = max(range(len(nodes)), key=lambda node: (counts[node], np.nansum(shares[node])))
        if counts[worst] < 2 or 2 * counts[worst] <= len(nodes) - 1:
            break
        loss = float(np.median(shares[worst][lossy[worst]]))
        evidence = f"{100 * loss:.2f} % with {counts[worst]} of {len(nodes) - 1} nodes"
        findings.append(Finding("node", nodes[worst], (nodes[worst],), QUANTITY, loss / least_loss, None, evidence))
        lossy[worst] = lossy[:, worst] = False
    for i, j in np.argwhere(np.triu(lossy)):
        name, loss = f"{nodes[i]}-{nodes[j]}", float(shares[i, j])
        findings.append(
            Finding("link", name, (nodes[i], nodes[j]), QUANTITY, loss / least_loss, None, f"{100 * loss:.2f} %")
        )
    return ranked(findings)
