"""Find the slowness that each node and leaf switch adds to its pairs, from a sample of the pairs.

    log(time of i-j) = level + node_i + node_j

Pairs within leaf switches and pairs between them have separate levels and effects.

A node's effect is the lower quartile of its pairs, after the level and the effects of the other nodes are removed. The
lower quartile is used because a pair is often slow only because other pairs use the same links. The effects are found
in iterations, starting from 0; faults are rare among the partners of a node, so a few iterations suffice. All tables
have a row for each node and a column for each round, so time and memory grow with the number of measured pairs.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reframe_checks.localise.finding import NOISE_FLOOR, Finding, Floats, least_score, noise, ranked
from reframe_checks.localise.pairs import LEAST_NODES_OF_SWITCH, SLOW_SHARE

QUARTILE = 0.25
TURNS = 4
# With fewer partners within its leaf switch, a node cannot be separated from them.
LEAST_WITHIN = 3

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Rounds:
    """Tables (n x rounds): the partner of each node, and the logarithm of the time; NaN while the node was idle."""

    partner: NDArray[np.int32]
    logs: NDArray[np.float32]

    @classmethod
    def of(cls, nodes: int, rounds: int, round_of: Ints, first: Ints, second: Ints, logs: Floats) -> "Rounds":
        """Make the tables from the pairs of all rounds; each node is in at most one pair of a round."""
        partner = np.zeros((nodes, rounds), dtype=np.int32)
        table = np.full((nodes, rounds), np.nan, dtype=np.float32)
        for here, there in ((first, second), (second, first)):
            partner[here, round_of] = there
            table[here, round_of] = logs
        return cls(partner, table)


@dataclass(frozen=True)
class SampleFit:
    """The result of the fit, in natural logarithms; above 0 is slower than the typical node.

    ``within`` and ``between`` (n) are a node's effects on pairs within its leaf switch and on all others; NaN if too
    few pairs were measured. ``residual`` (n x rounds) is the part of pairs between leaf switches that the nodes do not
    explain; NaN for other pairs.
    """

    level_within: float
    level_between: float
    within: Floats
    between: Floats
    residual: NDArray[np.float32]


def fit(rounds: Rounds, leaf: Ints) -> SampleFit:
    """Fit the effects of nodes.

    :param leaf: the number of each node's leaf switch; below 0 if its switch is not known.
    """
    inside = (leaf[:, None] >= 0) & (leaf[rounds.partner] == leaf[:, None])
    level_within, within, _ = _effects(rounds, inside, LEAST_WITHIN)
    level_between, between, residual = _effects(rounds, ~inside, 1)
    return SampleFit(level_within, level_between, within, between, residual)


def _effects(rounds: Rounds, chosen: NDArray[np.bool_], least: int) -> tuple[float, Floats, NDArray[np.float32]]:
    logs = np.where(chosen, rounds.logs, np.float32(np.nan))
    known = logs[np.isfinite(logs)]
    level = float(np.median(known)) if known.size else np.nan
    enough = np.isfinite(logs).sum(axis=1) >= least
    effects = np.zeros(len(logs), dtype=np.float32)
    for _ in range(TURNS if known.size else 0):
        effects = _lower_quartiles(logs - np.float32(level) - effects[rounds.partner])
        effects = np.nan_to_num(effects - np.float32(np.nanmedian(effects)))
    residual = logs - np.float32(level) - effects[rounds.partner] - effects[:, None]
    if known.size:  # the level of two typical nodes, also if many pairs have a node that is not typical
        typical = np.float32(np.nanmedian(residual))
        level, residual = level + float(typical), residual - typical
    return level, np.where(enough, effects.astype(float), np.nan), residual


def _lower_quartiles(table: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the lower quartile of each row; NaN for a row without figures."""
    ordered = np.sort(table, axis=1)  # NaN last
    count = np.isfinite(ordered).sum(axis=1)
    place = np.floor(QUARTILE * np.maximum(count - 1, 0)).astype(np.int64)
    return np.take_along_axis(ordered, place[:, None], axis=1)[:, 0]


# Findings of a sample of the pairs:
#
# - **Node**: slow to the other nodes of its leaf switch and to all others.
# - **Leaf switch**: its nodes are equally slow. If they are not slow to each other, its uplinks are slow.
# - **One uplink of a leaf switch**, with static routing: a share of its pairs with other leaf switches is slow, because
#   each destination has one path.
# - **One uplink of a leaf switch**, with adaptive routing: all its pairs with other leaf switches are slightly slower,
#   because packets use all paths.
# - **Link**: a pair that is slow, also when measured alone, and nothing above explains it.

# With two leaf switches, the usual one is not known.
LEAST_LEAVES = 3
# A leaf switch is named only if it is slower by at least the first value, or if the share of its slow pairs exceeds the
# usual share by the second. One of 20 uplinks at half speed takes 2.5 % of the total bandwidth; one of 64 is the path
# of 1.6 % of the pairs.
LEAST_LEAF_EFFECT, LEAST_SHARE = 0.011, 0.01
# Lower limit of the noise of leaf switches: each is the median of its nodes' many pairs.
LEAF_NOISE_FLOOR = 0.001


