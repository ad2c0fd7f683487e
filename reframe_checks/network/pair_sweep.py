"""Latency and bandwidth of every pair of nodes in one job, and which node, link or switch is slow.

Rounds of pairs that share no node, each round at the same time (own program, ``src/pair_sweep``), so that n nodes
take n - 1 rounds. The worst pairs are measured again alone: what is slow only while others run is counted, and blamed
on nobody. A pair's bandwidth is that of its slower direction. Nodes, links
and switches are told apart by a robust fit over all pairs (``localise/pairs.py``); gated are the worst pair, and the
worst pair against the median. What the adapters count as lost meanwhile (TCP's segments sent again, errors of RDMA
ports) shows a bad cable long before it costs bandwidth (``localise/losses.py``). Every message is compared with what
was sent, and so are the results of collectives over all nodes (``localise/payloads.py``).
"""

import pathlib
import shlex

import numpy as np
import reframe as rfm
import reframe.core.builtins as rfmb
import reframe.utility.typecheck as typ
from msgspec.structs import replace
from reframe.core.exceptions import SanityError

from kappa.vocabulary.tunables import Tunable
from reframe_checks.base.check import KappaCheck
from reframe_checks.base.cmake_program import CMakeProgram
from reframe_checks.base.scaled import SHOW_TOPOLOGY, TOPOLOGY_FILE, Scaled
from reframe_checks.localise.finding import ranked
from reframe_checks.localise.losses import loss_counts, loss_shares, suspects_of_losses
from reframe_checks.localise.pairs import clear_pairs, one_direction, suspects_of_pairs
from reframe_checks.localise.payloads import complaints, suspects_of_payloads
from reframe_checks.parsers import pair_sweep, topology

RESULT = "pair_sweep.json"
# A median pair that sent fewer packets is not seen by the counters that are read.
LEAST_SENT = 100


class PairSweepBuild(CMakeProgram):
    source = str(pathlib.Path(__file__).parent / "src/pair_sweep")
    program = "pair_sweep"


