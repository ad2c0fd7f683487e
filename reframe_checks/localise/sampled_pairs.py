"""Slowness that each node and leaf switch adds to its pairs, from a sample of these pairs.

    log(time of i-j) = level + node_i + node_j

Pairs within leaf switches and between them have a level and effects of their own.

A node's effect is the lower quartile of what its pairs take beyond the level and beyond their other nodes: nothing is
faster than its cause, and a pair is often slow because others use the same links at that time. Effects are found in
turns, from none; a fault is rare among the partners of a node, so a few turns suffice. Everything is a table with a row
for each node and a column for each round, so that time and memory grow with the pairs measured.
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
# Of fewer partners within its leaf switch a node is not told from them.
LEAST_WITHIN = 3

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Rounds:
    """n x rounds: with whom each node was measured, and the logarithm of the time, NaN where it was idle."""

    partner: NDArray[np.int32]
    logs: NDArray[np.float32]

    @classmethod
    def of(cls, nodes: int, rounds: int, round_of: Ints, first: Ints, second: Ints, logs: Floats) -> "Rounds":
        """From the pairs of all rounds; each node is in one of a round at most."""
        partner = np.zeros((nodes, rounds), dtype=np.int32)
        table = np.full((nodes, rounds), np.nan, dtype=np.float32)
        for here, there in ((first, second), (second, first)):
            partner[here, round_of] = there
            table[here, round_of] = logs
        return cls(partner, table)


@dataclass(frozen=True)
class SampleFit:
    """Natural logarithms, above 0 is slower than the typical node. ``within`` and ``between`` (n) are a node's effects
    on pairs within its leaf switch and all others, NaN where too few were measured; ``residual`` (n x rounds) is
    what both nodes do not explain of pairs between leaf switches, NaN for others."""

    level_within: float
    level_between: float
    within: Floats
    between: Floats
    residual: NDArray[np.float32]


def fit(rounds: Rounds, leaf: Ints) -> SampleFit:
    """:param leaf: the number of each node's leaf switch; below 0 where it is on none that is known."""
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
    if known.size:  # of two typical nodes, also where many pairs have one that is not
        typical = np.float32(np.nanmedian(residual))
        level, residual = level + float(typical), residual - typical
    return level, np.where(enough, effects.astype(float), np.nan), residual


def _lower_quartiles(table: NDArray[np.float32]) -> NDArray[np.float32]:
    """Of the figures in each row; NaN where there are none."""
    ordered = np.sort(table, axis=1)  # NaN last
    count = np.isfinite(ordered).sum(axis=1)
    place = np.floor(QUARTILE * np.maximum(count - 1, 0)).astype(np.int64)
    return np.take_along_axis(ordered, place[:, None], axis=1)[:, 0]


# Findings of a sample of the pairs:
#
# - **Node**: slow to its leaf switch's other nodes and to all others.
# - **Leaf switch**: its nodes are slow alike. When they are not slow to each other, its uplinks are.
# - **One way out of a leaf switch**, with static routing: a share of its pairs with other leaf switches is slow, the
#   rest is not, for each destination has a way of its own.
# - **One way out of a leaf switch**, with adaptive routing: all its pairs with other leaf switches are slower by a
#   little, for packets take all ways in turn.
# - **Link**: a pair that is slow although nothing of the above explains it, also when it is measured alone.

# With two leaf switches nothing says which is usual.
LEAST_LEAVES = 3
# A leaf switch that is slower by less is as the others; nor is one named of whose pairs a smaller share than this is
# slow beyond the usual share. One of 20 uplinks at half of its speed takes 2.5 % of what all carry; one of 64 is the
# way of 1.6 % of the pairs.
LEAST_LEAF_EFFECT, LEAST_SHARE = 0.011, 0.01
# The noise of leaf switches is never taken to be smaller: each is the middle of its nodes' many pairs.
LEAF_NOISE_FLOOR = 0.001


@dataclass(frozen=True)
class JudgedSample:
    """``slowness`` (n): what a pair of the node with a typical one takes, in the unit of the times given, by the slower
    of its pairs within its leaf switch and others; ``leaf_slowness``: a pair of a typical node of each leaf switch with
    one of another."""

    findings: list[Finding]
    slowness: Floats
    leaf_slowness: Floats
    fitted: SampleFit


