"""The level of thread support that MPI gives for each requested level, and latency if several threads call MPI."""

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import SanityError

from reframe_checks.base.case import SiteVariable
from reframe_checks.compute.hpl import doublings
from reframe_checks.network.mpi_behaviour import MpiBehaviourCheck
from reframe_checks.parsers import mpi_behaviour
from reframe_checks.parsers.mpi_behaviour import THREAD_LEVELS

THREADS = ("Threads of a rank", "")
MULTIPLE = "multiple"


class MpiThreadCheck(MpiBehaviourCheck):
    parse = staticmethod(mpi_behaviour.threads)
    family = "network/mpi-threads"
    #: File of a step's result -> the numbers of threads in the step.
    threads_of: dict[str, list[int]]

    def step(self, level, threads):
        """Return the words of a step with these numbers of threads."""
        return ["threads", f"--level={level}", f"--threads={','.join(map(str, threads))}"]

    def asked(self, name):
        return {"expect_threads": self.threads_of[name]}

    def result(self, name):
        found = super().result(name)
        if found.asked not in name:
            raise SanityError(f"{name}: the result is for another level, {found.asked}")
        return found


@rfm.simple_test
class MpiThreadLevels(MpiThreadCheck):
    descr = "Asks MPI for each level of thread support; finds an MPI library that gives a lower level than requested"
    measured_s = 3
    scale = rfmb.parameter(["2_ranks"], loggable=True)
    hint = (
        "MPI gives a lower level than requested; check its configuration (Open MPI: `ompi_info | grep Thread`). A "
        "program that does not check the level fails at random"
    )
    failure_means = (
        "MPI gives a lower level of thread support than programs may ask for; programs that do not notice fail at "
        "random. Install or select an MPI that was built with support for threads."
    )

    @rfmb.run_after("setup")
    def one_thread(self):
        self.threads_of = {self.file_of(level): [1] for level in THREAD_LEVELS}

    @staticmethod
    def file_of(level):
        return f"level-{level}.json"

    def steps(self):
        return {self.file_of(level): self.step(level, [1]) for level in THREAD_LEVELS}

    def record_series(self):
        self.given = {found.asked: THREAD_LEVELS.index(found.provided) for found in self.results.values()}
        levels = dict(enumerate(self.given[level] for level in THREAD_LEVELS))
        top = len(THREAD_LEVELS) - 1
        self.record_curve("levels", ("Level asked for", ""), ("Level given", ""), levels, {top: "highest_level"})
        points = {index: min(found.series[0].latency_us) for index, found in enumerate(self.results.values())}
        self.record_curve("latency", ("Level asked for", ""), ("Latency of one thread", "us"), points, {})

    metrics = {
        # How many of the four levels MPI gives at least as requested.
        "levels_given": ("", lambda self: sum(self.given[level] >= index for index, level in enumerate(THREAD_LEVELS))),
        # 0: single, 1: funneled, 2: serialized, 3: multiple.
        "highest_level": ("", lambda self: self.given[MULTIPLE]),
    }


@rfm.simple_test
class MpiThreadMultiple(MpiThreadCheck):
    descr = "Measures the latency over the number of threads that call MPI at the same time; finds costly locks in MPI"
    measured_s = 3
    hint = (
        "the difference from one thread at the level single is the cost of MPI's locks; with one lock for all threads, "
        "the message rate does not grow with the threads"
    )
    failure_means = (
        "Messages of several threads take too long or are too few, or MPI does not support threads that call it at "
        "once. This comes from the MPI library, not from one node: see what changed since it passed."
    )

    threads = SiteVariable(
        [], "whole numbers", "", "numbers of threads of each rank, from 1 on; by default 1, 2, 4, … its cores"
    )

    @rfmb.run_after("setup")
    def lay_out_threads(self):
        cores = max(1, self.cores_per_node // self.num_tasks_per_node)
        self.series = sorted({1, *(self.threads or doublings(cores))})
        self.num_cpus_per_task = cores
        self.threads_of = {"single.json": [1], "multiple.json": self.series}

    def steps(self):
        return {"single.json": self.step("single", [1]), "multiple.json": self.step(MULTIPLE, self.series)}

    def record_series(self):
        found = self.results["multiple.json"]
        if found.provided != MULTIPLE:
            raise SanityError(
                f"{found.mpi} gives the level {found.provided} where multiple is requested, so several threads cannot "
                "be measured; use an MPI with MPI_THREAD_MULTIPLE"
            )
        self.alone = min(self.results["single.json"].series[0].latency_us)
        self.latencies = {one.threads: min(one.latency_us) for one in found.series}
        self.rates = {one.threads: max(one.messages_per_s) for one in found.series}
        last = self.series[-1]
        self.record_curve(
            "latency", THREADS, ("Latency", "us"), self.latencies, {1: "latency", last: "threads_latency"}
        )
        self.record_curve("rate", THREADS, ("Messages of a rank", "1/s"), self.rates, {last: "message_rate"})

    metrics = {
        "latency": ("us", lambda self: self.latencies[1]),
        # Latency of one thread, divided by the latency at the level single, which needs no locks.
        "multiple_over_single": ("", lambda self: self.latencies[1] / self.alone),
        "threads_latency": ("us", lambda self: self.latencies[self.series[-1]]),
        "message_rate": ("1/s", lambda self: self.rates[self.series[-1]]),
    }
