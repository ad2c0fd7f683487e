"""BT-IO (NPB 3.4): a solver of block-tridiagonal systems that writes its solution every five steps and reads it back.

Subtype ``full`` uses collective MPI-IO with one data type for the whole array; ``simple`` uses independent operations
for each row. BT needs a square number of ranks. Its own verification must succeed.

BT has no stonewall: its class sets the amount of data. If all runs together would write more than ``most_gib``, the
check takes a smaller class.
"""

import math
import shlex
import statistics
from dataclasses import dataclass

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import ReframeError, SanityError

from kappa.core.record.evidence import written
from kappa.core.vocabulary.tunables import Tunable
from reframe_checks.application.scaled_application import STRONG, Base, Layout, LayoutSeries
from reframe_checks.base.case import SiteVariable
from reframe_checks.base.check import KappaCheck
from reframe_checks.base.on_storage import OnStorage
from reframe_checks.base.scaled import Scaled
from reframe_checks.parsers import file_benchmarks, ior

# Subtype -> its name in BT's output.
SUBTYPES = {"full": "FULL MPI-IO", "simple": "SIMPLE MPI-IO"}
# A core's speed and a target's rate, only to estimate the time of a case; not targets.
ASSUMED_GFLOPS, ASSUMED_BYTES_S = 1.0, 0.5e9
# Start and verification.
BESIDES_S = 10


@dataclass(frozen=True)
class ProblemClass:
    """A class of NPB 3.4 (``sys/setparams.c``): ``points`` per edge of the grid, ``steps``, output each fifth step."""

    points: int
    steps: int

    @property
    def outputs(self) -> int:
        return self.steps // 5

    @property
    def output_bytes(self) -> int:
        """The bytes of one output: five numbers of 8 bytes for each point."""
        return self.points**3 * 5 * 8

    @property
    def written_bytes(self) -> int:
        return self.outputs * self.output_bytes

    @property
    def gflop(self) -> float:
        """The operations that NPB counts for its Mop/s, in Gflop (``bt.f90``)."""
        n = self.points
        return 1e-9 * self.steps * (3478.8 * n**3 - 17655.7 * n**2 + 28023.7 * n)


CLASSES = {
    "S": ProblemClass(12, 60), "W": ProblemClass(24, 200), "A": ProblemClass(64, 200), "B": ProblemClass(102, 200),
    "C": ProblemClass(162, 200), "D": ProblemClass(408, 250), "E": ProblemClass(1020, 250),
}  # fmt: skip


def square_ranks(ranks: int, nodes: int) -> int:
    """Return the largest square number up to ``ranks`` that is a multiple of ``nodes``; 0 if there is none."""
    roots = range(math.isqrt(ranks), 0, -1)
    return next((root * root for root in roots if root * root % nodes == 0), 0)


