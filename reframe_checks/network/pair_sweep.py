"""Latency and bandwidth of every pair of nodes in one job, and the slow nodes, links and switches.

The own program, ``kappa-measure pairs``, measures in rounds of pairs that share no node; n nodes take n - 1 rounds. It
re-measures the worst pairs alone. Pairs that are slow only under load are counted, and blame no node. A pair's
bandwidth is the slower of its two directions. A robust fit over all pairs separates nodes, links and switches
(``localise/pairs.py``). Bounds apply to the worst pair, and to the worst pair relative to the median.

The adapters' counters show lost packets (TCP retransmissions, errors of RDMA ports). They show a bad cable long before
it costs bandwidth (``localise/messages.py``). Every message, and every result of collectives over all nodes, is
compared with the data that was sent (``localise/messages.py``).

With more nodes than ``sample_above``, only a sample of the pairs is measured: all pairs within each leaf switch, then
random pairs between leaf switches (``localise/sampled_pairs.py``). The figures are then those of each node with a
typical node, and of pairs that are slow also when measured alone.
"""

import math

import numpy as np
import reframe as rfm
import reframe.core.builtins as rfmb
from msgspec.structs import replace
from reframe.core.exceptions import SanityError

from reframe_checks.base.case import SiteVariable
from reframe_checks.base.check import KappaCheck
from reframe_checks.base.cmake_program import MeasureProgram
from reframe_checks.base.job_files import in_stage
from reframe_checks.base.scaled import SHOW_TOPOLOGY, TOPOLOGY_FILE, OnEachNode
from reframe_checks.localise.finding import ranked
from reframe_checks.localise.messages import (
    complaints,
    loss_counts,
    loss_shares,
    suspects_of_losses,
    suspects_of_payloads,
)
from reframe_checks.localise.pairs import clear_pairs, one_direction, suspects_of_pairs
from reframe_checks.localise.sampled_sweep import SampledSweep
from reframe_checks.parsers import pair_sweep, slurm

RESULT, FIGURES, LEAVES = "pair_sweep.json", "pair_sweep.bin", "leaves.txt"
MOST_ROUNDS = 1000
# If the median pair sent fewer packets, the counters do not see the fabric's packets.
LEAST_SENT = 100


def rounds_of_sample(nodes):
    """Return the number of rounds of a sample. The measurements grow with n log n; 10,000 nodes have 160 rounds."""
    return min(math.ceil(12 * math.log2(nodes)), MOST_ROUNDS)


def require_measured(sweep):
    """Require a figure for every pair.

    :raises SanityError: a pair has none.
    """
    if sweep.not_measured:
        raise SanityError(f"no figure for the pairs {', '.join('-'.join(pair) for pair in sweep.not_measured[:8])}")


def known(nodes, values):
    """Return the figures of the nodes that have one: a node with too few measured pairs has none."""
    return {node: value for node, value in zip(nodes, values, strict=True) if np.isfinite(value)}


