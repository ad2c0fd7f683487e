"""EMT application: time of a task over problem sizes around the sizes of the caches."""

import math
import statistics
from collections.abc import Mapping

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import SanityError

from kappa.core.vocabulary.tunables import Tunable
from reframe_checks.application.emt import EmtCheck
from reframe_checks.base.case import SiteVariable
from reframe_checks.base.scaled import OnEachNode
from reframe_checks.localise.finding import ranked, suspects_of_nodes
from reframe_checks.parsers import emt

# The knee of a curve of time over memory is the size that the cache can no longer hold.

#: The least ratio of the times beyond and before the knee; less may be noise, or memory as fast as the caches.
LEAST_RISE = 1.2


def knee_bytes(times: Mapping[int, float]) -> float | None:
    """
    Return the bytes at which the time has risen half of the way, in logarithms, from its floor to its top.

    The value is interpolated in logarithms between two sizes, so the knees of a cache and of one twice as large differ
    by a factor of two. The floor is the least of all times. If the time falls back to the floor later, the knee comes
    after that.

    :param times: touched memory, bytes -> time for each unit of work, above 0.
    :return: ``None`` if the time rises by less than ``LEAST_RISE``.
    """
    sizes = sorted(times)
    levels = [math.log(times[size]) for size in sizes]
    floor = min(levels)
    half = (floor + levels[-1]) / 2
    if levels[-1] - floor < math.log(LEAST_RISE):
        return None
    last = max(index for index, level in enumerate(levels) if level <= half)
    part = (half - levels[last]) / (levels[last + 1] - levels[last])
    first, next_one = math.log(sizes[last]), math.log(sizes[last + 1])
    return math.exp(first + part * (next_one - first))


RESULT = "emt_caches.json"
MEMORY = ("Memory that a step touches", "B")
TASK, RISE = ("Work of a task φ", "us"), ("φ over φ in the fastest cache", "")
KAPPA = ("Parallelisation cost κ′(n, 1)", "us")