class BtIoCheck(OnStorage, Scaled, KappaCheck):
    needs_environ = ["btio"]
    subtype = rfmb.parameter(SUBTYPES, loggable=True)
    cache_defeat = "none: the rate that a solver sees, including caches of the file system and the nodes"

    #: One class for all scales, or ``{scale: class}``. Choose it so that a run takes minutes: NPB prints two decimals
    #: of a second.
    problem_class = SiteVariable(
        "B", "text, or one for each scale", "", "BT's class, for instance `C` or `{one_node: C, whole_partition: D}`",
    )
    #: For all runs together; 0: no limit. Modes that use the site's class set 0.
    most_gib = SiteVariable(
        24, "whole number", "GiB", "most data written by all runs, which limits the class; 0: no limit"
    )

    def classes_written(self):
        """Return how many times the job writes the data of one run of BT."""
        raise NotImplementedError

    def choose_class(self):
        if not isinstance(self.problem_class, str):
            key = f"extras/tuning/{self.check_class}/problem_class/{self.scale}"
            self.problem_class = self.stated(key, self.problem_class.get(self.scale))
        if self.problem_class not in CLASSES:
            where = f"partition {self.current_partition.fullname}: {self.check_class}"
            known = ", ".join(CLASSES)
            raise ReframeError(f"{where}.problem_class: expected one of {known}, found {self.problem_class!r}")
        self.problem_class = self.bounded(self.problem_class)
        self.executable = f"bt.{self.problem_class}.x.mpi_io_{self.subtype}"

    def bounded(self, problem_class):
        """Return the largest class up to this one that keeps the job below ``most_gib``; at least the smallest."""
        up_to = list(CLASSES)[: list(CLASSES).index(problem_class) + 1]
        most_bytes = self.most_gib << 30 or math.inf
        within = [one for one in up_to if self.classes_written() * CLASSES[one].written_bytes <= most_bytes]
        return within[-1] if within else up_to[0]

    def command(self):
        """Return the words of the command; BT writes into its working folder."""
        return ["env", '--chdir="$folder"', shlex.quote(self.executable)]

    def run_s(self, ranks):
        """Return the estimated seconds of a run."""
        of_class = CLASSES[self.problem_class]
        return of_class.gflop / (ranks * ASSUMED_GFLOPS) + of_class.written_bytes / ASSUMED_BYTES_S

    def most_bytes(self):
        return self.classes_written() * CLASSES[self.problem_class].written_bytes

    def run_in(self, name, ranks):
        """Return the run on this number of ranks, with its output in the file ``name``.

        :raises SanityError: BT ran with another class, number of ranks or method.
        """
        run = self.parsed(file_benchmarks.btio, self.output_text(name))
        found = (run.problem_class, run.processes, run.method)
        asked = (self.problem_class, ranks, SUBTYPES[self.subtype])
        if found != asked:
            raise SanityError(f"BT ran (class, ranks, method) {found}, expected {asked}")
        return run


