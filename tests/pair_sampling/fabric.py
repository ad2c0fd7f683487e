"""A fat tree of two levels on which the rounds of a sampled PairSweep are made up, healthy or with one planted fault.

As many spines as a leaf switch has nodes, each link as fast as a node's. The slowest link of a message sets its rate;
all messages over a link in the same round share it:

- static routing: the spine is that with the number of the receiver on its leaf switch (D-mod-k of InfiniBand);
- adaptive routing: the links of a leaf switch are shared by all that leaves or enters it, like one.

Each figure has normal noise in its logarithm, so have nodes and leaf switches, which are never quite alike, and some
pairs have other jobs' traffic in their way.
"""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from reframe_checks.localise.finding import Finding, Floats
from reframe_checks.localise.sampled_pairs import JudgedSample, Rounds, suspects_of_samples

# Standard deviations, in logarithms.
PAIR_NOISE, NODE_NOISE, LEAF_NOISE = 0.03, 0.01, 0.003
# Fraction of figures that another job slows, by a factor of 1 and an exponential with this mean.
DISTURBED, DISTURBANCE = 0.02, 0.5
NODE_RATE_MBPS = 24_000.0

Routing = Literal["static", "adaptive"]
Fault = Literal["none", "node", "leaf uplinks", "spine path"]
#: Slow-down of a bad part.
SLOWER: dict[Fault, float] = {"node": 1.5, "leaf uplinks": 1.5, "spine path": 2.0}
Schedule = list[NDArray[np.int64]]  # of each round, pairs x 2
#: All pairs, round by round: the round, first and second node (pairs x 2), MB/s to the second and to the first.
Figures = tuple[NDArray[np.int64], NDArray[np.int64], Floats, Floats]


@dataclass
class Fabric:
    nodes: int
    leaf_size: int
    routing: Routing
    rng: np.random.Generator
    names: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self.leaf = np.arange(self.nodes) // self.leaf_size
        self.leaves = int(self.leaf[-1]) + 1
        self.names = [f"n{number:05d}" for number in range(self.nodes)]
        self.switch_of = {name: f"leaf{leaf:03d}" for name, leaf in zip(self.names, self.leaf, strict=True)}
        self.node_rate = np.exp(self.rng.normal(0, NODE_NOISE, self.nodes))
        # Leaf switch x spine, the same in both directions: a cable.
        self.way_rate = np.exp(self.rng.normal(0, LEAF_NOISE, (self.leaves, 1))) * np.ones(self.leaf_size)

    def plant(self, fault: Fault) -> str:
        """The name of what a finding has to name; empty where nothing is planted."""
        node, spine = int(self.rng.integers(self.nodes)), int(self.rng.integers(self.leaf_size))
        leaf = self.leaf[node]
        if fault == "none":
            return ""
        if fault == "node":
            self.node_rate[node] /= SLOWER[fault]
            return self.names[node]
        if fault == "leaf uplinks":
            self.way_rate[leaf] /= SLOWER[fault]
        else:
            self.way_rate[leaf, spine] /= SLOWER[fault]
        return self.switch_of[self.names[node]]

    def rates(self, senders: NDArray[np.int64], receivers: NDArray[np.int64]) -> Floats:
        """MB/s of messages that are sent at the same time."""
        rate = np.minimum(self.node_rate[senders], self.node_rate[receivers])
        up, down = self.leaf[senders], self.leaf[receivers]
        out = up != down
        for leaf in (up, down):
            if self.routing == "static":
                way, rates = leaf * self.leaf_size + receivers % self.leaf_size, self.way_rate.ravel()
            else:
                way, rates = leaf, self.way_rate.sum(axis=1)
            shared = (rates / np.maximum(np.bincount(way[out], minlength=len(rates)), 1))[way]
            rate = np.where(out, np.minimum(rate, shared), rate)
        noise = np.exp(self.rng.normal(0, PAIR_NOISE, len(rate)))
        disturbed = self.rng.random(len(rate)) < DISTURBED
        return NODE_RATE_MBPS * rate * noise / (1 + disturbed * self.rng.exponential(DISTURBANCE, len(rate)))

    def sweep(self, schedule: Schedule) -> Figures:
        there = [self.rates(pairs[:, 0], pairs[:, 1]) for pairs in schedule]
        back = [self.rates(pairs[:, 1], pairs[:, 0]) for pairs in schedule]
        round_of = np.repeat(np.arange(len(schedule)), [len(pairs) for pairs in schedule])
        return round_of, np.concatenate(schedule), np.concatenate(there), np.concatenate(back)

    def judged(self, figures: Figures, least_slowdown: float = 1.25) -> JudgedSample:
        """Return the suite's findings in the output of ``sweep``."""
        round_of, pairs, there, back = figures
        logs = -np.log(np.minimum(there, back))
        rounds = Rounds.of(self.nodes, int(round_of[-1]) + 1, round_of, pairs[:, 0], pairs[:, 1], logs)
        limits = {"least_slowdown": least_slowdown, "switch_of": self.switch_of}
        return suspects_of_samples("bandwidth", self.names, rounds, **limits)


def hit(findings: list[Finding], planted: str) -> bool:
    return bool(planted) and any(finding.name == planted for finding in findings)
