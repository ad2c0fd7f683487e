"""Bandwidth between each node and the next one in the partition, in one job, to name the node with a slow link.

Both directions are measured at the same time, because a fault may slow only one. A node's figure is its best link,
because a slow partner slows a link as much as a slow node does. With three nodes or more, the check names the node;
with two, only the pair. The uniformity, the slowest node divided by the median node of the same run, has a bound.
"""

import statistics

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.backends import getlauncher

from reframe_checks.base.case import SiteVariable
from reframe_checks.base.check import KappaCheck
from reframe_checks.base.scaled import OnEachNode
from reframe_checks.parsers import osu

MESSAGE_BYTES = 1 << 20
# A node below this share of the median node is a suspect.
SUSPECT_SHARE = 0.5


@rfm.simple_test
class NodeLinks(OnEachNode, KappaCheck):
    descr = (
        "Measures the bidirectional bandwidth between neighbours in a ring of all nodes; finds nodes with a slow link"
    )
    family = "network/node-links"
    relative = ["uniformity"]
    measured_s = 9
    needs_partition = ["links"]
    needs_environ = ["osu"]
    tags = {"smoke"}
    hint = "check the node's cable, port counters, link speed and MTU; test the node with a third one"
    failure_means = (
        "The named node exchanges data with both of its neighbours much more slowly than the others do, or all links "
        "are below the bound. Swap the named node's cable or port, and measure again."
    )

    iterations = SiteVariable(10, "whole number", "", "number of timed iterations")
    window = SiteVariable(64, "whole number", "messages", "messages in flight")
    repeats_per_link = SiteVariable(2, "whole number", "", "measurements of each link")

    sourcesdir = "src"
    programs = ["osu_bibw"]

    @rfmb.run_after("setup")
    def pairs_are_launched_by_the_script(self):
        self.job.launcher = getlauncher("local")()

    @rfmb.run_after("setup")
    def command_line(self):
        self.executable = "./ring_of_links.sh"
        self.executable_opts = [
            str(self.repeats_per_link), *self.programs,
            "-i", str(self.iterations), "-x", "2", "-W", str(self.window), "-m", f"{MESSAGE_BYTES}:{MESSAGE_BYTES}",
        ]  # fmt: skip

    @rfmb.sanity_function
    def read_links(self):
        links = self.parsed(
            osu.links, self.output_text(), message_bytes=MESSAGE_BYTES,
            expect_nodes=len(self.provenance["nodelist"]), expect_repeats=self.repeats_per_link,
        )  # fmt: skip
        self.best_of_node = {}
        for pair, bandwidth in links.items():
            for node in pair:
                self.best_of_node[node] = max(bandwidth, self.best_of_node.get(node, 0))
        self.median_node = statistics.median(self.best_of_node.values())
        self.record_per_node("bandwidth_1MiB", "MB/s", self.best_of_node)
        self.suspects = [node for node, value in self.best_of_node.items() if value < SUSPECT_SHARE * self.median_node]
        return self.require_all_nodes(self.best_of_node)

    metrics = {
        "slowest_node_bandwidth": ("MB/s", lambda self: min(self.best_of_node.values())),
        "uniformity": ("", lambda self: min(self.best_of_node.values()) / self.median_node),
    }