@dataclass(frozen=True)
class JudgedSample:
    """Findings and figures of a sample, in the unit of the given times.

    ``slowness`` (n): the time of a pair of the node with a typical node, by the slower of its pairs within its leaf
    switch and its other pairs. ``leaf_slowness``: the time of a pair of a typical node of each leaf switch with a node
    of another leaf switch.
    """

    findings: list[Finding]
    slowness: Floats
    leaf_slowness: Floats
    fitted: SampleFit


def leaf_numbers(nodes: Sequence[str], switch_of: Mapping[str, str]) -> tuple[Ints, list[str]]:
    """Return the number of each node's leaf switch (-1 if it is not known), and the names of the switches."""
    names = sorted({switch_of[node] for node in nodes if node in switch_of})
    number = {name: place for place, name in enumerate(names)}
    return np.array([number.get(switch_of.get(node, ""), -1) for node in nodes]), names


def suspects_of_samples(
    quantity: str,
    nodes: Sequence[str],
    rounds: Rounds,
    *,
    least_slowdown: float,
    switch_of: Mapping[str, str] | None = None,
    alone: Mapping[tuple[int, int], float] | None = None,
) -> JudgedSample:
    """Return ranked findings, the strongest evidence first.

    :param quantity: the name of the measured quantity, for readers.
    :param rounds: all measured pairs; logarithms of a time.
    :param least_slowdown: the least factor by which a suspect node, link or switch is slower than its equals.
    :param switch_of: node -> leaf switch; nodes that are missing are on no known switch.
    :param alone: some pairs -> time, measured alone.
    """
    leaf, names = leaf_numbers(nodes, switch_of or {})
    fitted = fit(rounds, leaf)
    judge = _Judge(quantity, nodes, leaf, names, fitted, float(np.log(least_slowdown)))
    findings = [*judge.unreached(rounds), *judge.leaves(), *judge.nodes_alone()]
    findings += judge.links(alone or {})
    levels = np.fmax(fitted.level_between + fitted.between, fitted.level_within + fitted.within)
    return JudgedSample(ranked(findings), np.exp(levels), np.exp(fitted.level_between + judge.leaf_effect), fitted)