def leaf_numbers(nodes: Sequence[str], switch_of: Mapping[str, str]) -> tuple[Ints, list[str]]:
    """The number of each node's leaf switch, -1 where it is on none, and the names of these."""
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
    """Ranked findings, the strongest evidence first.

    :param quantity: what was measured, for people.
    :param rounds: of all pairs measured; logarithms of a time.
    :param least_slowdown: what is less times slower than its like is no suspect node, link or switch.
    :param switch_of: the leaf switch of each node; nodes that are not in it are taken to be on none.
    :param alone: of some pairs, the time measured while no other pair was.
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
        self.base = np.zeros(len(nodes))  # what a node is held against: its slow switch
        self.blamed = np.zeros(len(nodes), dtype=bool)

    def unreached(self, rounds: Rounds) -> list[Finding]:
        silent = np.flatnonzero(~np.isfinite(rounds.logs).any(axis=1))
        return [
            Finding("node", self.nodes[i], (self.nodes[i],), self.quantity, None, None, "not measured with any node")
            for i in silent
        ]

    def leaves(self) -> list[Finding]:
        """One finding at most for each leaf switch."""
        told = [place for place, inside in enumerate(self.members) if len(inside) >= LEAST_NODES_OF_SWITCH]
        if len(told) < LEAST_LEAVES:
            return []
        effects = self.leaf_effect[told] - np.nanmedian(self.leaf_effect[told])
        spread = noise(effects, LEAF_NOISE_FLOOR)
        shares, strengths = self._slow_shares(told)
        needed = least_score(3 * len(told))  # each may be named for three reasons
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
                f"slower to all: {np.exp(effects[i]):.2f} times the typical node, by a sample of its pairs",
            )
            for i in slow
        ]  # fmt: skip

    def links(self, alone: Mapping[tuple[int, int], float]) -> list[Finding]:
        """Pairs of nodes that nothing else is found against."""
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
            + (", but not to each other: look at its uplinks" if within < effect / 2 else ""),
        )  # fmt: skip

    def _one_way_static(self, place: int, share: float, score: float) -> Finding:
        inside = self.members[place]
        self.blamed[inside] = True
        slow = self.fitted.residual[inside]
        factor = float(np.exp(np.median(slow[slow >= self.least])))
        return self._switch(
            place, score, factor,
            f"{100 * share:.1f} % more of its pairs with other switches are slow, typically {factor:.2f} times, than "
            "of other switches: as with one bad uplink and static routing",
        )  # fmt: skip

    def _one_way_adaptive(self, place: int, effect: float, score: float) -> Finding:
        self.blamed[self.members[place]] = True
        return self._switch(
            place, score, float(np.exp(effect)),
            f"all its pairs with other switches are typically {np.exp(effect):.3f} times slower than of other "
            "switches: as with one bad uplink and adaptive routing",
        )  # fmt: skip

    def _switch(self, place: int, score: float, slowdown: float, evidence: str) -> Finding:
        named = tuple(self.nodes[i] for i in self.members[place])
        return Finding("switch", self.names[place], named, self.quantity, float(score), slowdown, evidence)

    def _slow_shares(self, told: Sequence[int]) -> tuple[Floats, Floats]:
        """Of each leaf switch: which share of its pairs with others is slow beyond the usual, and how many times the
        noise that is, which is never less than that of so many independent pairs."""
        residual = self.fitted.residual
        known = np.isfinite(residual).sum(axis=1)
        # A node that is served by the bad way is slow to all other switches, but not within its own.
        served = (self.fitted.between - np.nan_to_num(self.leaf_effect)[self.leaf] >= self.least) & (
            self.fitted.within < self.least / 2
        )
        slow = np.where(served, known, (residual >= self.least).sum(axis=1))
        pairs = np.array([known[self.members[place]].sum() for place in told], dtype=float)
        counts = np.array([slow[self.members[place]].sum() for place in told], dtype=float)
        share = counts / np.maximum(pairs, 1)
        usual = float(np.median(share))
        # Anscombe 1948: of counts, which are skew, this is normal with a deviation of 1.
        strength = 2 * (np.sqrt(counts + 3 / 8) - np.sqrt(usual * pairs + 3 / 8))
        return share - usual, strength / noise(strength, 1.0)


def _members(leaf: Ints, leaves: int) -> list[NDArray[np.intp]]:
    """The nodes of each leaf switch."""
    order = np.argsort(leaf, kind="stable")
    bounds = np.searchsorted(leaf[order], np.arange(leaves + 1))
    return [order[begin:end] for begin, end in itertools.pairwise(bounds)]


def _median(values: Floats) -> float:
    known = values[np.isfinite(values)]
    return float(np.median(known)) if known.size else np.nan
