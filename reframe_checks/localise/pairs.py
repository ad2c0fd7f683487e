"""Find slow nodes, links and switches from the figures of every pair of nodes."""

import heapq
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from reframe_checks.localise.finding import Finding, Floats, least_score, noise, ranked

Pair = tuple[int, int]


def cover(bad: Mapping[Pair, float], partners: Sequence[int]) -> Iterator[tuple[tuple[int, ...], list[Pair]]]:
    """Yield each blamed node (node,) or link (i, j), with the bad pairs that it explains.

    :param bad: bad pair (smaller number first) -> weight; of nodes with equally many bad pairs, the heaviest is blamed.
    :param partners: the number of other nodes that each node was measured with; a node is blamed if more than half of
        its pairs are bad.
    """
    left: dict[int, set[int]] = defaultdict(set)
    total: dict[int, float] = defaultdict(float)
    for pair, weight in bad.items():
        for node, other in (pair, pair[::-1]):
            left[node].add(other)
            total[node] += weight
    heap = [(-len(others), -total[node], node) for node, others in left.items()]
    heapq.heapify(heap)
    while heap:
        count, weight, node = heapq.heappop(heap)
        others = left[node]
        if -count != len(others):  # some pairs are explained already
            heapq.heappush(heap, (-len(others), weight, node))
        elif len(others) >= 2 and 2 * len(others) > partners[node]:
            yield (node,), sorted((min(node, other), max(node, other)) for other in others)
            for other in others:
                left[other].discard(node)
            left[node] = set()
    for i in sorted(left):
        yield from (((i, j), [(i, j)]) for j in sorted(left[i]) if i < j)


def blamed(nodes: Sequence[str], members: tuple[int, ...]) -> tuple[Literal["node", "link"], str, tuple[str, ...]]:
    """Return kind, name and nodes of a node or link that ``cover`` blames."""
    names = tuple(nodes[member] for member in members)
    return ("node" if len(names) == 1 else "link"), "-".join(names), names


# With two leaf switches, there is no third to show the usual speed. With few nodes, one fast pair among slow ones looks
# like one slow pair among fast ones. But a node whose fastest pair is slow must be slow, or be on a slow switch.


def slow_one_of_two(
    quantity: str,
    nodes: Sequence[str],
    logs: Floats,
    members: Mapping[str, NDArray[np.intp]],
    *,
    least: float,
    slow_share: float,
) -> list[Finding]:
    """Return a finding for the switch whose nodes are slow to all others and to each other, or none.

    :param logs: n x n, symmetric, logarithms of a time; NaN where nothing was measured.
    :param members: the nodes of each of the two leaf switches.
    :param least: the least effect that counts, a logarithm.
    :param slow_share: the share of the switch's nodes that must be slow.
    """
    best = np.min(np.where(np.isfinite(logs), logs, np.inf), axis=1)
    effects = {label: float(np.median(best[inside])) for label, inside in members.items()}
    healthy, slow = sorted(effects, key=lambda label: effects[label])
    effect = effects[slow] - effects[healthy]
    spread = noise(np.concatenate([best[members[label]] - effects[label] for label in members]))
    share = float(np.mean(best[members[slow]] - effects[healthy] >= least))
    if not np.isfinite(effect) or effect < least or effect / spread < least_score(2) or share < slow_share:
        return []
    return [
        Finding(
            "switch", slow, tuple(nodes[i] for i in members[slow]), quantity, effect / spread, float(np.exp(effect)),
            f"the fastest pairs of its {len(members[slow])} nodes are typically {np.exp(effect):.2f} times slower than "
            f"those of {healthy}",
        )
    ]  # fmt: skip


# The slowness of a pair is a sum, fitted robustly; the residual belongs to the link:
#     log(time of i-j) = level + node_i + node_j + crossing_ij * distance + link_ij
# ``crossing`` is 1 if the nodes are on different leaf switches. Nodes and links count with Huber's loss, so a few large
# faults do not move the rest (Huber 1964). It is minimised by iteratively reweighted least squares. The normal
# equations have one row for each node, not for each pair, so a thousand nodes take seconds. A prior with the weight of
# one pair pulls each node towards the median node, and the distance towards 0. With few nodes, it decides between one
# slow link and several fast ones.

# Parameter of Huber's loss: 95 % efficiency with normal noise.
HUBER = 1.345
ITERATIONS, TOLERANCE = 100, 1e-6


@dataclass(frozen=True)
class PairFit:
    """The result of the fit, in natural logarithms; above 0 is slower.

    ``node`` (n) is relative to the median node. ``link`` (n x n, symmetric) is the residual; NaN where nothing was
    measured. ``typical`` is the time of a pair of median nodes within a switch.
    """

    typical: float
    node: Floats
    link: Floats