@rfm.simple_test
class PairSweep(OnEachNode, KappaCheck):
    descr = (
        "Measures latency, bandwidth, packet loss and message content between every pair of nodes; finds slow or lossy "
        "nodes, links and switches"
    )
    family = "network/pair-sweep"
    measured_s = 2
    needs_partition = ["links"]
    needs_environ = ["sweep-build"]
    tags = {"smoke"}
    informational = ["slow_only_under_load", "bandwidth_across_switches", "leaf_uniformity"]
    relative = ["bandwidth_uniformity", "latency_uniformity", "bandwidth_across_switches", "leaf_uniformity"]
    hint = (
        "check cable, port counters, link speed and MTU of the named node, link or switch, or of the switches' uplinks"
    )
    failure_means = (
        "Messages between some nodes are slow, get lost or arrive with wrong content. Kappa names the node, link or "
        "switch that explains the pairs: check that cable and port first; stop using a node that alters content."
    )
    build = rfmb.fixture(MeasureProgram, scope="environment")

    latency_bytes = SiteVariable(8, "whole number", "B", "message size for the latency")
    round_trips = SiteVariable(1000, "whole number", "", "round trips of each latency measurement")
    bandwidth_bytes = SiteVariable(1 << 20, "whole number", "B", "message size for the bandwidth")
    block_bytes = SiteVariable(
        1 << 16, "whole number", "B", "data from each node to each other node in the collectives"
    )
    window = SiteVariable(16, "whole number", "messages", "messages in flight")
    windows = SiteVariable(5, "whole number", "", "windows of each bandwidth measurement")
    seconds = SiteVariable(2.0, "number", "s", "longest time of each measurement of a pair")
    least_slowdown = SiteVariable(
        1.25, "number", "", "least slow-down, as a factor, at which a node, link or switch is named",
    )
    least_loss = SiteVariable(0.001, "number", "", "least share of lost packets at which a pair is named")
    count_packets = SiteVariable(True, "yes or no", "", "`no` if no counter of the nodes sees the fabric's packets")
    sample_above = SiteVariable(
        512, "whole number", "nodes", "number of nodes above which a sample of the pairs is measured"
    )
    rounds = SiteVariable(
        0, "whole number", "", "rounds of a sample, at most 1000; 0: 12 times the nodes' binary logarithm"
    )

    @rfmb.run_after("setup")
    def command_line(self):
        self.executable_opts = [
            "pairs", f"--output={RESULT}", f"--latency-bytes={self.latency_bytes}", f"--round-trips={self.round_trips}",
            f"--bandwidth-bytes={self.bandwidth_bytes}", f"--window={self.window}", f"--repeats={self.windows}",
            f"--block-bytes={self.block_bytes}", f"--seconds={self.seconds}",
            f"--alone-share={1 / self.least_slowdown}",
        ]  # fmt: skip
        if not self.count_packets:
            del self.perf_variables["worst_loss"]
        self.prerun_cmds = [*self.prerun_cmds, SHOW_TOPOLOGY]
        if self.samples:
            self.executable_opts += [
                f"--sample-above={self.sample_above}", f"--rounds={self.sampled_rounds}", f"--leaves={LEAVES}",
                # Each night measures other pairs.
                "--seed=${SLURM_JOB_ID:-1}",
            ]  # fmt: skip
            self.prerun_cmds += [f"bash {in_stage(self, 'leaves_of_nodes.sh')} {TOPOLOGY_FILE} > {LEAVES}"]
        else:
            del self.perf_variables["leaf_uniformity"]

    @property
    def samples(self):
        """True if the check measures a sample of the pairs."""
        return self.num_nodes_used > self.sample_above

    @property
    def sampled_rounds(self):
        return self.rounds or rounds_of_sample(self.num_nodes_used)

    @rfmb.sanity_function
    def read_pairs(self):
        self.switch_of = self.parsed(slurm.leaf_switches, self.output_text(TOPOLOGY_FILE))
        return self.read_sample() if self.samples else self.read_all_pairs()

    def read_all_pairs(self):
        sweep = self.parsed(pair_sweep.PairSweepResult.read, self.output_text(RESULT))
        nodes = sorted(sweep.nodes, key=lambda node: (self.switch_of.get(node, ""), node))
        order = [sweep.nodes.index(node) for node in nodes]
        latency_us, bandwidth = (
            np.array(matrix, dtype=float)[np.ix_(order, order)] for matrix in (sweep.latency_us, sweep.bandwidth_mbps)
        )
        self.note_switches(nodes)
        self.record_matrix("latency", "us", nodes, latency_us)
        self.record_matrix("bandwidth", "MB/s", nodes, bandwidth)
        self.count_alone(nodes, sweep.alone, latency_us, np.fmin(bandwidth, bandwidth.T))
        shares = loss_shares(*loss_counts(sweep.packets, len(nodes)), least_loss=self.least_loss)
        self.loss_percent = 100 * shares[np.ix_(order, order)]
        if wrong := complaints(sweep.nodes, sweep.payloads, sweep.collectives):
            # No other findings: wrong data blames its nodes also on a busy machine, a slow figure does not.
            self.record_findings(suspects_of_payloads(sweep.nodes, sweep.payloads, sweep.collectives))
            raise SanityError(f"wrong payload: {'; '.join(wrong[:8])}")
        self.record_findings(self.judged(nodes, bandwidth))
        require_measured(sweep)
        self.require_counters(np.median([packets.sent for packets in sweep.packets]))
        return self.require_all_nodes(nodes)

    def require_counters(self, sent):
        """Require that the counters see the packets.

        :param sent: packets of the median pair.
        :raises SanityError: they do not.
        """
        if self.count_packets and sent < LEAST_SENT:
            raise SanityError(
                "no counter sees the packets (OutSegs of /proc/net/snmp, port_xmit_packets of /sys/class/infiniband); "
                "if this is permanent, set extras/tuning/PairSweep/count_packets to False in the site's settings"
            )

    def read_sample(self):
        figures = self.output_bytes(FIGURES)
        samples = self.parsed(pair_sweep.read_samples, self.output_text(RESULT), figures=figures)
        sweep = SampledSweep(samples, self.switch_of, self.least_slowdown, self.least_loss)
        wrong, blamed = sweep.wrong_payloads()
        if wrong:
            self.record_findings(blamed)
            raise SanityError(f"wrong payload: {'; '.join(wrong[:8])}")
        self.record_sample(sweep)
        require_measured(samples)
        self.require_counters(sweep.median_sent)
        return self.require_all_nodes(set.intersection(*(set(told["values"]) for told in self.per_node.values())))

    def record_sample(self, sweep):
        """Set the figures of the metrics and record the evidence."""
        nodes, (groups, _) = sweep.samples.nodes, sweep.groups
        self.record_per_node("latency", "us", known(nodes, sweep.latency.slowness))
        self.record_per_node("bandwidth", "MB/s", known(nodes, 1 / sweep.bandwidth.slowness))
        self.record_matrix("latency", "us", groups, sweep.latency_of_groups(), of="groups of nodes")
        self.record_matrix("bandwidth", "MB/s", groups, sweep.bandwidth_of_groups(), of="groups of nodes")
        self.record_findings(sweep.findings())
        self.latency_us = sweep.slowness_of_ways(sweep.latency, 0)
        self.slower_mbps = 1 / sweep.slowness_of_ways(sweep.bandwidth, 1)
        self.loss_percent = 100 * sweep.loss_shares
        self.pairs_slow_under_load = sweep.slow_only_under_load
        fitted, leaves = sweep.bandwidth.fitted, sweep.bandwidth.leaf_slowness
        self.across_against_within = math.exp(fitted.level_within - fitted.level_between)
        if math.isnan(self.across_against_within):
            del self.perf_variables["bandwidth_across_switches"]
        if np.isfinite(leaves).sum() < 2:
            del self.perf_variables["leaf_uniformity"]
        else:
            self.leaf_against_typical = float(np.nanmedian(leaves) / np.nanmax(leaves))

    def note_switches(self, nodes):
        """Set which pairs are on one leaf switch, and which on two."""
        leaf = np.array([self.switch_of.get(node, "") for node in nodes])
        known = (leaf[:, None] != "") & (leaf[None, :] != "") & ~np.eye(len(nodes), dtype=bool)
        self.across = known & (leaf[:, None] != leaf[None, :])
        self.within = known & ~self.across
        if not (self.across.any() and self.within.any()):
            del self.perf_variables["bandwidth_across_switches"]

    def count_alone(self, nodes, alone, latency_us, slower_mbps):
        """Set the figures of the metrics: pairs that were slow only under load get typical figures."""
        place = {node: number for number, node in enumerate(nodes)}
        pairs = {tuple(place[node] for node in measured.pair): measured for measured in alone}
        self.latency_us, slow_latency = clear_pairs(
            latency_us,
            {pair: measured.latency_us for pair, measured in pairs.items()},
            least_slowdown=self.least_slowdown,
        )
        slowness, slow_bandwidth = clear_pairs(
            1 / slower_mbps,
            {pair: 1 / min(measured.bandwidths_mbps) for pair, measured in pairs.items()},
            least_slowdown=self.least_slowdown,
        )
        self.slower_mbps = 1 / slowness
        self.pairs_slow_under_load = len({*slow_latency, *slow_bandwidth})
        if self.across.any() and self.within.any():
            across, within = (np.nanmedian(self.slower_mbps[pairs]) for pairs in (self.across, self.within))
            self.across_against_within = float(across / within)

    def judged(self, nodes, bandwidth):
        """Return the findings of packets, latency and bandwidth, the strongest first."""
        limits = {"least_slowdown": self.least_slowdown, "switch_of": self.switch_of}
        latency = suspects_of_pairs("latency", nodes, self.latency_us, **limits)
        slow = suspects_of_pairs("bandwidth", nodes, 1 / self.slower_mbps, **limits)
        lossy = suspects_of_losses(nodes, self.loss_percent / 100, least_loss=self.least_loss)
        return ranked([*lossy, *latency, *(self.with_direction(finding, nodes, bandwidth) for finding in slow)])

    def with_direction(self, finding, nodes, bandwidth):
        if finding.kind != "node" or finding.score is None:
            return finding
        side = one_direction(bandwidth, nodes.index(finding.name), least_ratio=self.least_slowdown)
        return replace(finding, evidence=f"{finding.evidence} {side}".rstrip())

    metrics = {
        "slow_only_under_load": ("pairs", lambda self: self.pairs_slow_under_load),
        "worst_loss": ("%", lambda self: float(np.nanmax(self.loss_percent))),
        "slowest_pair_bandwidth": ("MB/s", lambda self: float(np.nanmin(self.slower_mbps))),
        "worst_latency": ("us", lambda self: float(np.nanmax(self.latency_us))),
        # Slowest pair divided by the median pair.
        "bandwidth_uniformity": ("", lambda self: float(np.nanmin(self.slower_mbps) / np.nanmedian(self.slower_mbps))),
        # Median pair on two leaf switches divided by the median pair on one.
        "bandwidth_across_switches": ("", lambda self: self.across_against_within),
        # Slowest leaf switch divided by the median one: bandwidth of a sample's pairs between leaf switches.
        "leaf_uniformity": ("", lambda self: self.leaf_against_typical),
        # Median pair divided by the slowest.
        "latency_uniformity": ("", lambda self: float(np.nanmedian(self.latency_us) / np.nanmax(self.latency_us))),
    }
