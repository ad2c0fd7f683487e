"""From the figures of every pair to a ranked list of suspect nodes, links and switches."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from reframe_checks.localise.finding import Finding, Floats, least_score, noise, ranked
from reframe_checks.localise.pair_model import PairFit, fit
from reframe_checks.localise.two_switches import slow_one_of_two

# A switch is told from its nodes from two up, and when this share of them is slow.
LEAST_NODES_OF_SWITCH, SLOW_SHARE = 2, 0.75


def suspects_of_pairs(
    quantity: str,
    nodes: Sequence[str],
    slowness: Floats,
    *,
    least_slowdown: float,
    switch_of: Mapping[str, str] | None = None,
) -> list[Finding]:
    """Ranked findings, the strongest evidence first.

    :param quantity: what was measured, for people.
    :param slowness: n x n, symmetric, in any unit of time; NaN where nothing was measured.
    :param least_slowdown: what is less times slower than its like is no suspect.
    :param switch_of: the leaf switch of each node; nodes that are not in it are taken to be on none.
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
    """What was slow only while other pairs were measured becomes typical; returns these pairs, too.

    A pair never gets better than the median pair, or pairs measured alone would make all others look slow.

    :param slowness: as for :func:`suspects_of_pairs`.
    :param alone: of some pairs, the same figure measured while no other pair was.
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
    """``when it sends`` or ``when it receives`` where a node is slow in one direction only, else empty.

    :param bandwidth: n x n, the row sends to the column.
    """
    sends, receives = np.nanmedian(bandwidth[node]), np.nanmedian(bandwidth[:, node])
    return slower_side(float(sends), float(receives), least_ratio=least_ratio)


def slower_side(sends: float, receives: float, *, least_ratio: float) -> str:
    """As above, of what a node typically sends and receives."""
    if receives >= least_ratio * sends:
        return "when it sends"
    return "when it receives" if sends >= least_ratio * receives else ""


def _not_measured(quantity: str, nodes: Sequence[str], logs: Floats) -> tuple[list[Finding], set[int]]:
    """What is missing: of a node that lacks more than half of its pairs, the node is named; else the pair."""
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
    """Slow switches, and what to hold each node against: the median of its slow switch, else 0."""
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
        # Where pairs within the switch are as fast as elsewhere, the fault is in the way out of it.
        within = fitted.link[np.ix_(inside, inside)]
        outward = float(np.nanmedian(within)) < -effect
        found.append(
            Finding(
                "switch", label, tuple(nodes[i] for i in inside), quantity, effect / spread, float(np.exp(effect)),
                f"its {len(inside)} nodes are typically {np.exp(effect):.2f} times slower than others"
                + (", but not to each other: look at its uplinks" if outward else ""),
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
            f"slower to all: {np.exp(effects[i]):.2f} times the median node over "
            f"{int(np.isfinite(fitted.link[i]).sum())} pairs",
        )
        for i in np.flatnonzero((effects >= least) & (effects / spread >= needed))
        if int(i) not in unreached
    ]  # fmt: skip


def _held_against_switch(fitted: PairFit, inside: NDArray[np.bool_]) -> PairFit:
    """With the links within a slow switch relative to the median of them."""
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
