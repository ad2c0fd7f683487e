"""Strong scaling of the EMT application: step time and parallelisation cost kappa' over ranks.

Gated are the medians over the repeats of each run's median block of steps: a mean is moved by one interruption, and the
median of single steps leaves out the waiting of exchange mode ``slack``. All else is of the median repeat; speed-up,
efficiency and Karp-Flatt are recorded for the report. The exchange mode ``step`` sends and waits at every step, as in
the paper; ``slack`` waits only when a wave is needed.
"""

import shlex
import statistics

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import SanityError

from kappa.core.record.evidence import Scaling, written
from reframe_checks.application.emt_base import EmtCheck
from reframe_checks.base.scaled import Scaled
from reframe_checks.parsers import emt


@rfm.simple_test
class EmtScaling(Scaled, EmtCheck):
    descr = "EMT application: step time and parallelisation cost"
    family = "application/emt-scaling"
    measured_s = 3
    scale = rfmb.parameter(["one_core", "one_node", "two_nodes", "whole_partition"], loggable=True)
    exchange = rfmb.parameter(["step", "slack"], loggable=True)
    informational = ["step_time_p50", "step_time_p99", "phi", "imbalance"]
    hint = "compare kappa' with the OSU latency of the same nodes; a large imbalance points at one slow node or core"
    repeats = 3
    #: ranks and the paper's figures of merit, for plots over ranks.
    scaling = rfmb.variable(dict, type(None), value=None, loggable=True)

    @rfmb.run_after("setup")
    def command_line(self):
        self.executable = shlex.quote(self.program)
        # Each repeat writes a file of its own, so that none is lost.
        self.executable_opts = [
            "run", "network.json", f"--steps={self.steps}", f"--exchange={self.exchange}",
            "--result=result-$((++repeat)).json",
        ]  # fmt: skip

    @rfmb.sanity_function
    def read_results(self):
        results = [
            self.parsed(emt.parse, self.output_text(f"result-{number}.json")) for number in range(1, self.repeats + 1)
        ]
        for result in results:
            if (result.ranks, result.exchange, result.steps) != (self.num_tasks, self.exchange, self.steps):
                raise SanityError(
                    f"emt ran {result.steps} steps on {result.ranks} ranks in mode {result.exchange}, "
                    f"asked for {self.steps} on {self.num_tasks} in mode {self.exchange}"
                )
        if len({result.checksum for result in results}) != 1:
            raise SanityError("repeats of one case gave different solutions: see EmtCorrectness")
        self.median = sorted(results, key=lambda result: result.step_block_p50_us)[self.repeats // 2]
        # Of an odd number of repeats, the median step time is the median repeat's; kappa' may be another's.
        self.median_kappa_us = statistics.median(result.kappa_block_p50_us for result in results)
        figures = (self.median.speedup, self.median.efficiency, self.median.karp_flatt, self.median_kappa_us)
        self.scaling = written(Scaling(self.exchange, self.num_tasks, *figures))
        return True

    @rfmb.performance_function("us")
    def step_time(self):
        return self.median.step_block_p50_us

    @rfmb.performance_function("us")
    def step_time_p50(self):
        return self.median.step_p50_us

    @rfmb.performance_function("us")
    def step_time_p99(self):
        return self.median.step_p99_us

    @rfmb.performance_function("us")
    def kappa(self):
        return self.median_kappa_us

    @rfmb.performance_function("us")
    def phi(self):
        return self.median.phi_us

    @rfmb.performance_function("us")
    def imbalance(self):
        return self.median.imbalance_us