@rfm.simple_test
class PairSweep(Scaled, KappaCheck):
    descr = "Latency, bandwidth, packet loss and content of messages between every pair of nodes"
    family = "network/pair-sweep"
    measured_s = 2
    needs_partition = ["links"]
    needs_environ = ["sweep-build"]
    scale = rfmb.parameter(["each_node"], loggable=True)
    tags = {"smoke"}
    informational = ["slow_only_under_load", "bandwidth_across_switches"]
    relative = ["bandwidth_uniformity", "latency_uniformity", "bandwidth_across_switches"]
    hint = "look at cable, port counters, link speed and MTU of what is named, or of the switches' uplinks"
    build = rfmb.fixture(PairSweepBuild, scope="environment")

    latency_bytes = rfmb.variable(int, value=8)
    round_trips = rfmb.variable(int, value=1000)
    bandwidth_bytes = rfmb.variable(int, value=1 << 20)
    block_bytes = rfmb.variable(int, value=1 << 16)
    window = rfmb.variable(int, value=16)
    windows = rfmb.variable(int, value=5)
    #: At most for each of the three measurements of a pair.
    seconds = rfmb.variable(float, value=2.0)
    #: How many times slower than its like a node, link or switch has to be to be named.
    least_slowdown = rfmb.variable(float, value=1.25)
    #: What share of a pair's packets has to get lost for it to be named.
    least_loss = rfmb.variable(float, value=0.001)
    #: False where no counter of the nodes sees the fabric's packets.
    count_packets = rfmb.variable(typ.Bool, value=True)
    tunable = {
        "latency_bytes": Tunable("whole number", "B", "message of the latency"),
        "round_trips": Tunable("whole number", "", "of each latency"),
        "bandwidth_bytes": Tunable("whole number", "B", "message of the bandwidth"),
        "block_bytes": Tunable("whole number", "B", "that each node gives to each in the collectives"),
        "window": Tunable("whole number", "messages", "in flight"),
        "windows": Tunable("whole number", "", "of each bandwidth"),
        "seconds": Tunable("number", "s", "at most for each of a pair's measurements"),
        "least_slowdown": Tunable("number", "", "times slower than its like, for a node, link or switch to be named"),
        "least_loss": Tunable("number", "", "share of a pair's packets that gets lost, for it to be named"),
        "count_packets": Tunable("yes or no", "", "no where no counter of the nodes sees the fabric's packets"),
    }

    @rfmb.run_after("setup")
    def command_line(self):
        self.programs = [self.build.command]
        self.executable = shlex.quote(self.build.command)
        self.executable_opts = [
            f"--output={RESULT}", f"--latency-bytes={self.latency_bytes}", f"--round-trips={self.round_trips}",
            f"--bandwidth-bytes={self.bandwidth_bytes}", f"--window={self.window}", f"--repeats={self.windows}",
            f"--block-bytes={self.block_bytes}", f"--seconds={self.seconds}",
            f"--alone-share={1 / self.least_slowdown}",
        ]  # fmt: skip
        if not self.count_packets:
            del self.perf_variables["worst_loss"]
        self.prerun_cmds = [*self.prerun_cmds, SHOW_TOPOLOGY]

    @rfmb.sanity_function
    def read_pairs(self):
        sweep = self.parsed(pair_sweep.parse, self.output_text(RESULT))
        self.switch_of = self.parsed(topology.leaf_switches, self.output_text(TOPOLOGY_FILE))
        nodes = sorted(sweep.nodes, key=lambda node: (self.switch_of.get(node, ""), node))
        order = [sweep.nodes.index(node) for node in nodes]
        latency_us, bandwidth = (
            np.array(matrix, dtype=float)[np.ix_(order, order)] for matrix in (sweep.latency_us, sweep.bandwidth_mbps)
        )
        self.note_switches(nodes)
        self.record_matrix("latency", "us", nodes, as_lists(latency_us))
        self.record_matrix("bandwidth", "MB/s", nodes, as_lists(bandwidth))
        self.count_alone(nodes, sweep.alone, latency_us, np.fmin(bandwidth, bandwidth.T))
        shares = loss_shares(*loss_counts(sweep.packets, len(nodes)), least_loss=self.least_loss)
        self.loss_percent = 100 * shares[np.ix_(order, order)]
        if wrong := complaints(sweep.nodes, sweep.payloads, sweep.collectives):
            # Alone: a wrong content blames its nodes also on a busy machine, a bad figure does not.
            self.record_findings(suspects_of_payloads(sweep.nodes, sweep.payloads, sweep.collectives))
            raise SanityError(f"wrong payload: {'; '.join(wrong[:8])}")
        self.record_findings(self.judged(nodes, bandwidth))
        if sweep.not_measured:
            raise SanityError(f"no figure between {', '.join('-'.join(pair) for pair in sweep.not_measured[:8])}")
        if self.count_packets and np.median([packets.sent for packets in sweep.packets]) < LEAST_SENT:
            raise SanityError(
                "no counter sees the packets (OutSegs of /proc/net/snmp, port_xmit_packets of /sys/class/infiniband);"
                " where that is so for good, the site sets extras/tuning/PairSweep/count_packets to False"
            )
        return self.require_all_nodes(nodes)

    def note_switches(self, nodes):
        """Sets which pairs are on one leaf switch, and which on two."""
        leaf = np.array([self.switch_of.get(node, "") for node in nodes])
        known = (leaf[:, None] != "") & (leaf[None, :] != "") & ~np.eye(len(nodes), dtype=bool)
        self.across = known & (leaf[:, None] != leaf[None, :])
        self.within = known & ~self.across
        if not (self.across.any() and self.within.any()):
            del self.perf_variables["bandwidth_across_switches"]

    def count_alone(self, nodes, alone, latency_us, slower_mbps):
        """Sets the figures that count: with what was slow only under load made typical."""
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
        self.slow_under_load = {*slow_latency, *slow_bandwidth}

    def judged(self, nodes, bandwidth):
        """Findings of packets, latency and bandwidth, the strongest first."""
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

    @rfmb.performance_function("pairs")
    def slow_only_under_load(self):
        return len(self.slow_under_load)

    @rfmb.performance_function("%")
    def worst_loss(self):
        return float(np.nanmax(self.loss_percent))

    @rfmb.performance_function("MB/s")
    def slowest_pair_bandwidth(self):
        return float(np.nanmin(self.slower_mbps))

    @rfmb.performance_function("us")
    def worst_latency(self):
        return float(np.nanmax(self.latency_us))

    @rfmb.performance_function("")
    def bandwidth_uniformity(self):
        """Slowest pair against the median pair."""
        return float(np.nanmin(self.slower_mbps) / np.nanmedian(self.slower_mbps))

    @rfmb.performance_function("")
    def bandwidth_across_switches(self):
        """Median pair on two leaf switches against the median pair on one."""
        return float(np.nanmedian(self.slower_mbps[self.across]) / np.nanmedian(self.slower_mbps[self.within]))

    @rfmb.performance_function("")
    def latency_uniformity(self):
        """Median pair against the slowest."""
        return float(np.nanmedian(self.latency_us) / np.nanmax(self.latency_us))


def as_lists(matrix):
    return [[None if np.isnan(value) else float(value) for value in row] for row in matrix]