def fit(slowness: Floats, crossing: NDArray[np.bool_] | None = None) -> PairFit:
    """Fit the effects of nodes, distance and links.

    :param slowness: n x n, symmetric, the logarithm of a time (or of 1 / bandwidth); NaN where unknown.
    :param crossing: n x n, which pairs are on different switches.
    :raises ValueError: fewer than three nodes, whose effects cannot be separated.
    """
    n = len(slowness)
    if n < 3:
        raise ValueError(f"expected three nodes or more to separate their effects, found {n}")
    known = np.isfinite(slowness) & ~np.eye(n, dtype=bool)
    y = np.where(known, slowness, 0.0)
    z = np.where(known & crossing, 1.0, 0.0) if crossing is not None else np.zeros((n, n))
    # If all pairs cross switches, or none does, the distance is part of the level.
    distant = bool(z.any() and (known & (z == 0)).any())
    half, distance = _start(np.where(known, slowness, np.nan)), 0.0
    for _ in range(ITERATIONS):
        residual = np.where(known, y - half[:, None] - half[None, :] - distance * z, np.nan)
        centre = float(np.median(half))
        # The noise of the residuals sets the point where the loss becomes linear, for nodes and links.
        knee = HUBER * noise(residual)
        weight = np.where(known, knee / np.maximum(np.abs(np.where(known, residual, 0)), knee), 0)
        pull = knee / np.maximum(np.abs(half - centre), knee)
        matrix = weight + np.diag(weight.sum(axis=1) + pull)
        right = (weight * y).sum(axis=1) + pull * centre
        if distant:
            column = (weight * z).sum(axis=1)
            corner = (weight * z).sum() / 2 + knee / max(abs(distance), knee)
            matrix = np.block([[matrix, column[:, None]], [column[None, :], np.array([[corner]])]])
            right = np.append(right, (weight * z * y).sum() / 2)
        solution = np.linalg.solve(matrix, right)
        moved = float(np.max(np.abs(solution[:n] - half)))
        half, distance = solution[:n], float(solution[n]) if distant else 0.0
        if moved < TOLERANCE:
            break
    centre = float(np.median(half))
    link = np.where(known, y - half[:, None] - half[None, :] - distance * z, np.nan)
    return PairFit(typical=2 * centre, node=half - centre, link=link)


def _start(slowness: Floats) -> Floats:
    """Return the median of each node's pairs minus half of the median of all; with few faults, this is nearly right."""
    level = float(np.nanmedian(slowness)) if np.isfinite(slowness).any() else 0.0
    medians = [np.median(row[np.isfinite(row)]) if np.isfinite(row).any() else level for row in slowness]
    return np.array(medians) - level / 2


# A switch is named instead of its nodes if it has at least two, and if at least this share of them is slow.
LEAST_NODES_OF_SWITCH, SLOW_SHARE = 2, 0.75


def suspects_of_pairs(
    quantity: str,
    nodes: Sequence[str],
    slowness: Floats,
    *,
    least_slowdown: float,
    switch_of: Mapping[str, str] | None = None,
) -> list[Finding]:
    """Return ranked findings, the strongest evidence first.

    :param quantity: the name of the measured quantity, for readers.
    :param slowness: n x n, symmetric, in any unit of time; NaN where nothing was measured.
    :param least_slowdown: the least factor by which a suspect is slower than its equals.
    :param switch_of: node -> leaf switch; nodes that are missing are on no known switch.
    """
    logs = np.log(slowness)
    findings, unreached = _not_measured(quantity, nodes, logs)
    if len(nodes) < 3:
        return findings
    labels = np.array([(switch_of or {}).get(node, "") for node in nodes])
    fitted = fit(logs, labels[:, None] != labels[None, :])
    limits = (float(np.log(least_slowdown)), quantity)
    switches, base = _switches(fitted, nodes, labels, logs, *limits)
    findings += switches
    findings += _nodes(fitted, nodes, unreached, base, *limits)
    for switch in switches:
        fitted = _held_against_switch(fitted, np.isin(nodes, switch.nodes))
    findings += _links(fitted, nodes, *limits)
    return ranked(findings)


def clear_pairs(
    slowness: Floats, alone: Mapping[tuple[int, int], float], *, least_slowdown: float
) -> tuple[Floats, list[tuple[int, int]]]:
    """Give typical figures to pairs that were slow only while other pairs were measured, and return these pairs, too.

    No pair becomes better than the median pair, because pairs measured alone would make all others look slow.

    :param slowness: as for :func:`suspects_of_pairs`.
    :param alone: some pairs -> the same figure, measured alone.
    """
    median = float(np.nanmedian(slowness))
    cleared, pairs = slowness.copy(), []
    for (i, j), value in alone.items():
        was = slowness[i, j]
        if was <= median:
            continue
        cleared[i, j] = cleared[j, i] = now = max(min(was, value), median)
        if was >= least_slowdown * median > now:
            pairs.append((i, j))
    return cleared, pairs


def one_direction(bandwidth: Floats, node: int, *, least_ratio: float) -> str:
    """Return ``when it sends`` or ``when it receives`` if a node is slow in one direction only, else an empty text.

    :param bandwidth: n x n, the row sends to the column.
    """
    sends, receives = np.nanmedian(bandwidth[node]), np.nanmedian(bandwidth[:, node])
    return slower_side(float(sends), float(receives), least_ratio=least_ratio)