class _Judge:
    def __init__(
        self, quantity: str, nodes: Sequence[str], leaf: Ints, names: Sequence[str], fitted: SampleFit, least: float
    ) -> None:
        self.quantity, self.nodes, self.leaf, self.names = quantity, nodes, leaf, names
        self.fitted, self.least = fitted, least
        self.members = _members(leaf, len(names))
        self.leaf_effect = np.array([_median(fitted.between[inside]) for inside in self.members])
        self.base = np.zeros(len(nodes))  # the effect of a node's slow switch, which its own effect excludes
        self.blamed = np.zeros(len(nodes), dtype=bool)

    def unreached(self, rounds: Rounds) -> list[Finding]:
        silent = np.flatnonzero(~np.isfinite(rounds.logs).any(axis=1))
        return [
            Finding("node", self.nodes[i], (self.nodes[i],), self.quantity, None, None, "not measured with any node")
            for i in silent
        ]

    def leaves(self) -> list[Finding]:
        """Return at most one finding for each leaf switch."""
        told = [place for place, inside in enumerate(self.members) if len(inside) >= LEAST_NODES_OF_SWITCH]
        if len(told) < LEAST_LEAVES:
            return []
        effects = self.leaf_effect[told] - np.nanmedian(self.leaf_effect[told])
        spread = noise(effects, LEAF_NOISE_FLOOR)
        shares, strengths = self._slow_shares(told)
        needed = least_score(3 * len(told))  # three reasons can name a switch
        found = []
        for place, effect, share, strength in zip(told, effects, shares, strengths, strict=True):
            inside = self.members[place]
            if effect >= self.least and effect / max(spread, NOISE_FLOOR) >= needed and self._most_slow(inside):
                found.append(self._slow_leaf(place, effect, effect / max(spread, NOISE_FLOOR)))
            elif share >= LEAST_SHARE and strength >= needed:
                found.append(self._one_way_static(place, share, strength))
            elif effect >= LEAST_LEAF_EFFECT and effect / spread >= needed:
                found.append(self._one_way_adaptive(place, effect, effect / spread))
        return found

    def nodes_alone(self) -> list[Finding]:
        effects = np.fmin(self.fitted.within, self.fitted.between) - self.base
        spread, needed = noise(effects), least_score(len(self.nodes))
        slow = np.flatnonzero((effects >= self.least) & (effects / spread >= needed))
        self.blamed[slow] = True
        return [
            Finding(
                "node", self.nodes[i], (self.nodes[i],), self.quantity, float(effects[i] / spread),
                float(np.exp(effects[i])),
                f"{np.exp(effects[i]):.2f} times slower than the typical node, by a sample of its pairs",
            )
            for i in slow
        ]  # fmt: skip

    def links(self, alone: Mapping[tuple[int, int], float]) -> list[Finding]:
        """Return findings for slow pairs of nodes that have no other finding."""
        spread, found = noise(self.fitted.residual), []
        needed = least_score(np.isfinite(self.fitted.residual).sum() // 2)
        for (i, j), time in alone.items():
            effect = float(np.log(time)) - self.explained(i, j)
            if self.blamed[i] or self.blamed[j] or effect < self.least or effect / spread < needed:
                continue
            found.append(
                Finding(
                    "link", f"{self.nodes[i]}-{self.nodes[j]}", (self.nodes[i], self.nodes[j]), self.quantity,
                    effect / spread, float(np.exp(effect)),
                    f"{np.exp(effect):.2f} times slower than its two nodes explain, measured alone, too",
                )
            )  # fmt: skip
        return found

    def explained(self, i: int, j: int) -> float:
        inside = self.leaf[i] >= 0 and self.leaf[i] == self.leaf[j]
        level = self.fitted.level_within if inside else self.fitted.level_between
        effects = np.nan_to_num(self.fitted.within if inside else self.fitted.between)
        return level + float(effects[i] + effects[j])

    def _most_slow(self, inside: Ints) -> bool:
        effects = self.fitted.between[inside] - np.nanmedian(self.leaf_effect)
        return float(np.mean(effects >= self.least)) >= SLOW_SHARE

    def _slow_leaf(self, place: int, effect: float, score: float) -> Finding:
        inside = self.members[place]
        within = _median(self.fitted.within[inside])
        self.base[inside] = np.fmin(effect, within) if np.isfinite(within) else effect
        self.blamed[inside] = True
        return self._switch(
            place, score, float(np.exp(effect)),
            f"its {len(inside)} nodes are typically {np.exp(effect):.2f} times slower than others"
            + (", but not to each other: check its uplinks" if within < effect / 2 else ""),
        )  # fmt: skip

    def _one_way_static(self, place: int, share: float, score: float) -> Finding:
        inside = self.members[place]
        self.blamed[inside] = True
        slow = self.fitted.residual[inside]
        factor = float(np.exp(np.median(slow[slow >= self.least])))
        return self._switch(
            place, score, factor,
            f"{100 * share:.1f} % more of its pairs with other switches are slow than usual, typically {factor:.2f} "
            "times: as with one bad uplink and static routing",
        )  # fmt: skip

    def _one_way_adaptive(self, place: int, effect: float, score: float) -> Finding:
        self.blamed[self.members[place]] = True
        return self._switch(
            place, score, float(np.exp(effect)),
            f"all its pairs with other switches are typically {np.exp(effect):.3f} times slower than usual: as with "
            "one bad uplink and adaptive routing",
        )  # fmt: skip

    def _switch(self, place: int, score: float, slowdown: float, evidence: str) -> Finding:
        named = tuple(self.nodes[i] for i in self.members[place])
        return Finding("switch", self.names[place], named, self.quantity, float(score), slowdown, evidence)

    def _slow_shares(self, told: Sequence[int]) -> tuple[Floats, Floats]:
        """Return, for each leaf switch, the share of its slow pairs with other switches beyond the usual share.

        The second value is this share in units of the noise, with the noise of independent pairs as the lower limit.
        """
        residual = self.fitted.residual
        known = np.isfinite(residual).sum(axis=1)
        # A node behind the bad uplink is slow to all other switches, but not within its own.
        served = (self.fitted.between - np.nan_to_num(self.leaf_effect)[self.leaf] >= self.least) & (
            self.fitted.within < self.least / 2
        )
        slow = np.where(served, known, (residual >= self.least).sum(axis=1))
        pairs = np.array([known[self.members[place]].sum() for place in told], dtype=float)
        counts = np.array([slow[self.members[place]].sum() for place in told], dtype=float)
        share = counts / np.maximum(pairs, 1)
        usual = float(np.median(share))
        # Anscombe 1948: this transform of counts is normal with a deviation of 1.
        strength = 2 * (np.sqrt(counts + 3 / 8) - np.sqrt(usual * pairs + 3 / 8))
        return share - usual, strength / noise(strength, 1.0)


def _members(leaf: Ints, leaves: int) -> list[NDArray[np.intp]]:
    """Return the nodes of each leaf switch."""
    order = np.argsort(leaf, kind="stable")
    bounds = np.searchsorted(leaf[order], np.arange(leaves + 1))
    return [order[begin:end] for begin, end in itertools.pairwise(bounds)]


def _median(values: Floats) -> float:
    known = values[np.isfinite(values)]
    return float(np.median(known)) if known.size else np.nan
