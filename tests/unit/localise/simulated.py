"""Clusters with planted faults: nodes on leaf switches, normal noise in the logarithm of every pair's figure."""

import numpy as np

NOISE = 0.05


class Cluster:
    """``n`` healthy nodes, ``per_switch`` on each leaf switch; pairs across switches take 1.3 times as long."""

    def __init__(self, n, seed, per_switch=20):
        noise = np.triu(np.random.default_rng(seed).normal(0, NOISE, (n, n)), 1)
        self.nodes = [f"n{number:04d}" for number in range(n)]
        self._switch = np.arange(n) // per_switch
        self.switch_of = {node: f"s{switch:02d}" for node, switch in zip(self.nodes, self._switch, strict=True)}
        self._logs = noise + noise.T + np.log(1.3) * (self._switch[:, None] != self._switch[None, :])
        np.fill_diagonal(self._logs, np.nan)

    def slow_node(self, node, factor):
        self._logs[node, :] += np.log(factor)
        self._logs[:, node] += np.log(factor)

    def slow_link(self, first, second, factor):
        self._logs[first, second] += np.log(factor)
        self._logs[second, first] += np.log(factor)

    def slow_switch(self, switch, factor):
        for node in np.flatnonzero(self._switch == switch):
            self.slow_node(node, factor)

    def slow_to_and_within(self, switch, factor):
        inside = self._switch == switch
        self._logs += np.log(factor) * (inside[:, None] | inside[None, :])

    def slow_uplink(self, switch, factor):
        inside = self._switch == switch
        self._logs += np.log(factor) * (inside[:, None] ^ inside[None, :])

    def lose(self, first, second):
        self._logs[first, second] = self._logs[second, first] = np.nan

    @property
    def slowness(self):
        return np.exp(self._logs)
