"""Sums over all ranks with and without the network's reduction, in one job: what it gains, and what CPUs do meanwhile.

Own program, ``src/patterns`` (``allreduce``), one rank on each node and one for each core, 8 B to 1 MiB; the steps take
turns, and of several rounds the best median of each size counts. That the network took part, the library has to say in
its log: without a tree that SHARP's manager granted, the check fails, whatever the figures.
"""

import re
import shlex
import statistics

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import SanityError

from kappa.core.vocabulary.features import SHARP
from kappa.core.vocabulary.tunables import Tunable
from reframe_checks.base.check import KappaCheck
from reframe_checks.base.scaled import Scaled
from reframe_checks.base.several_steps import SeveralSteps, with_variables
from reframe_checks.network.pattern_base import PatternProgram
from reframe_checks.parsers import patterns

SMALL_BYTES, LARGE_BYTES = 8, 1 << 20
HOST, NETWORK = "host", "network"
SIZE = ("Message size", "B")
# What libsharp says at SHARP_COLL_LOG_LEVEL=3 of a tree that it was given; who was refused has the request alone.
_GRANTED = re.compile(r"^\[[\w.-]{1,255}:\d+:\d+[^\]]{0,80}\].{0,60} INFO .{0,80}\btree_(?:info|type): ?", re.MULTILINE)


def tree_granted(log):
    """Whether libsharp says in its log that it was given a tree."""
    return bool(_GRANTED.search(log))


def logging_alone(variables):
    """Those of a site's ``sharp`` that have libsharp write its log, and ask for nothing."""
    return {name: value for name, value in variables.items() if "LOG" in name}


@rfm.simple_test
class OffloadedSums(SeveralSteps, Scaled, KappaCheck):
    descr = "Time and CPU time of sums over all ranks, in the network against by the hosts"
    family = "network/offloaded-sums"
    estimated_s = 60
    needs_partition = [SHARP]
    needs_environ = ["sweep-build", "mpi-sharp"]
    modes = ("acceptance",)
    scale = rfmb.parameter(["each_node", "whole_partition"], loggable=True)
    hint = "does the fabric's manager run (sharp_am), and does `sharp_hello` on the nodes get a tree?"
    build = rfmb.fixture(PatternProgram, scope="environment")

    iterations = rfmb.variable(int, value=100)
    rounds = rfmb.variable(int, value=3)
    tunable = {
        "iterations": Tunable("whole number", "", "timed, of each size in each step"),
        "rounds": Tunable("whole number", "", "of steps with and without the network's reduction"),
    }

    @rfmb.run_after("setup")
    def take_program(self):
        self.executable, self.programs = shlex.quote(self.build.command), [self.build.command]

    def command_lines(self):
        return [self.command_line(kind, number) for number in range(1, self.rounds + 1) for kind in (HOST, NETWORK)]

    def command_line(self, kind, number):
        name = f"{kind}-{number}"
        words = [
            self.build.command, f"--ranks-per-node={self.num_tasks_per_node}", f"--iterations={self.iterations}",
            f"--output={name}.json", "allreduce", "--where=host", f"--largest-bytes={LARGE_BYTES}",
        ]  # fmt: skip
        sharp = self.current_environ.extras["sharp"]
        variables = sharp if kind == NETWORK else logging_alone(sharp)
        return f"{with_variables(variables, words)} > {name}.log 2>&1"

    @rfmb.sanity_function
    def read_sums(self):
        for number in range(1, self.rounds + 1):
            if not tree_granted(self.output_text(f"{NETWORK}-{number}.log")):
                raise SanityError(f"{NETWORK}-{number}.log: no tree was granted: the network took no part in the sums")
            if tree_granted(self.output_text(f"{HOST}-{number}.log")):
                raise SanityError(f"{HOST}-{number}.log: the network took part, though it was not asked")
        self.times_us, self.cpu_us = {}, {}
        for kind in (HOST, NETWORK):
            rounds = [self.result(f"{kind}-{number}.json") for number in range(1, self.rounds + 1)]
            sizes = rounds[0].sizes
            self.times_us[kind] = {size: min(one.median_of_sizes_us[size] for one in rounds) for size in sizes}
            self.cpu_us[kind] = {size: statistics.median(one.cpu_us[size] for one in rounds) for size in sizes}
            gated = {SMALL_BYTES: "latency_8B", LARGE_BYTES: "latency_1MiB"} if kind == NETWORK else {}
            self.record_curve(f"time, {kind}", SIZE, ("Time of a sum", "us"), self.times_us[kind], gated)
            self.record_curve(f"CPU time, {kind}", SIZE, ("CPU time of a rank", "us"), self.cpu_us[kind], {})
        return True

    def result(self, name):
        found = self.parsed(patterns.allreduce, self.output_text(name), expect_ranks=self.num_tasks)
        if found.simulated or list(found.sizes)[-1] != LARGE_BYTES:
            raise SanityError(f"{name}: expected sums of up to {LARGE_BYTES} B on a real machine")
        return found

    def ratio(self, figures, size):
        return figures[NETWORK][size] / figures[HOST][size]

    @rfmb.performance_function("us")
    def latency_8B(self):  # noqa: N802 - as OSU's
        return self.times_us[NETWORK][SMALL_BYTES]

    @rfmb.performance_function("us")
    def latency_1MiB(self):  # noqa: N802
        return self.times_us[NETWORK][LARGE_BYTES]

    @rfmb.performance_function("")
    def ratio_8B(self):  # noqa: N802
        """In the network over by the hosts: below one is a gain."""
        return self.ratio(self.times_us, SMALL_BYTES)

    @rfmb.performance_function("")
    def ratio_1MiB(self):  # noqa: N802
        return self.ratio(self.times_us, LARGE_BYTES)

    @rfmb.performance_function("")
    def cpu_ratio_1MiB(self):  # noqa: N802
        return self.ratio(self.cpu_us, LARGE_BYTES)
