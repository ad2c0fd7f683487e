"""phi and kappa'(n, 1) of the EMT application over problem sizes around the caches, on one core of each node.

The paper's threshold (IPST 2023, section II): kappa' has a part that comes of memory, so kappa'(n, 1) is not 0, and the
work phi of a network that no cache holds takes longer for each task. One job runs networks of growing size on each node
by itself. Where the time of a task has risen half of the way from its least to that of the largest network is the knee;
it is given in bytes, and held against the node's caches. Nodes are compared with each other (``localise/nodes.py``): a
node with a smaller or slower cache, or slower memory behind it, is named.
"""

import shlex
import statistics

import reframe as rfm
import reframe.core.builtins as rfmb
import reframe.utility.typecheck as typ
from reframe.core.exceptions import SanityError

from kappa.core.vocabulary.tunables import Tunable
from reframe_checks.application.emt_base import EmtCheck
from reframe_checks.base.scaled import Scaled
from reframe_checks.localise.cache_knee import knee_bytes
from reframe_checks.localise.finding import ranked
from reframe_checks.localise.nodes import suspects_of_nodes
from reframe_checks.parsers import emt_caches

RESULT = "emt_caches.json"
MEMORY = ("Memory that a step touches", "B")
TASK, RISE = ("Work of a task φ", "us"), ("φ over φ in the fastest cache", "")
KAPPA = ("Parallelisation cost κ′(n, 1)", "us")


@rfm.simple_test
class EmtCaches(Scaled, EmtCheck):
    descr = "EMT application: work of a task over problem sizes around the caches of each node"
    family = "application/emt-caches"
    measured_s = 20
    modes = ("acceptance",)
    needs_partition = ["cores"]
    scale = rfmb.parameter(["each_node"], loggable=True)
    informational = ["kappa_of_one_rank", "knee_over_cache", "knee"]
    hint = (
        "of what is named look at `lscpu -C`, cache allocation (resctrl), the BIOS's cluster mode and prefetchers, "
        "neighbours on the same cache; compare with NodeSweep"
    )
    steps = 200

    #: Copies of the network in each problem: 0.4 MB that a step touches for the first, 0.3 MB for each.
    scales = rfmb.variable(typ.List[int], value=[1, 2, 4, 8, 16, 32, 64, 128, 256])
    at_once = rfmb.variable(int, value=0)
    least_slowdown = rfmb.variable(float, value=1.15)
    tunable = {
        "steps": Tunable("whole number", "", "timed, of each network"),
        "scales": Tunable("whole numbers", "", "copies of the reference network in each problem, 0.3 MB each"),
        "at_once": Tunable("whole number", "nodes", "measured at the same time; 0 is all"),
        "least_slowdown": Tunable("number", "", "times slower than the median node, to be named"),
    }

    def networks(self):
        return {f"network-{scale}.json": scale for scale in sorted(set(self.scales))}

    @rfmb.run_after("setup")
    def command_line(self):
        self.executable = shlex.quote(self.program)
        self.executable_opts = [
            "caches", *self.networks(), f"--steps={self.steps}", f"--at-once={self.at_once}", f"--result={RESULT}",
        ]  # fmt: skip

    @rfmb.sanity_function
    def read_curves(self):
        networks = len(self.networks())
        self.nodes = self.parsed(emt_caches.parse, self.output_text(RESULT), expect_sizes=networks)
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
        """Of each network on all nodes; the odd ones are suspects where most agree."""
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

    @rfmb.performance_function("us")
    def cached_work(self):
        """Of a task of the smallest network, on the slowest node."""
        return max(found.sizes[0].us_per_task for found in self.nodes.values())

    @rfmb.performance_function("us")
    def memory_work(self):
        """Of a task of the largest network, on the slowest node."""
        return max(found.sizes[-1].us_per_task for found in self.nodes.values())

    @rfmb.performance_function("us")
    def kappa_of_one_rank(self):
        """Of the smallest network, median of the nodes."""
        return self.median_of_nodes_at(0, lambda one: one.kappa_us)

    @rfmb.performance_function("B")
    def knee(self):
        """Of the node where it comes first."""
        return min(knee for knee in self.knees.values() if knee)

    @rfmb.performance_function("")
    def knee_over_cache(self):
        """The knee over the bytes of the last cache, of the node where that is least."""
        return min(
            self.knees[node] / self.last_cache(found)
            for node, found in self.nodes.items()
            if self.knees[node] and self.last_cache(found)
        )


def megabytes(count):
    return f"{count / 1e6:.1f} MB"
