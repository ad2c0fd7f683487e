"""From the packets that every pair of nodes lost to a ranked list of suspect nodes and links.

Counters are not noise: a healthy link loses none. So the fewest nodes and links are named that explain every lossy
pair (a greedy cover), and no spread is needed.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from reframe_checks.localise.finding import Finding, Floats, ranked
from reframe_checks.parsers.pair_sweep import Packets

Bools = NDArray[np.bool_]

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


def cover(bad: Bools, weights: Floats) -> Iterator[tuple[tuple[int, ...], Bools]]:
    """The fewest nodes and links that explain every bad pair: (node,) or (i, j), and the bad pairs (n x n) of each.

    :param bad: n x n, symmetric; a node is blamed where more than half of its pairs are bad.
    :param weights: n x n; of equal nodes the heaviest is blamed.
    """
    left = bad.copy()
    nodes = len(bad)
    while left.any():
        counts = left.sum(axis=1)
        worst = max(range(nodes), key=lambda node: (counts[node], np.nansum(weights[node])))
        if counts[worst] < 2 or 2 * counts[worst] <= nodes - 1:
            break
        explained = np.zeros_like(left)
        explained[worst] = left[worst]
        left[worst] = left[:, worst] = False
        yield (worst,), explained
    for i, j in np.argwhere(np.triu(left)):
        explained = np.zeros_like(left)
        explained[i, j] = True
        yield (int(i), int(j)), explained


def blamed(nodes: Sequence[str], members: tuple[int, ...]) -> tuple[Literal["node", "link"], str, tuple[str, ...]]:
    """Kind, name and nodes of what ``cover`` blames."""
    names = tuple(nodes[member] for member in members)
    return ("node" if len(names) == 1 else "link"), "-".join(names), names


def suspects_of_losses(nodes: Sequence[str], shares: Floats, *, least_loss: float) -> list[Finding]:
    """Findings, the greatest loss first: a node where more than half of its pairs lose packets, else the link.

    ``score`` is how many times ``least_loss`` the typical lossy pair loses.
    """
    findings = []
    for members, explained in cover(np.nan_to_num(shares) >= least_loss, shares):
        loss = float(np.median(shares[explained]))
        pairs = f" with {explained.sum()} of {len(nodes) - 1} nodes" if len(members) == 1 else ""
        evidence = f"{100 * loss:.2f} %{pairs}"
        findings.append(Finding(*blamed(nodes, members), QUANTITY, loss / least_loss, None, evidence))
    return ranked(findings)