class BtIoRuns(BtIoCheck):
    """Run BT several times on the largest possible square number of ranks, with equally many on each node.

    The run with the median rate of output counts.
    """

    time_limit = "1h"
    repeats = 3
    tunable = {"repeats": Tunable("whole number", "", "runs in the job; the median counts")}

    def classes_written(self):
        return self.repeats

    @rfmb.run_after("setup")
    def lay_out_square(self):
        self.choose_class()
        nodes = self.num_nodes_used
        self.num_tasks = square_ranks(self.num_tasks, nodes)
        if not self.num_tasks:
            where = f"partition {self.current_partition.fullname}, scale {self.scale}"
            raise ReframeError(f"{where}: no square number of ranks fits evenly on {nodes} nodes; use another scale")
        self.num_tasks_per_node = self.num_tasks // nodes

    def command_lines(self):
        return [self.launched(*self.command(), ">", self.output_of(number)) for number in range(self.repeats)]

    @staticmethod
    def output_of(number):
        return f"btio-{number + 1}.txt"

    def expected_s(self):
        return BESIDES_S + self.repeats * self.run_s(self.num_tasks)

    def median_run(self):
        runs = [self.run_in(self.output_of(number), self.num_tasks) for number in range(self.repeats)]
        return sorted(runs, key=lambda run: run.mb_s)[len(runs) // 2]


@rfm.simple_test
class BtIo(BtIoRuns):
    """Measure BT-IO on one node, two nodes and all nodes: time, the share of output, and the rates of both."""

    descr = "Measures a solver with parallel output (BT-IO); finds slow collective MPI-IO and slow storage targets"
    family = "storage/btio"
    estimated_s = 60
    scale = rfmb.parameter(["one_node", "two_nodes", "whole_partition"], loggable=True)
    hint = "compare subtype full with simple, and with IOR collective and independent on the same target"
    failure_means = (
        "A solver's output through MPI-IO is slower than the bound allows, or its solution is wrong. If IorEasy passes "
        "on the same target, the application's pattern of small pieces is slow, not the target."
    )

    @rfmb.sanity_function
    def read_results(self):
        self.require_striping()
        self.result = self.median_run()
        return True

    metrics = {
        "total_time": ("s", lambda self: self.result.total_s),
        "io_share": ("%", lambda self: self.result.io_percent),
        "io_rate": ("MB/s", lambda self: self.result.mb_s),
        "mop_s": ("Mop/s", lambda self: self.result.mop_s),
    }


NODES = ("Nodes", "")
# Curve -> (title, unit) of its figure, the function of a run, and the metric of the last point.
DRAWN = {
    "time": (("Total time", "s"), lambda run: run.total_s, "total_time"),
    "I/O time": (("Time of I/O", "s"), lambda run: run.io_s, "io_time"),
    "I/O share": (("Share of I/O", "%"), lambda run: run.io_percent, "io_share"),
    "computing": (("Rate of computing", "Mop/s"), lambda run: run.mop_s, "mop_s"),
    "I/O": (("Rate of I/O", "MB/s"), lambda run: run.mb_s, "io_rate"),
}


@rfm.simple_test
class BtIoSeries(LayoutSeries, BtIoCheck):
    """Measure BT-IO over the number of nodes, with one rank on each: time, time of output, and the rates of both.

    BT needs a square number of ranks: 1, 4, 9, 16, … nodes, all in one job and in turn. Speed-up and efficiency refer
    to the time of a step with its output. The round with the median rate of output counts. The validation of the IBiSCo
    cluster shows the same curves ("Communication and data storage: macro-benchmark II", class E).
    """

    descr = "Measures time, output time and speed-up of BT-IO over nodes; finds output that does not scale"
    family = "storage/btio-series"
    estimated_s = 600
    scale = rfmb.parameter(["each_node"], loggable=True)
    modes = ("acceptance",)
    time_limit = "8h"
    informational = ["io_time", "speedup"]
    rounds = 3
    hint = "if the output time grows with the nodes, compare subtype full with simple, and with IOR on as many nodes"
    failure_means = (
        "BT-IO on the most nodes takes too long, or its solution is wrong. If the time of computing grows, run "
        "OsuLatency and Hpl; if the time of output grows, run IorEasy on the same target."
    )

    #: Square numbers; by default all that the partition has.
    nodes = SiteVariable(
        [], "whole numbers", "", "numbers of nodes in the series, each a square; by default 1, 4, 9, … up to all"
    )
    not_tunable = ("layouts",)
    tunable = {
        "most_nodes": Tunable("whole number", "", "largest number of nodes in the series; 0: all"),
        "rounds": Tunable("whole number", "", "rounds over all numbers of nodes; the median counts"),
    }
    scaling = rfmb.variable(list, value=[], loggable=True)

    @rfmb.run_after("setup")
    def lay_out_series(self):
        squares = [root * root for root in range(1, math.isqrt(self.nodes_of_series) + 1)]
        if unfit := set(self.nodes) - set(squares):
            where = f"partition {self.current_partition.fullname}: {self.check_class}.nodes"
            raise ReframeError(f"{where}: expected some of {squares}, found {sorted(unfit)}")
        self.laid_out = [Layout(ranks, 1) for ranks in sorted(set(self.nodes or squares))]
        self.ask_for_all_ranks()
        self.choose_class()

    def classes_written(self):
        return self.rounds * len(self.laid_out)

    def expected_s(self):
        return BESIDES_S + self.rounds * sum(self.run_s(layout.ranks) for layout in self.laid_out)

    def command_lines(self):
        return [
            " ".join([self.launch_on(layout.ranks, 1), *self.command(), ">", self.file_of(layout, number)])
            for number in range(self.rounds)
            for layout in self.laid_out
        ]

    @staticmethod
    def file_of(layout, number):
        return f"{layout.nodes}-nodes-{number + 1}.txt"

    @rfmb.sanity_function
    def read_results(self):
        self.require_striping()
        runs = {layout: [self.run_of(layout, number) for number in range(self.rounds)] for layout in self.laid_out}
        middle = {
            layout.nodes: sorted(of_layout, key=lambda run: run.mb_s)[self.rounds // 2]
            for layout, of_layout in runs.items()
        }
        steps_s = {layout: [run.total_s / self.steps for run in of_layout] for layout, of_layout in runs.items()}
        first, last = self.laid_out[0], self.laid_out[-1]
        base = Base(first.ranks, statistics.median(steps_s[first]))
        points = [base.point(STRONG, "over nodes", layout.ranks, steps_s[layout]) for layout in self.laid_out]
        self.scaling = [written(point) for point in points]
        for name, (title, figure, metric) in DRAWN.items():
            figures = {nodes: figure(run) for nodes, run in middle.items()}
            self.record_curve(name, NODES, title, figures, {last.nodes: metric})
        speedups = {point.ranks: point.speedup for point in points}
        self.record_curve("speed-up", NODES, ("Speed-up", ""), speedups, {last.nodes: "speedup"})
        self.result, self.point = middle[last.nodes], points[-1]
        return True

    @property
    def steps(self):
        return CLASSES[self.problem_class].steps

    def run_of(self, layout, number):
        return self.run_in(self.file_of(layout, number), layout.ranks)

    metrics = {
        "total_time": ("s", lambda self: self.result.total_s),
        "io_time": ("s", lambda self: self.result.io_s),
        "io_share": ("%", lambda self: self.result.io_percent),
        "io_rate": ("MB/s", lambda self: self.result.mb_s),
        "mop_s": ("Mop/s", lambda self: self.result.mop_s),
        "efficiency": ("", lambda self: self.point.efficiency),
        "speedup": ("", lambda self: self.point.speedup),
    }


# IOR fills its buffers with numbers of 8 bytes.
WHOLE_BYTES = 8


@rfm.simple_test
class BtIoShare(BtIoRuns):
    """Measure BT-IO's rate of output relative to IOR's rate on the same target, in one job.

    Both run in turn on the same ranks and nodes. In IOR, each rank writes the same data at each output as in BT, but as
    one piece (MPI-IO, independent, one file). In BT, the pieces are rows of the array, or a data type of them. Neither
    waits for the disks, so caches help both in the same way. The share is the ratio of the medians.
    """

    descr = "Compares BT-IO's rate of output with IOR's on the same target, nodes and ranks; finds slow MPI-IO patterns"
    family = "storage/btio-share"
    relative = ["ior_share"]
    estimated_s = 90
    needs_environ = ["btio", "ior"]
    scale = rfmb.parameter(["one_node", "whole_partition"], loggable=True)
    modes = ("acceptance",)
    hint = (
        "a small share is caused by the application's pattern: compare subtype full with simple; check MPI-IO's hints"
    )
    failure_means = (
        "A solver gets a smaller share of the target's speed than the bound allows, or less speed than it should. If "
        "IOR's own rate is low too, the target is slow; otherwise look at MPI-IO's settings."
    )

    def classes_written(self):
        return 2 * self.repeats

    def expected_s(self):
        return super().expected_s() + self.repeats * CLASSES[self.problem_class].written_bytes / ASSUMED_BYTES_S

    def command_lines(self):
        of_ior = map(self.ior_command, range(self.repeats))
        return [line for both in zip(of_ior, super().command_lines(), strict=True) for line in both]

    def ior_command(self, number):
        transfer, outputs = map(str, self.sizes())
        return self.launched(
            "ior", "-a", "MPIIO", "-w", "-t", transfer, "-b", transfer, "-s", outputs,
            "-o", '"$folder/ior"', "-O", "summaryFormat=JSON", "-O", f"summaryFile={self.summary(number)}",
        )  # fmt: skip

    def sizes(self):
        """Return the bytes of a rank at each output, and the number of outputs."""
        of_class = CLASSES[self.problem_class]
        return of_class.output_bytes // self.num_tasks // WHOLE_BYTES * WHOLE_BYTES, of_class.outputs

    @staticmethod
    def summary(number):
        return f"ior-{number + 1}.json"

    @rfmb.sanity_function
    def read_results(self):
        self.require_striping()
        self.result = self.median_run()
        self.ior_mb_s = statistics.median(self.ior_rate_of(number) for number in range(self.repeats))
        return True

    def ior_rate_of(self, number):
        """Return the rate of IOR's output before a run of BT, in MB/s.

        :raises SanityError: IOR ran with other sizes.
        """
        result = self.parsed(ior.parse, self.output_text(self.summary(number)))
        transfer, outputs = self.sizes()
        found = (result.api, result.tasks, result.transfer_bytes, result.block_bytes, result.segments, result.fsync)
        asked = ("MPIIO", self.num_tasks, transfer, transfer, outputs, False)
        if found != asked or len(result.write_mb_s) != 1:
            raise SanityError(f"ior ran (interface, ranks, transfer, block, segments, -e) {found}, expected {asked}")
        return result.write_mb_s[0]

    metrics = {
        "io_rate": ("MB/s", lambda self: self.result.mb_s),
        "ior_rate": ("MB/s", lambda self: self.ior_mb_s),
        "ior_share": ("", lambda self: self.result.mb_s / self.ior_mb_s),
    }