@rfm.simple_test
class EmtCaches(OnEachNode, EmtCheck):
    """Measure phi and kappa'(n, 1) of the EMT application over problem sizes, on one core of each node.

    The paper's threshold (IPST 2023, section II): a part of kappa' comes from memory, so kappa'(n, 1) is not 0. If no
    cache holds the network, each task of the work phi takes longer. One job runs networks of growing size on each node
    alone. At the knee, the time of a task has risen half of the way from its least value to its value for the largest
    network. The knee is given in bytes and relative to the node's caches. The check compares nodes with each other
    (``localise/finding.py``), and names a node with a smaller or slower cache, or with slower memory.
    """

    descr = (
        "Measures the time of an EMT task over problem sizes on each node; finds nodes with small or slow caches or "
        "slow memory"
    )
    family = "application/emt-caches"
    measured_s = 20
    modes = ("acceptance",)
    needs_partition = ["cores"]
    informational = ["kappa_of_one_rank", "knee_over_cache", "knee"]
    hint = (
        "on the named nodes, check `lscpu -C`, cache allocation (resctrl), cluster mode and prefetchers in the BIOS, "
        "and other processes on the same cache; compare with NodeSweep"
    )
    failure_means = (
        "The work of a task takes too long on some node, or nodes computed different bits. Slow work in the caches "
        "points at the clock or at a smaller cache, slow work beyond them at memory; for different bits, run EmtBits."
    )
    steps = 200

    #: Copies of the network in each problem. A step touches 0.4 MB for the first copy, 0.3 MB for each other one.
    scales = SiteVariable(
        [1, 2, 4, 8, 16, 32, 64, 128, 256],
        "whole numbers", "", "copies of the reference network in each problem, 0.3 MB each",
    )
    at_once = SiteVariable(0, "whole number", "nodes", "nodes measured at the same time; 0: all")
    least_slowdown = SiteVariable(1.15, "number", "", "least slow-down, as a factor, at which a node is named")
    not_tunable = ("network_scale",)
    tunable = {"steps": Tunable("whole number", "", "timed steps of each network")}

    def networks(self):
        return {f"network-{scale}.json": scale for scale in sorted(set(self.scales))}

    @rfmb.run_after("setup")
    def command_line(self):
        self.executable_opts = [
            "caches", *self.networks(), f"--steps={self.steps}", f"--at-once={self.at_once}", f"--result={RESULT}",
        ]  # fmt: skip

    @rfmb.sanity_function
    def read_curves(self):
        networks = len(self.networks())
        self.nodes = self.parsed(emt.read_caches, self.output_text(RESULT), networks=networks)
        self.record_findings(self.judged())
        self.require_same_bits()
        self.knees = {
            node: knee_bytes({one.bytes_touched: one.us_per_task for one in found.sizes})
            for node, found in self.nodes.items()
        }
        known = {node: knee for node, knee in self.knees.items() if knee}
        self.record_per_node("knee", "B", known)
        in_memory = {node: found.sizes[-1].us_per_task for node, found in self.nodes.items()}
        self.record_per_node("memory_work", "us", in_memory)
        for node, found in self.nodes.items():
            of_node = {one.bytes_touched: one.us_per_task for one in found.sizes}
            self.record_curve(f"work of a task, {node}", MEMORY, TASK, of_node, {})
        for name, axis, value in (
            ("kappa of one rank", KAPPA, lambda one: one.kappa_us),
            ("rise of the work", RISE, lambda one: one.phi_us / one.phi_cached_us),
        ):
            self.record_curve(name, MEMORY, axis, self.median_of_nodes(value), {})
        if not known:
            del self.perf_variables["knee"]
        if not known or not any(self.last_cache(found) for found in self.nodes.values()):
            del self.perf_variables["knee_over_cache"]
        return self.require_all_nodes(self.nodes)

    def require_same_bits(self):
        """Require the same bits of each network on all nodes; the odd nodes are suspects if most nodes agree.

        :raises SanityError: nodes have other bits.
        """
        wrong = set()
        for size in range(len(self.networks())):
            bits = {node: found.sizes[size].checksum for node, found in self.nodes.items()}
            usual = statistics.mode(bits.values())
            wrong |= {node for node, digest in bits.items() if digest != usual}
        if wrong:
            self.suspects = sorted(wrong) if 2 * len(wrong) < len(self.nodes) else []
            raise SanityError(f"{', '.join(sorted(wrong))}: another solution of the same network; run EmtBits there")

    def judged(self):
        """Return a finding for each slow node, for the size at which it is worst."""
        found = [
            finding
            for size in range(len(self.networks()))
            for finding in suspects_of_nodes(
                f"work of {megabytes(self.median_of_nodes_at(size, lambda one: one.bytes_touched))}",
                {node: 1 / found.sizes[size].us_per_task for node, found in self.nodes.items()},
                least_slowdown=self.least_slowdown,
            )
        ]
        worst = {finding.name: finding for finding in reversed(ranked(found))}
        return ranked([*worst.values()])

    def median_of_nodes_at(self, size, value):
        return statistics.median(value(found.sizes[size]) for found in self.nodes.values())

    def median_of_nodes(self, value):
        """Return the median over nodes for each problem size: bytes -> median."""
        first = next(iter(self.nodes.values()))
        return {one.bytes_touched: self.median_of_nodes_at(size, value) for size, one in enumerate(first.sizes)}

    @staticmethod
    def last_cache(found):
        return max(found.caches.values(), default=0)

    def knee_over_cache(self):
        """Return the least ratio, over nodes, of the knee and the bytes of the last cache."""
        return min(
            self.knees[node] / self.last_cache(found)
            for node, found in self.nodes.items()
            if self.knees[node] and self.last_cache(found)
        )

    metrics = {
        # Time of a task of the smallest network, on the slowest node.
        "cached_work": ("us", lambda self: max(found.sizes[0].us_per_task for found in self.nodes.values())),
        # Time of a task of the largest network, on the slowest node.
        "memory_work": ("us", lambda self: max(found.sizes[-1].us_per_task for found in self.nodes.values())),
        # For the smallest network, the median of the nodes.
        "kappa_of_one_rank": ("us", lambda self: self.median_of_nodes_at(0, lambda one: one.kappa_us)),
        # The least of all nodes.
        "knee": ("B", lambda self: min(knee for knee in self.knees.values() if knee)),
        "knee_over_cache": ("", knee_over_cache),
    }


def megabytes(count):
    return f"{count / 1e6:.1f} MB"
