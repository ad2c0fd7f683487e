"""Judge all nodes by a sample of their pairs: figures of each node, figures between groups of nodes, and findings."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from reframe_checks.localise.finding import Finding, Floats, ranked
from reframe_checks.localise.messages import complaints, lost_shares, suspects_of_lossy_pairs, suspects_of_payloads
from reframe_checks.localise.pairs import Pair, slower_side
from reframe_checks.localise.sampled_pairs import Ints, JudgedSample, Rounds, leaf_numbers, suspects_of_samples
from reframe_checks.parsers.pair_sweep import PairSamples, Payloads

# Largest number of groups of nodes in a matrix: a page has no pixels for more pairs.
GROUPS = 256
# With more findings, the cause is common to all of them.
MOST_FINDINGS = 500


@dataclass(frozen=True)
class SampledSweep:
    """The figures of ``samples``, and findings for pairs that exceed the limits."""

    samples: PairSamples
    switch_of: Mapping[str, str]
    least_slowdown: float
    least_loss: float

    @cached_property
    def latency(self) -> JudgedSample:
        """Judge the latency, in us."""
        alone = {pair: measured[0] for pair, measured in self._alone.items()}
        return self._judged("latency", self.samples.pairs["latency_us"].astype(float), alone)

    @cached_property
    def bandwidth(self) -> JudgedSample:
        """Judge a pair's slower direction; slowness in s/MB."""
        slower = np.fmin(self.samples.pairs["to_second_mbps"], self.samples.pairs["to_first_mbps"]).astype(float)
        return self._judged("bandwidth", 1 / slower, {pair: 1 / measured[1] for pair, measured in self._alone.items()})

    def _judged(self, quantity: str, slowness: Floats, alone: Mapping[Pair, float]) -> JudgedSample:
        pairs = self.samples.pairs
        rounds = Rounds.of(
            len(self.samples.nodes), len(self.samples.round_seconds), self.samples.round_of,
            pairs["first"].astype(np.int64), pairs["second"].astype(np.int64), np.log(slowness),
        )  # fmt: skip
        limits = {"least_slowdown": self.least_slowdown, "switch_of": self.switch_of}
        return suspects_of_samples(quantity, self.samples.nodes, rounds, alone=alone, **limits)

    @cached_property
    def _alone(self) -> dict[Pair, tuple[float, float]]:
        """Latency and slower bandwidth of the pairs that were also measured alone."""
        place = {node: number for number, node in enumerate(self.samples.nodes)}
        return {
            (place[one.pair[0]], place[one.pair[1]]): (one.latency_us, min(one.bandwidths_mbps))
            for one in self.samples.alone
        }

    @cached_property
    def _distinct(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Each distinct measured pair, as first * n + second; and the index of the pair of each measurement."""
        pairs = self.samples.pairs
        keys, of = np.unique(
            pairs["first"].astype(np.int64) * len(self.samples.nodes) + pairs["second"], return_inverse=True
        )
        return keys, of

    @cached_property
    def partners(self) -> list[int]:
        """The number of other nodes that each node was measured with."""
        keys, _ = self._distinct
        nodes = len(self.samples.nodes)
        return [int(count) for count in np.bincount(np.concatenate(np.divmod(keys, nodes)), minlength=nodes)]

    @cached_property
    def loss_shares(self) -> Floats:
        """The share of lost packets of each distinct pair."""
        keys, of = self._distinct
        sent, lost = (np.bincount(of, self.samples.pairs[name], len(keys)) for name in ("sent", "lost"))
        return lost_shares(sent, lost, least_loss=self.least_loss)

    @property
    def median_sent(self) -> float:
        return float(np.median(self.samples.pairs["sent"]))

    def wrong_payloads(self) -> tuple[list[str], list[Finding]]:
        """Return texts for the operator about wrong messages, and the findings."""
        pairs, nodes = self.samples.pairs, self.samples.nodes
        bad = pairs[pairs["wrong_messages"] > 0]
        payloads = [
            Payloads((int(one["first"]), int(one["second"])), int(one["messages"]), int(one["wrong_messages"]))
            for one in bad
        ]
        payloads += self.samples.payloads_alone
        found = suspects_of_payloads(nodes, payloads, self.samples.collectives, self.partners)
        return complaints(nodes, payloads, self.samples.collectives), found[:MOST_FINDINGS]

    def findings(self) -> list[Finding]:
        """Return the findings of packets, latency and bandwidth, the strongest first."""
        keys, _ = self._distinct
        nodes = len(self.samples.nodes)
        lossy = {
            divmod(int(keys[place]), nodes): float(self.loss_shares[place])
            for place in np.flatnonzero(self.loss_shares >= self.least_loss)
        }
        found = suspects_of_lossy_pairs(self.samples.nodes, lossy, self.partners, least_loss=self.least_loss)
        slow = [self._with_direction(finding) for finding in self.bandwidth.findings]
        return ranked([*found, *self.latency.findings, *slow])[:MOST_FINDINGS]

    def _with_direction(self, finding: Finding) -> Finding:
        if finding.kind != "node" or finding.score is None:
            return finding
        node, pairs = self.samples.nodes.index(finding.name), self.samples.pairs
        first, second = pairs[pairs["first"] == node], pairs[pairs["second"] == node]
        sends = np.nanmedian(np.concatenate([first["to_second_mbps"], second["to_first_mbps"]]))
        receives = np.nanmedian(np.concatenate([first["to_first_mbps"], second["to_second_mbps"]]))
        side = slower_side(float(sends), float(receives), least_ratio=self.least_slowdown)
        return replace(finding, evidence=f"{finding.evidence} {side}".rstrip())

    @cached_property
    def slow_only_under_load(self) -> int:
        """The number of pairs that were slow in a round beyond their nodes' effects, but not when measured alone."""
        confirmed = sum(
            finding.kind == "link" and finding.score is not None
            for finding in (*self.latency.findings, *self.bandwidth.findings)
        )
        least = np.log(self.least_slowdown)
        slow = [int((judged.fitted.residual >= least).sum()) // 2 for judged in (self.latency, self.bandwidth)]
        return max(sum(slow) - confirmed, 0)

    def slowness_of_ways(self, judged: JudgedSample, alone_at: int) -> Floats:
        """Return the slowness of each node with a typical node, and of pairs measured alone, at least typical."""
        typical = float(np.nanmedian(judged.slowness))
        alone = [measured[alone_at] if alone_at == 0 else 1 / measured[alone_at] for measured in self._alone.values()]
        return np.concatenate([judged.slowness, np.fmax(alone, typical)]) if alone else judged.slowness

    @cached_property
    def groups(self) -> tuple[list[str], Ints]:
        """The names of at most ``GROUPS`` groups of nodes (leaf switches, if known), and the group of each node."""
        leaf, names = leaf_numbers(self.samples.nodes, self.switch_of)
        if not names:
            order = np.argsort(np.argsort(np.array(self.samples.nodes)))
            names, leaf = sorted(self.samples.nodes), order
        at_once = -(-len(names) // GROUPS)
        labels = [
            names[begin] if at_once == 1 else f"{names[begin]}…{names[min(begin + at_once, len(names)) - 1]}"
            for begin in range(0, len(names), at_once)
        ]
        group = leaf // at_once
        if (leaf < 0).any():
            group = np.where(leaf < 0, len(labels), group)
            labels.append("no leaf switch")
        return labels, group

    def latency_of_groups(self) -> Floats:
        """Return the median latency between each two groups, in us; NaN where no pair was measured."""
        return self._medians(self.samples.pairs["latency_us"], self.samples.pairs["latency_us"])

    def bandwidth_of_groups(self) -> Floats:
        """Return the median bandwidth between each two groups, in MB/s; the row sends to the column."""
        return self._medians(self.samples.pairs["to_second_mbps"], self.samples.pairs["to_first_mbps"])

    def _medians(self, there: NDArray[np.float32], back: NDArray[np.float32]) -> Floats:
        labels, group = self.groups
        first, second = (group[self.samples.pairs[name]] for name in ("first", "second"))
        size = len(labels)
        keys = np.concatenate([first * size + second, second * size + first])
        values = np.concatenate([there, back])
        known = np.isfinite(values)
        keys, values = keys[known], values[known]
        order = np.lexsort((values, keys))
        keys, values = keys[order], values[order]
        cells, begin, count = np.unique(keys, return_index=True, return_counts=True)
        found = np.full(size * size, np.nan)
        found[cells] = values[begin + count // 2]
        return found.reshape(size, size)
