"""BT-IO (NPB 3.4): a solver of block-tridiagonal systems that writes its solution every five steps and reads it back.

Subtype ``full`` uses collective MPI-IO with one data type for the whole array, ``simple`` independent operations for
each row. BT needs a square number of ranks. Its own verification must succeed.

BT has no stonewall: its class is its bound, and a smaller one is taken where all runs would write more than
``most_gib``.
"""

import math
import shlex
from dataclasses import dataclass

import reframe.core.builtins as rfmb
import reframe.utility.typecheck as typ
from reframe.core.exceptions import ReframeError, SanityError

from kappa.core.vocabulary.tunables import Tunable
from reframe_checks.base.check import KappaCheck
from reframe_checks.base.on_storage import OnStorage
from reframe_checks.base.scaled import Scaled
from reframe_checks.parsers import btio
from reframe_checks.parsers.text import Output

# Subtype -> how BT names it.
SUBTYPES = {"full": "FULL MPI-IO", "simple": "SIMPLE MPI-IO"}
# A core's speed and a target's rate, to say how long a case takes: not what they should be.
ASSUMED_GFLOPS, ASSUMED_BYTES_S = 1.0, 0.5e9
# Start and verification.
BESIDES_S = 10
_START = " NAS Parallel Benchmarks"


@dataclass(frozen=True)
class ProblemClass:
    """``points`` a side of the grid and ``steps`` of NPB 3.4 (``sys/setparams.c``), written every fifth step."""

    points: int
    steps: int

    @property
    def outputs(self) -> int:
        return self.steps // 5

    @property
    def output_bytes(self) -> int:
        """Five numbers of 8 bytes for each point."""
        return self.points**3 * 5 * 8

    @property
    def written_bytes(self) -> int:
        return self.outputs * self.output_bytes

    @property
    def gflop(self) -> float:
        """What NPB counts for its Mop/s (``bt.f90``)."""
        n = self.points
        return 1e-9 * self.steps * (3478.8 * n**3 - 17655.7 * n**2 + 28023.7 * n)


CLASSES = {
    "S": ProblemClass(12, 60), "W": ProblemClass(24, 200), "A": ProblemClass(64, 200), "B": ProblemClass(102, 200),
    "C": ProblemClass(162, 200), "D": ProblemClass(408, 250), "E": ProblemClass(1020, 250),
}  # fmt: skip


def square_ranks(ranks: int, nodes: int) -> int:
    """The largest square number up to ``ranks`` that ``nodes`` share evenly; 0 when there is none."""
    roots = range(math.isqrt(ranks), 0, -1)
    return next((root * root for root in roots if root * root % nodes == 0), 0)


def split_runs(text: str) -> list[str]:
    """The output of each repeat."""
    lines = Output.read("BT-IO output", text).lines
    starts = [number for number, line in enumerate(lines) if line.startswith(_START)]
    return ["\n".join(lines[first:last]) + "\n" for first, last in zip(starts, [*starts[1:], len(lines)], strict=True)]


class BtIoCheck(OnStorage, Scaled, KappaCheck):
    needs_environ = ["btio"]
    subtype = rfmb.parameter(SUBTYPES, loggable=True)
    cache_defeat = "none: what a solver sees, the file system's and the nodes' memory included"

    #: One for all scales, or ``{scale: class}``. To be chosen so that a run takes minutes: NPB prints two decimals of a
    #: second.
    problem_class = rfmb.variable(str, typ.Dict[str, str], value="B")
    #: Of all runs; 0, as the modes that ask for a site's class set it: no bound.
    most_gib = rfmb.variable(int, value=24)
    problem_tunable = {
        "problem_class": Tunable("text, or one for each scale", "", "as `C` or `{one_node: C, whole_partition: D}`"),
        "most_gib": Tunable("whole number", "GiB", "written by all runs, which bounds the class; 0: no bound"),
    }

    def classes_written(self):
        """How many times the job writes what one run of BT does."""
        raise NotImplementedError

    def choose_class(self):
        if not isinstance(self.problem_class, str):
            key = f"extras/tuning/{self.check_class}/problem_class/{self.scale}"
            self.problem_class = self.stated(key, self.problem_class.get(self.scale))
        if self.problem_class not in CLASSES:
            where = f"partition {self.current_partition.fullname}: {self.check_class}"
            raise ReframeError(f"{where}: problem_class {self.problem_class!r} is none of {', '.join(CLASSES)}")
        self.problem_class = self.bounded(self.problem_class)
        self.programs = [f"bt.{self.problem_class}.x.mpi_io_{self.subtype}"]

    def bounded(self, problem_class):
        """The largest class up to this one with which the job writes no more than it may; at least the smallest."""
        up_to = list(CLASSES)[: list(CLASSES).index(problem_class) + 1]
        most_bytes = self.most_gib << 30 or math.inf
        within = [one for one in up_to if self.classes_written() * CLASSES[one].written_bytes <= most_bytes]
        return within[-1] if within else up_to[0]

    def command(self):
        """BT writes into its working folder."""
        return ["env", '--chdir="$folder"', *map(shlex.quote, self.programs)]

    def run_s(self, ranks):
        """What a run takes, by assumed speeds."""
        of_class = CLASSES[self.problem_class]
        return of_class.gflop / (ranks * ASSUMED_GFLOPS) + of_class.written_bytes / ASSUMED_BYTES_S

    def most_bytes(self):
        return self.classes_written() * CLASSES[self.problem_class].written_bytes

    def require_asked(self, run, ranks):
        found = (run.problem_class, run.processes, run.method)
        asked = (self.problem_class, ranks, SUBTYPES[self.subtype])
        if found != asked:
            raise SanityError(f"BT ran (class, ranks, method) {found}, asked for {asked}")


class BtIoRuns(BtIoCheck):
    """Several runs on the largest square number of ranks that the scale holds, with as many on each node; the median
    one, by its rate of output, counts."""

    time_limit = "1h"
    repeats = 3
    tunable = {
        **BtIoCheck.problem_tunable,
        "repeats": Tunable("whole number", "", "runs in the job, of which the median counts"),
    }

    def classes_written(self):
        return self.repeats

    @rfmb.run_after("setup")
    def command_line(self):
        self.choose_class()
        nodes = self.num_nodes_used
        self.num_tasks = square_ranks(self.num_tasks, nodes)
        if not self.num_tasks:
            where = f"partition {self.current_partition.fullname}, scale {self.scale}"
            raise ReframeError(f"{where}: no square number of ranks is shared evenly by {nodes} nodes")
        self.num_tasks_per_node = self.num_tasks // nodes
        self.executable, *self.executable_opts = self.command()

    def expected_s(self):
        return BESIDES_S + self.repeats * self.run_s(self.num_tasks)

    def median_run(self):
        """Of the runs that the job's output tells of."""
        runs = [self.parsed(btio.parse, text) for text in self.parsed(split_runs, self.output_text())]
        if len(runs) != self.repeats:
            raise SanityError(f"{self.repeats} runs were asked for, {len(runs)} ended")
        for run in runs:
            self.require_asked(run, self.num_tasks)
        return sorted(runs, key=lambda run: run.mb_s)[len(runs) // 2]
