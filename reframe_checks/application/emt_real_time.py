"""Whether a partition can serve hardware in the loop: the EMT application with each step held to its time of wall time.

A step of 50 us is late when it ends behind its time, for whatever reason: its work, a message, or an interruption. The
paper's tool is an offline one; hardware in the loop needs every step in time. Gated are the late steps of the rank with
most, per million steps, and how late the worst was. Each node's figures are evidence: what holds up one node makes its
neighbours late, too, so no node is blamed by them alone.
"""

import shlex

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import SanityError

from reframe_checks.application.emt_base import EmtCheck
from reframe_checks.base.scaled import Scaled
from reframe_checks.parsers import emt_pace

RESULT = "result.json"


@rfm.simple_test
class EmtRealTime(Scaled, EmtCheck):
    descr = "EMT application: steps held to wall time, and those that are late"
    family = "application/emt-real-time"
    estimated_s = 12
    modes = ("acceptance",)
    scale = rfmb.parameter(["one_node", "whole_partition"], loggable=True)
    exchange = rfmb.parameter(["step"], loggable=True)
    informational = ["episodes", "late_p999"]
    hint = (
        "of the node with most look at what else runs there (`ps -eo psr,comm`), interrupts (/proc/interrupts), "
        "frequency and power limits, whether ranks have cores of their own"
    )
    steps = 200000

    @rfmb.run_after("setup")
    def command_line(self):
        self.executable = shlex.quote(self.program)
        self.executable_opts = [
            "run", "network.json", f"--steps={self.steps}", "--warm-up=2000", "--pace=real-time",
            f"--exchange={self.exchange}", f"--result={RESULT}",
        ]  # fmt: skip

    @rfmb.sanity_function
    def read_paces(self):
        self.result = self.parsed(emt_pace.parse, self.output_text(RESULT))
        if (len(self.result.ranks), self.result.steps) != (self.num_tasks, self.steps):
            raise SanityError(
                f"emt ran {self.result.steps} steps on {len(self.result.ranks)} ranks, "
                f"asked for {self.steps} on {self.num_tasks}"
            )
        nodes = {rank.node for rank in self.result.ranks}
        for metric, unit, value in (
            ("overruns", "per million steps", self.per_million),
            ("late_p999", "us", lambda rank: rank.late_p999_us),
            ("late_worst", "us", lambda rank: rank.late_worst_us),
        ):
            worst = {node: max(value(rank) for rank in self.result.ranks if rank.node == node) for node in nodes}
            self.record_per_node(metric, unit, worst)
        return self.require_all_nodes(nodes)

    def per_million(self, rank):
        return 1e6 * rank.overruns / self.result.steps

    @rfmb.performance_function("per million")
    def overruns(self):
        """Late steps in a million, of the rank with most."""
        return max(map(self.per_million, self.result.ranks))

    @rfmb.performance_function("per million")
    def episodes(self):
        """Rows of late steps in a million steps, of the rank with most."""
        return max(1e6 * rank.episodes / self.result.steps for rank in self.result.ranks)

    @rfmb.performance_function("us")
    def late_p999(self):
        """Of all steps, those in time being 0 late."""
        return max(rank.late_p999_us for rank in self.result.ranks)

    @rfmb.performance_function("us")
    def late_worst(self):
        return max(rank.late_worst_us for rank in self.result.ranks)
