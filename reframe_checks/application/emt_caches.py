"""EMT application: work of a task over problem sizes around the caches."""

import math
import statistics
from collections.abc import Mapping

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import SanityError

from kappa.core.vocabulary.tunables import Tunable
from reframe_checks.application.emt import EmtCheck
from reframe_checks.base.cases import SiteVariable
from reframe_checks.base.scaled import OnEachNode
from reframe_checks.localise.finding import ranked, suspects_of_nodes
from reframe_checks.parsers import emt

# Where a curve of time over memory leaves its floor: the cache that holds the problem no longer.

#: Times as long beyond the knee as within; less may be noise, or memory that is as fast as the caches.
LEAST_RISE = 1.2


def knee_bytes(times: Mapping[int, float]) -> float | None:
    """
    The bytes at which the time has risen half of the way, in logarithms, from its floor to its top.

    In logarithms between two sizes, so that caches of which one has twice the size of the other have knees that are
    apart by this. The floor is the least of all times; a later fall back to it moves the knee behind it.

    :param times: memory that is touched, bytes -> time for each unit of work, above 0.
    :return: ``None`` where the time rises by less than ``LEAST_RISE``.
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
    """phi and kappa'(n, 1) of the EMT application over problem sizes around the caches, on one core of each node.

    The paper's threshold (IPST 2023, section II): kappa' has a part that comes of memory, so kappa'(n, 1) is not 0,
    and the work phi of a network that no cache holds takes longer for each task. One job runs networks of growing
    size on each node by itself. Where the time of a task has risen half of the way from its least to that of the
    largest network is the knee; it is given in bytes, and held against the node's caches. Nodes are compared with
    each other (``localise/finding.py``): a node with a smaller or slower cache, or slower memory behind it, is named.
    """

    descr = "EMT application: work of a task over problem sizes around the caches of each node"
    family = "application/emt-caches"
    measured_s = 20
    modes = ("acceptance",)
    needs_partition = ["cores"]
    informational = ["kappa_of_one_rank", "knee_over_cache", "knee"]
    hint = (
        "of what is named look at `lscpu -C`, cache allocation (resctrl), the BIOS's cluster mode and prefetchers, "
        "neighbours on the same cache; compare with NodeSweep"
    )
    steps = 200

    #: Copies of the network in each problem: 0.4 MB that a step touches for the first, 0.3 MB for each.
    scales = SiteVariable(
        [1, 2, 4, 8, 16, 32, 64, 128, 256],
        "whole numbers", "", "copies of the reference network in each problem, 0.3 MB each",
    )
    at_once = SiteVariable(0, "whole number", "nodes", "nodes measured at the same time; 0: all")
    least_slowdown = SiteVariable(1.15, "number", "", "least slow-down, as a factor, for which a node is named")
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
        """Require the same bits of each network on all nodes; the odd ones are suspects where most agree."""
        wrong = set()
        for size in range(len(self.networks())):
            bits = {node: found.sizes[size].checksum for node, found in self.nodes.items()}
            usual = statistics.mode(bits.values())
            wrong |= {node for node, digest in bits.items() if digest != usual}
        if wrong:
            self.suspects = sorted(wrong) if 2 * len(wrong) < len(self.nodes) else []
            raise SanityError(f"other solutions of the same network on {', '.join(sorted(wrong))}: see EmtBits")

    def judged(self):
        """Nodes that are slow for a size, each for the size at which it is worst."""
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
        """Bytes -> the median over nodes."""
        first = next(iter(self.nodes.values()))
        return {one.bytes_touched: self.median_of_nodes_at(size, value) for size, one in enumerate(first.sizes)}

    @staticmethod
    def last_cache(found):
        return max(found.caches.values(), default=0)

    def knee_over_cache(self):
        """The knee over the bytes of the last cache, of the node where that is least."""
        return min(
            self.knees[node] / self.last_cache(found)
            for node, found in self.nodes.items()
            if self.knees[node] and self.last_cache(found)
        )

    metrics = {
        # Of a task of the smallest network, on the slowest node.
        "cached_work": ("us", lambda self: max(found.sizes[0].us_per_task for found in self.nodes.values())),
        # Of a task of the largest network, on the slowest node.
        "memory_work": ("us", lambda self: max(found.sizes[-1].us_per_task for found in self.nodes.values())),
        # Of the smallest network, median of the nodes.
        "kappa_of_one_rank": ("us", lambda self: self.median_of_nodes_at(0, lambda one: one.kappa_us)),
        # Of the node where it comes first.
        "knee": ("B", lambda self: min(knee for knee in self.knees.values() if knee)),
        "knee_over_cache": ("", knee_over_cache),
    }


def megabytes(count):
    return f"{count / 1e6:.1f} MB"
