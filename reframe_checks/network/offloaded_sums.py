"""Sums over all ranks with and without reductions in the network, in one job: how much time and CPU time they save.

The own program, ``kappa-measure pattern allreduce``, runs with one rank on each node and with one for each core, with
8 B to 1 MiB. The steps alternate, and the best median of several rounds counts for each size. The library's log must
show that the network took part: if SHARP's manager granted no tree, the check fails.
"""

import re
import statistics

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import SanityError

from kappa.core.vocabulary.features import SHARP
from reframe_checks.base.case import SiteVariable
from reframe_checks.base.check import KappaCheck
from reframe_checks.base.cmake_program import MeasureProgram
from reframe_checks.base.measure import with_variables
from reframe_checks.base.scaled import Scaled
from reframe_checks.parsers import patterns

SMALL_BYTES, LARGE_BYTES = 8, 1 << 20
HOST, NETWORK = "host", "network"
SIZE = ("Message size", "B")
# libsharp's message at SHARP_COLL_LOG_LEVEL=3 for a granted tree. After a refusal, the log has only the request.
_GRANTED = re.compile(r"^\[[\w.-]{1,255}:\d+:\d+[^\]]{0,80}\].{0,60} INFO .{0,80}\btree_(?:info|type): ?", re.MULTILINE)


def tree_granted(log):
    """Tell whether libsharp's log shows a granted tree."""
    return bool(_GRANTED.search(log))


def logging_alone(variables):
    """Return those variables of a site's ``sharp`` that only make libsharp write its log."""
    return {name: value for name, value in variables.items() if "LOG" in name}


@rfm.simple_test
class OffloadedSums(Scaled, KappaCheck):
    descr = (
        "Compares time and CPU time of sums over all ranks in the network and by the hosts; finds a SHARP that is off "
        "or slow"
    )
    family = "network/offloaded-sums"
    estimated_s = 60
    needs_partition = [SHARP]
    needs_environ = ["sweep-build", "mpi-sharp"]
    modes = ("acceptance",)
    scale = rfmb.parameter(["each_node", "whole_partition"], loggable=True)
    hint = (
        "check that the fabric's aggregation manager runs (sharp_am), and that `sharp_hello` on the nodes gets a tree"
    )
    failure_means = (
        "The network took no part in the sums, or sums in the network are slower than the bound allows. If "
        "OsuAllreduce passes on the same nodes, repair the fabric's reduction service (SHARP); if it fails too, look "
        "there first."
    )
    build = rfmb.fixture(MeasureProgram, scope="environment")

    iterations = SiteVariable(100, "whole number", "", "timed iterations of each size in each step")
    rounds = SiteVariable(3, "whole number", "", "rounds of steps with and without the network's reduction")

    def command_lines(self):
        return [self.command_line(kind, number) for number in range(1, self.rounds + 1) for kind in (HOST, NETWORK)]

    def command_line(self, kind, number):
        name = f"{kind}-{number}"
        words = [
            self.program, "pattern", f"--ranks-per-node={self.num_tasks_per_node}", f"--iterations={self.iterations}",
            f"--output={name}.json", "allreduce", "--where=host", f"--largest-bytes={LARGE_BYTES}",
        ]  # fmt: skip
        sharp = self.current_environ.extras["sharp"]
        variables = sharp if kind == NETWORK else logging_alone(sharp)
        return self.launched(with_variables(variables, words), f"> {name}.log 2>&1")

    @rfmb.sanity_function
    def read_sums(self):
        for number in range(1, self.rounds + 1):
            if not tree_granted(self.output_text(f"{NETWORK}-{number}.log")):
                raise SanityError(
                    f"{NETWORK}-{number}.log: SHARP granted no tree, so the network did not compute the sums"
                )
            if tree_granted(self.output_text(f"{HOST}-{number}.log")):
                raise SanityError(
                    f"{HOST}-{number}.log: SHARP granted a tree, although sums by the hosts were expected"
                )
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
        found = self.parsed(patterns.AllreduceResult.read, self.output_text(name), ranks=self.num_tasks)
        if found.simulated or list(found.sizes)[-1] != LARGE_BYTES:
            raise SanityError(f"{name}: expected sums of up to {LARGE_BYTES} B on a real machine")
        return found

    def ratio(self, figures, size):
        return figures[NETWORK][size] / figures[HOST][size]

    metrics = {
        "latency_8B": ("us", lambda self: self.times_us[NETWORK][SMALL_BYTES]),
        "latency_1MiB": ("us", lambda self: self.times_us[NETWORK][LARGE_BYTES]),
        # In the network divided by the hosts; below 1 is a gain.
        "ratio_8B": ("", lambda self: self.ratio(self.times_us, SMALL_BYTES)),
        "ratio_1MiB": ("", lambda self: self.ratio(self.times_us, LARGE_BYTES)),
        "cpu_ratio_1MiB": ("", lambda self: self.ratio(self.cpu_us, LARGE_BYTES)),
    }
