"""HPCG: its problem, its input file ``hpcg.dat``, and the checks."""

import math
import pathlib

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import SanityError

from reframe_checks.base.case import SiteVariable
from reframe_checks.base.check import KappaCheck
from reframe_checks.base.many_nodes import ManyNodes
from reframe_checks.base.measure import Rated
from reframe_checks.base.scaled import Scaled
from reframe_checks.parsers import hpcg

#: The least bytes that HPCG's model counts for an equation: its row of the matrix, vectors, and coarser grids.
BYTES_PER_EQUATION = 713
#: Edges are multiples of 8: each of three coarser grids halves them.
STEP = 8
SMALLEST_EDGE = 16


def local_grid(least_bytes: float) -> tuple[int, int, int]:
    """Return the smallest grid of one rank, as cubic as possible, whose data take ``least_bytes`` or more."""
    equations = least_bytes / BYTES_PER_EQUATION
    edge = max(int(equations ** (1 / 3)) // STEP * STEP, SMALLEST_EDGE)
    x, y, z = edge, edge, edge
    while x * y * z < equations:
        # The shortest edge grows; of equal ones, the last.
        if z <= y:
            z += STEP
        elif y <= x:
            y += STEP
        else:
            x += STEP
    return x, y, z


def hpcg_dat(grid: tuple[int, int, int], seconds: int) -> str:
    """Return the input for a grid of cells on each rank, and a time of the timed iterations in s."""
    return f"HPCG benchmark input file\nKappa\n{' '.join(map(str, grid))}\n{seconds}\n"


REPORT = "hpcg.txt"
# The report's name has the time; in Intel's build, the size of the problem comes first.
NAMED_BY_HPCG = r"-maxdepth 1 -type f \( -name 'HPCG-Benchmark*' -o -name 'n[0-9]*-[0-9]*p-[0-9]*t*' \)"
# HPCG's rule: least share of the main memory.
LEAST_MEMORY = 0.25
# HPCG sets the number of timed iterations by the time of one set. On shared cores, the later sets may take less time.
MARGIN = 1.05
# Passes over its data besides the timed ones: the reference's iterations, the tests, and the first set.
PASSES_BESIDES = 400
# Only to estimate the time of a case; not a target for a core.
ASSUMED_CORE_BYTES_S = 2e9


class HpcgCheck(ManyNodes, Rated, Scaled, KappaCheck):
    """HPCG: conjugate gradients with a multigrid preconditioner on a sparse matrix, limited by memory and its latency.

    HPCG's rules: the tests of convergence, symmetry and reproducibility pass; the timed iterations take 1800 s; the
    problem takes a quarter of the nodes' memory. ``Hpcg`` follows the rules, and fails if its result is not valid.
    ``HpcgShort``, for nights, solves a smaller problem for a minute. Its bound comes from runs of the same form, and
    its result is no rating.

    Each rank has a core: a plain build runs the reference version's preconditioner, which has no threads.
    """

    family = "compute/hpcg"
    needs_partition = ["compute"]
    needs_environ = ["hpcg"]
    scale = rfmb.parameter(["one_node", "whole_partition"], loggable=True)
    executable = "xhpcg"
    rules = "HPCG's rules"
    time_limit = "90m"
    informational = ["memory_bandwidth", "memory_share"]
    hint = (
        "compare with Stream on the same nodes, because memory limits both; then with OsuAllreduce, used in each "
        "product"
    )
    failure_means = (
        "HPCG is slower than the bound allows, or one of its own tests failed. A failed test means that a node "
        "computes wrong results: run BitSweep on the same nodes."
    )

    running_s = SiteVariable(rfmb.required, "whole number", "s", "time of the timed iterations")
    memory_fraction = SiteVariable(rfmb.required, "number", "", "least share of the memory that the problem takes")
    threads = SiteVariable(1, "whole number", "", "threads of each rank, for builds whose preconditioner has threads")

    @rfmb.run_after("setup")
    def lay_out_threads(self):
        if self.threads > 1:
            nodes, self.num_tasks_per_node = self.num_nodes_used, max(self.cores_per_node // self.threads, 1)
            self.num_tasks, self.num_cpus_per_task = nodes * self.num_tasks_per_node, self.threads
        # A site may have a time limit for steps that is shorter than this step.
        self.env_vars = {"OMP_NUM_THREADS": self.threads, "SLURM_TIMELIMIT": int(self.time_limit) // 60}

    @rfmb.run_before("run")
    def write_input(self):
        self.local_grid = local_grid(self.memory_fraction * self.rank_memory_bytes)
        text = hpcg_dat(self.local_grid, self.asked_s)
        pathlib.Path(self.stagedir, "hpcg.dat").write_text(text, encoding="utf-8")
        self.prerun_cmds = [*self.prerun_cmds, f"find . {NAMED_BY_HPCG} -delete"]
        self.postrun_cmds = [f"find . {NAMED_BY_HPCG} -exec mv {{}} {REPORT} ';'", *self.postrun_cmds]

    @property
    def asked_s(self):
        return math.ceil(self.running_s * MARGIN)

    @property
    def node_memory_bytes(self):
        extras = self.current_partition.extras
        return self.stated("extras/memory_gib_per_node", extras.get("memory_gib_per_node")) * 2**30

    @property
    def rank_memory_bytes(self):
        return self.node_memory_bytes / self.num_tasks_per_node

    def expected_s(self):
        passes = PASSES_BESIDES * self.memory_fraction * self.rank_memory_bytes
        return self.asked_s + passes / (ASSUMED_CORE_BYTES_S * self.threads)

    @rfmb.sanity_function
    def tests_passed(self):
        self.result = self.parsed(hpcg.parse, self.output_text(REPORT))
        found = (self.result.ranks, self.result.threads, self.result.local_grid)
        if found != (self.num_tasks, self.threads, self.local_grid):
            asked = f"{self.num_tasks} ranks of {self.threads} threads with {self.local_grid} cells"
            ran = f"{found[0]} ranks of {found[1]} threads with {found[2]} cells"
            raise SanityError(f"HPCG ran {ran}, expected {asked}")
        failed = [name for name, passed in self.result.passed.items() if not passed]
        if failed:
            raise SanityError(f"HPCG's test of {', '.join(failed)} FAILED: a node computes wrong results; run BitSweep")
        self.share_of_memory = self.result.memory_gb * 1e9 / (self.num_nodes_used * self.node_memory_bytes)
        self.judge_by_rules(broken_rules(self.result.total_s, self.share_of_memory))
        return True

    metrics = {
        "gflops": ("Gflop/s", lambda self: self.result.gflops),
        # By HPCG's count of reads and writes, which includes numbers that are in caches.
        "memory_bandwidth": ("GB/s", lambda self: self.result.raw_gb_s),
        "memory_share": ("", lambda self: self.share_of_memory),
    }


def broken_rules(total_s, share_of_memory):
    """Return the rules that a run breaks, if its tests passed."""
    broken = []
    if total_s < hpcg.OFFICIAL_S:
        broken.append(f"{total_s:.0f} s of {hpcg.OFFICIAL_S} s")
    if share_of_memory < LEAST_MEMORY:
        broken.append(f"{share_of_memory:.1%} of the memory, expected {LEAST_MEMORY:.0%}")
    return broken


@rfm.simple_test
class Hpcg(HpcgCheck):
    """HPCG's own problem on a quarter of the memory for 1800 s, as its rules ask, on one node and on all."""

    descr = "Measures Gflop/s of HPCG by its rules; finds slow memory, slow reductions and wrong results"
    modes = ("acceptance",)
    estimated_s = 2200
    failure_means = (
        "HPCG is slower than the bound allows, one of its own tests failed, or the result breaks HPCG's rules and is "
        "no rating. A failed test means that a node computes wrong results: run BitSweep on the same nodes."
    )
    running_s = hpcg.OFFICIAL_S
    memory_fraction = LEAST_MEMORY


@rfm.simple_test
class HpcgShort(HpcgCheck):
    """HPCG's problem on a fiftieth of the memory for a minute, on one node and on all."""

    descr = "Measures Gflop/s of a short form of HPCG, which is no rating; finds slow memory and wrong results"
    modes = ("nightly",)
    must_be_valid = False
    estimated_s = 90
    running_s = 60
    memory_fraction = 0.02