def slower_side(sends: float, receives: float, *, least_ratio: float) -> str:
    """Return the same as ``one_direction`` from the typical bandwidths of a node's two directions."""
    if receives >= least_ratio * sends:
        return "when it sends"
    return "when it receives" if sends >= least_ratio * receives else ""


def _not_measured(quantity: str, nodes: Sequence[str], logs: Floats) -> tuple[list[Finding], set[int]]:
    """Return findings for missing figures: the node if it lacks more than half of its pairs, else the pair."""
    missing = ~np.isfinite(logs) & ~np.eye(len(nodes), dtype=bool)
    counts = missing.sum(axis=1)
    unreached = {int(i) for i in np.flatnonzero(2 * counts > len(nodes) - 1)}
    found = [
        Finding("node", nodes[i], (nodes[i],), quantity, None, None,
                f"not measured with {counts[i]} of {len(nodes) - 1} nodes")
        for i in sorted(unreached, key=lambda i: -counts[i])
    ]  # fmt: skip
    found += [
        Finding("link", f"{nodes[i]}-{nodes[j]}", (nodes[i], nodes[j]), quantity, None, None, "not measured")
        for i, j in np.argwhere(np.triu(missing))
        if not unreached & {int(i), int(j)}
    ]
    return found, unreached


def _switches(
    fitted: PairFit, nodes: Sequence[str], labels: NDArray[np.str_], logs: Floats, least: float, quantity: str
) -> tuple[list[Finding], Floats]:
    """Return slow switches, and the base for each node: the median of its slow switch, else 0."""
    base = np.zeros(len(nodes))
    members = {
        str(label): np.flatnonzero(labels == label)
        for label in np.unique(labels)
        if label and (labels == label).sum() >= LEAST_NODES_OF_SWITCH
    }
    if len(members) < 2:
        return [], base
    effects = {label: float(np.median(fitted.node[inside])) for label, inside in members.items()}
    if len(members) == 2:
        found = slow_one_of_two(quantity, nodes, logs, members, least=least, slow_share=SLOW_SHARE)
        for finding in found:
            base[members[finding.name]] = effects[finding.name]
        return found, base
    centre = float(np.median(list(effects.values())))
    spread = noise(np.array(list(effects.values())))
    found = []
    for label, inside in members.items():
        effect = effects[label] - centre
        slow = float(np.mean(fitted.node[inside] - centre >= least))
        if effect < least or effect / spread < least_score(len(members)) or slow < SLOW_SHARE:
            continue
        base[inside] = effects[label]
        # If pairs within the switch are as fast as elsewhere, the fault is in its uplinks.
        within = fitted.link[np.ix_(inside, inside)]
        outward = float(np.nanmedian(within)) < -effect
        found.append(
            Finding(
                "switch", label, tuple(nodes[i] for i in inside), quantity, effect / spread, float(np.exp(effect)),
                f"its {len(inside)} nodes are typically {np.exp(effect):.2f} times slower than others"
                + (", but not to each other: check its uplinks" if outward else ""),
            )
        )  # fmt: skip
    return found, base


def _nodes(
    fitted: PairFit, nodes: Sequence[str], unreached: set[int], base: Floats, least: float, quantity: str
) -> list[Finding]:
    effects = fitted.node - base
    spread, needed = noise(effects), least_score(len(nodes))
    return [
        Finding(
            "node", nodes[i], (nodes[i],), quantity, float(effects[i] / spread), float(np.exp(effects[i])),
            f"{np.exp(effects[i]):.2f} times slower than the median node, over "
            f"{int(np.isfinite(fitted.link[i]).sum())} pairs",
        )
        for i in np.flatnonzero((effects >= least) & (effects / spread >= needed))
        if int(i) not in unreached
    ]  # fmt: skip


def _held_against_switch(fitted: PairFit, inside: NDArray[np.bool_]) -> PairFit:
    """Return the fit with the links within a slow switch relative to their median."""
    within = np.ix_(inside, inside)
    link = fitted.link.copy()
    if np.isfinite(link[within]).any():
        link[within] -= np.nanmedian(link[within])
    return replace(fitted, link=link)


def _links(fitted: PairFit, nodes: Sequence[str], least: float, quantity: str) -> list[Finding]:
    upper = np.where(np.triu(np.ones_like(fitted.link, dtype=bool)), fitted.link, np.nan)
    spread, needed = noise(upper), least_score(int(np.isfinite(upper).sum()))
    with np.errstate(invalid="ignore"):
        slow = np.argwhere((upper >= least) & (upper / spread >= needed))
    return [
        Finding(
            "link", f"{nodes[i]}-{nodes[j]}", (nodes[i], nodes[j]), quantity, float(upper[i, j] / spread),
            float(np.exp(upper[i, j])), f"{np.exp(upper[i, j]):.2f} times slower than its two nodes explain",
        )
        for i, j in slow
    ]  # fmt: skip
