"""HPL and HPC Challenge: input files, what every HPL check shares, and the check of a scale."""

import math
import pathlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import ReframeError, SanityError

from reframe_checks.base.cases import SiteVariable
from reframe_checks.base.check import KappaCheck
from reframe_checks.base.many_nodes import ManyNodes
from reframe_checks.base.scaled import Scaled
from reframe_checks.parsers import hpl

# Format of the input: the file ``TUNING`` of HPL 2.3; HPCC adds lines for PTRANS (its ``README``).


def process_grid(ranks: int) -> tuple[int, int]:
    """P x Q as square as possible with P <= Q, as HPL's FAQ advises."""
    rows = max(divisor for divisor in range(1, math.isqrt(ranks) + 1) if ranks % divisor == 0)
    return rows, ranks // rows


def problem_size(memory_bytes: float, fraction: float, block: int) -> int:
    """Largest order N, a multiple of ``block``, whose matrix of 8-byte numbers fills ``fraction`` of the memory."""
    return max(int(math.sqrt(fraction * memory_bytes / 8)) // block, 1) * block


def order_within(seconds: float, flops: float, block: int) -> int:
    """Largest order N, a multiple of ``block``, solved in ``seconds`` at ``flops`` a second: 2/3 N^3 of them."""
    return max(int((1.5 * seconds * flops) ** (1 / 3)) // block, 1) * block


def solving_s(order: int, flops: float) -> float:
    """Seconds to solve a system of this order at ``flops`` a second."""
    return order**3 / (1.5 * flops)


def doublings(nodes: int) -> list[int]:
    """1, 2, 4, … and ``nodes`` itself: the numbers of nodes of a scaling series."""
    return [*(1 << power for power in range(nodes.bit_length()) if 1 << power < nodes), nodes]


def hpl_dat(orders: Sequence[int], block: int, grid: tuple[int, int]) -> str:
    """``HPL.dat``: systems of these orders one after the other, one block size, one grid, output to standard output."""
    rows, columns = grid
    values = " ".join(map(str, orders))
    return f"""HPLinpack benchmark input file
Kappa
HPL.out      output file name (if any)
6            device out (6=stdout,7=stderr,file)
{len(orders):<12d} # of problems sizes (N)
{values:<12} Ns
1            # of NBs
{block:<12d} NBs
0            PMAP process mapping (0=Row-,1=Column-major)
1            # of process grids (P x Q)
{rows:<12d} Ps
{columns:<12d} Qs
16.0         threshold
1            # of panel fact
2            PFACTs (0=left, 1=Crout, 2=Right)
1            # of recursive stopping criterium
4            NBMINs (>= 1)
1            # of panels in recursion
2            NDIVs
1            # of recursive panel fact.
1            RFACTs (0=left, 1=Crout, 2=Right)
1            # of broadcast
1            BCASTs (0=1rg,1=1rM,2=2rg,3=2rM,4=Lng,5=LnM)
1            # of lookahead depth
1            DEPTHs (>=0)
2            SWAP (0=bin-exch,1=long,2=mix)
64           swapping threshold
0            L1 in (0=transposed,1=no-transposed) form
0            U  in (0=transposed,1=no-transposed) form
1            Equilibration (0=no,1=yes)
8            memory alignment in double (> 0)
"""


def hpccinf_txt(orders: Sequence[int], block: int, grid: tuple[int, int]) -> str:
    """``hpccinf.txt``: HPL's input and no additional PTRANS runs."""
    return (
        hpl_dat(orders, block, grid)
        + """##### This line (no. 32) is ignored (it serves as a separator). ######
0            Number of additional problem sizes for PTRANS
1200         values of N
0            number of additional blocking sizes for PTRANS
40           values of NB
"""
    )


@dataclass(frozen=True)
class Program:
    """The environment names it (``extras: {hpl: xhpl | hpcc}``): plain HPL, or the HPL inside HPC Challenge."""

    executable: str
    input_file: str
    render: Callable[..., str]
    #: File with HPL's output, ``None`` for standard output.
    output_file: str | None


PROGRAMS = {
    "xhpl": Program("xhpl", "HPL.dat", hpl_dat, None),
    "hpcc": Program("hpcc", "hpccinf.txt", hpccinf_txt, "hpccoutf.txt"),
}


# Of a core and of a GPU, where the site states no peak, to choose an order: Gflop/s of an older one.
OLD_CORE_GFLOPS, OLD_GPU_GFLOPS = 16.0, 5000.0
# Of the peak, to choose an order and to say how long a case takes: not what a machine should reach.
ASSUMED_FRACTION = 0.6


class SolvesHpl(KappaCheck):
    """Matrices of N x N numbers, solved in blocks of ``block``.

    Peak is what the site states for a core (``extras: {peak_gflops_per_core: …}`` of the partition), or a GPU.
    Where they are solved says the subclass: ``input_file``, ``output_file`` (``None`` for standard output),
    ``input_text(orders, ranks)``, ``program_on(nodes)``, ``node_memory_bytes`` and ``node_peak_gflops``.
    """

    time_limit = "2h"
    block = SiteVariable(192, "whole number", "", "HPL's block size")

    def write_file(self, name, text):
        pathlib.Path(self.stagedir, name).write_text(text, encoding="utf-8")

    def solved(self, text, orders, ranks):
        """The results in ``text``: one for each of ``orders``, each with a small residual.

        :raises SanityError: a residual is too large, or HPL solved something else.
        """
        results = self.parsed(hpl.parse, text)
        for result in results:
            if not result.passed:
                raise SanityError(f"HPL residual {result.residual} FAILED: a node computes wrong results")
        found = [(result.n, result.p * result.q) for result in results]
        if found != [(order, ranks) for order in orders]:
            raise SanityError(f"HPL solved (N, ranks) = {found}, asked for N = {list(orders)} on {ranks} ranks")
        return results

    #: Keys of the partition's ``extras`` from which its peak follows.
    peak_keys = ("peak_gflops_per_core",)

    @property
    def unstated_peak(self):
        """The keys of the peak that the site does not give: no peak is better than a wrong one."""
        return [key for key in self.peak_keys if self.current_partition.extras.get(key) is None]

    @rfmb.run_after("sanity")
    def leave_out_the_fraction_of_no_peak(self):
        if self.unstated_peak:
            self.perf_variables.pop("fraction_of_peak", None)
            missing = " and ".join(self.unstated_peak)
            self.unmeasured = {"fraction_of_peak": f"partition {self.current_partition.name} has no {missing}"}

    def stated_extra(self, key):
        """Return what the site's settings have to give under ``key`` in the partition's ``extras``."""
        return self.stated(f"extras/{key}", self.current_partition.extras.get(key))


class SolvesOne(rfm.RegressionTestPlugin):
    """For checks that derive from ``SolvesHpl``: one matrix, of at most ``memory_fraction`` of the memory, and no
    larger than ``solve_s`` allows.

    HPL is near its best speed long before the matrix fills the memory: hours of all nodes tell no more of their health.
    Modes that ask for the whole memory (``acceptance``, ``full``) set ``solve_s`` to 0.
    """

    #: Share of the nodes' memory that the matrix fills, unless ``order`` gives N.
    memory_fraction = SiteVariable(0.8, "number", "", "largest share of the memory that the matrix fills")
    order = SiteVariable(0, "whole number", "", "order of the matrix, instead of that share")
    #: Seconds for one system at ``ASSUMED_FRACTION`` of the peak; 0: as long as it takes.
    solve_s = SiteVariable(
        120, "whole number", "s", "time to solve a system at 60 % of the peak, which limits the matrix; 0: no limit",
    )
    #: What the program takes besides, for the matrix and its start.
    besides_s = 30

    @rfmb.run_before("run")
    def write_input(self):
        self.expected_order = self.chosen_order()
        self.write_file(self.input_file, self.input_text([self.expected_order], self.num_tasks))
        if self.output_file:
            # HPCC appends to its output file.
            self.prerun_cmds = [*self.prerun_cmds, f"rm -f {self.output_file}"]

    @rfmb.sanity_function
    def residual_passed(self):
        text = self.output_text(self.output_file)
        (self.result,) = self.solved(text, [self.expected_order], self.num_tasks)
        self.read_besides(text)
        return True

    def read_besides(self, text):
        """Read what the program measures besides."""

    def chosen_order(self):
        if self.order:
            return self.order
        memory = self.num_nodes_used * self.node_memory_bytes
        in_memory = problem_size(memory, self.memory_fraction, self.block)
        if not self.solve_s:
            return in_memory
        return min(in_memory, order_within(self.solve_s, self.assumed_flops, self.block))

    @property
    def assumed_flops(self):
        peak = self.old_node_gflops if self.unstated_peak else self.node_peak_gflops
        return ASSUMED_FRACTION * self.num_nodes_used * peak * 1e9

    def expected_s(self):
        return self.besides_s + solving_s(self.chosen_order(), self.assumed_flops)


class HplCheck(SolvesHpl):
    """One rank on each core."""

    needs_partition = ["compute"]
    needs_environ = ["hpl"]
    env_vars = {"OPENBLAS_NUM_THREADS": 1, "OMP_NUM_THREADS": 1}

    @rfmb.run_after("setup")
    def choose_program(self):
        name = self.program_name()
        if name not in PROGRAMS:
            raise ReframeError(
                f"environment {self.current_environ.name}: extras/hpl must be one of {', '.join(PROGRAMS)}, "
                f"found {name!r}"
            )
        self.program = PROGRAMS[name]
        self.executable = self.program.executable

    def program_name(self):
        """The one of ``PROGRAMS`` that runs: what the environment says."""
        return self.current_environ.extras.get("hpl")

    @property
    def input_file(self):
        return self.program.input_file

    @property
    def output_file(self):
        return self.program.output_file

    def input_text(self, orders, ranks):
        return self.program.render(orders, self.block, process_grid(ranks))

    def program_on(self, nodes):
        """Return the program that the launcher starts on so many nodes: here the same on any number."""
        return self.executable

    @property
    def peak_gflops_per_core(self):
        return self.stated_extra("peak_gflops_per_core")

    @property
    def node_peak_gflops(self):
        return self.peak_gflops_per_core * self.num_tasks_per_node

    @property
    def old_node_gflops(self):
        return OLD_CORE_GFLOPS * self.num_tasks_per_node

    @property
    def node_memory_bytes(self):
        return self.stated_extra("memory_gib_per_node") * 2**30


# Fraction of peak is sustained speed over peak of the cores used. Where the program is HPC Challenge's, what it
# measures besides are metrics, too: a ring of messages in random order, PTRANS, FFT, RandomAccess, STREAM. Where an
# environment has both programs, ``Hpl`` runs plain HPL, and ``Hpcc`` the other for what only that measures.
_OF_RINGS = ("random_ring_latency", "random_ring_bandwidth")
_OF_HPCC = ("ptrans", "fft", "random_access", "star_stream_triad")


class SolvesOnce(ManyNodes, Scaled, SolvesOne, HplCheck):
    """One system of equations, and what HPC Challenge measures besides."""

    scale = rfmb.parameter(["one_node", "whole_partition"], loggable=True)

    def read_besides(self, text):
        if self.executable == "hpcc":
            self.others = self.parsed(hpl.hpcc, text)

    # Before metrics are declared.
    @rfmb.run_after("sanity")
    def leave_out_what_did_not_run(self):
        """HPC Challenge measures more than HPL, and its ring only with several ranks."""
        left_out = [] if self.executable == "hpcc" and self.num_tasks > 1 else _OF_RINGS
        for name in left_out if self.executable == "hpcc" else [*_OF_RINGS, *_OF_HPCC]:
            del self.perf_variables[name]

    metrics = {
        "random_ring_latency": ("us", lambda self: self.others.ring_latency_us),
        # Of each rank, while each sends to a random other one.
        "random_ring_bandwidth": ("GB/s", lambda self: self.others.ring_bandwidth_gb_s),
        # Transposing a matrix that all ranks share.
        "ptrans": ("GB/s", lambda self: self.others.ptrans_gb_s),
        "fft": ("Gflop/s", lambda self: self.others.fft_gflop_s),
        "random_access": ("GUP/s", lambda self: self.others.random_access_gup_s),
        # Of each rank, while all work.
        "star_stream_triad": ("GB/s", lambda self: self.others.star_stream_triad_gb_s),
    }


@rfm.simple_test
class Hpl(SolvesOnce):
    descr = "HPL: Gflop/s and fraction of peak"
    family = "compute/hpl"
    measured_s = 47
    hint = "compare nodes one by one; look at CPU frequency and governor, thermal throttling, BLAS and binding"

    metrics = {
        "gflops": ("Gflop/s", lambda self: self.result.gflops),
        "fraction_of_peak": ("", lambda self: self.result.gflops / (self.peak_gflops_per_core * self.num_tasks)),
    }


@rfm.simple_test
class Hpcc(SolvesOnce):
    descr = "HPC Challenge besides HPL: random ring, PTRANS, FFT, RandomAccess, STREAM"
    family = "compute/hpcc"
    needs_environ = ["hpcc"]
    estimated_s = 150
    # Sizes of all its parts follow from the matrix, and Hpl solves the large one.
    memory_fraction = 0.2
    solve_s = 30
    besides_s = 120
    hint = "compare with OsuAlltoall (ring, PTRANS, FFT) and with Stream (the others) on the same nodes"

    def program_name(self):
        return "hpcc"
