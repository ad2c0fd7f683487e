"""HPL and HPC Challenge: input files, the common parts of all HPL checks, and the checks of one system."""

import math
import pathlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import ReframeError, SanityError

from reframe_checks.base.case import SiteVariable
from reframe_checks.base.check import KappaCheck
from reframe_checks.base.many_nodes import ManyNodes
from reframe_checks.base.scaled import Scaled
from reframe_checks.parsers import hpl

# Format of the input: the file ``TUNING`` of HPL 2.3; HPCC adds lines for PTRANS (its ``README``).


def process_grid(ranks: int) -> tuple[int, int]:
    """Return P x Q, as square as possible with P <= Q, as HPL's FAQ advises."""
    rows = max(divisor for divisor in range(1, math.isqrt(ranks) + 1) if ranks % divisor == 0)
    return rows, ranks // rows


def problem_size(memory_bytes: float, fraction: float, block: int) -> int:
    """Return the largest order N, a multiple of ``block``, whose 8-byte matrix fills ``fraction`` of the memory."""
    return max(int(math.sqrt(fraction * memory_bytes / 8)) // block, 1) * block


def order_within(seconds: float, flops: float, block: int) -> int:
    """Return the largest order N, a multiple of ``block``, solved in ``seconds`` at ``flops`` per second (2/3 N^3)."""
    return max(int((1.5 * seconds * flops) ** (1 / 3)) // block, 1) * block


def solving_s(order: int, flops: float) -> float:
    """Return the seconds to solve a system of this order at ``flops`` per second."""
    return order**3 / (1.5 * flops)


def doublings(nodes: int) -> list[int]:
    """Return 1, 2, 4, … and ``nodes`` itself: the numbers of nodes of a scaling series."""
    return [*(1 << power for power in range(nodes.bit_length()) if 1 << power < nodes), nodes]


def hpl_dat(orders: Sequence[int], block: int, grid: tuple[int, int]) -> str:
    """Return ``HPL.dat``: systems of these orders one after the other, one block size, one grid, output to stdout."""
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
    """Return ``hpccinf.txt``: HPL's input without additional PTRANS runs."""
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
    """Plain HPL, or the HPL inside HPC Challenge; the environment names it (``extras: {hpl: xhpl | hpcc}``)."""

    executable: str
    input_file: str
    render: Callable[..., str]
    #: File with HPL's output, ``None`` for standard output.
    output_file: str | None


PROGRAMS = {
    "xhpl": Program("xhpl", "HPL.dat", hpl_dat, None),
    "hpcc": Program("hpcc", "hpccinf.txt", hpccinf_txt, "hpccoutf.txt"),
}


# Gflop/s of an older core and GPU, to choose an order if the site states no peak.
OLD_CORE_GFLOPS, OLD_GPU_GFLOPS = 16.0, 5000.0
# Share of the peak, to choose an order and to estimate the time of a case; not a target for a machine.
ASSUMED_FRACTION = 0.6


class SolvesHpl(KappaCheck):
    """Solve matrices of N x N numbers in blocks of ``block``.

    The site states the peak of a core (``extras: {peak_gflops_per_core: …}`` of the partition), or of a GPU. Subclasses
    define ``input_file``, ``output_file`` (``None`` for standard output), ``input_text(orders, ranks)``,
    ``program_on(nodes)``, ``node_memory_bytes`` and ``node_peak_gflops``.
    """

    time_limit = "2h"
    block = SiteVariable(192, "whole number", "", "HPL's block size")

    def write_file(self, name, text):
        pathlib.Path(self.stagedir, name).write_text(text, encoding="utf-8")

    def solved(self, text, orders, ranks):
        """Return the results in ``text``: one for each of ``orders``, each with a small residual.

        :raises SanityError: a residual is too large, or HPL solved other systems.
        """
        results = self.parsed(hpl.parse, text)
        for result in results:
            if not result.passed:
                raise SanityError(f"HPL residual {result.residual} FAILED: a node computes wrong results; run BitSweep")
        found = [(result.n, result.p * result.q) for result in results]
        if found != [(order, ranks) for order in orders]:
            raise SanityError(f"HPL solved (N, ranks) = {found}, expected N = {list(orders)} on {ranks} ranks")
        return results

    #: Keys of the partition's ``extras`` that give its peak.
    peak_keys = ("peak_gflops_per_core",)

    @property
    def unstated_peak(self):
        """The keys of the peak that the site does not state; then the check uses no peak at all."""
        return [key for key in self.peak_keys if self.current_partition.extras.get(key) is None]

    @rfmb.run_after("sanity")
    def leave_out_the_fraction_of_no_peak(self):
        if self.unstated_peak:
            self.perf_variables.pop("fraction_of_peak", None)
            missing = " and ".join(self.unstated_peak)
            self.unmeasured = {"fraction_of_peak": f"partition {self.current_partition.name} has no {missing}"}

    def stated_extra(self, key):
        """Return the value that the site must state under ``key`` in the partition's ``extras``.

        :raises ReframeError: the site does not state it.
        """
        return self.stated(f"extras/{key}", self.current_partition.extras.get(key))


class SolvesOne(rfm.RegressionTestPlugin):
    """A plug-in for checks that derive from ``SolvesHpl``: solve one matrix.

    The matrix takes at most ``memory_fraction`` of the memory, and a time of about ``solve_s``. HPL is near its best
    speed long before the matrix fills the memory, so a run of hours shows no more faults. Modes that ask for the whole
    memory (``acceptance``, ``full``) set ``solve_s`` to 0.
    """

    #: Share of the nodes' memory that the matrix fills, unless ``order`` gives N.
    memory_fraction = SiteVariable(0.8, "number", "", "largest share of the memory that the matrix fills")
    order = SiteVariable(0, "whole number", "", "order of the matrix, instead of that share")
    #: Time for one system at ``ASSUMED_FRACTION`` of the peak, s; 0: no limit.
    solve_s = SiteVariable(
        120, "whole number", "s", "time to solve a system at 60 % of the peak, which limits the matrix; 0: no limit",
    )
    #: Further time of the program, for the matrix and its start, s.
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
        """Read further figures of the program."""

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
    """HPL with one rank on each core."""

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
        self.executable = self.program.executable

    @property
    def program(self):
        return PROGRAMS[self.program_name()]

    def program_name(self):
        """Return the key in ``PROGRAMS`` of the program that runs: by default from the environment."""
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
        """Return the program that the launcher starts on this number of nodes; here the same for all."""
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


# Fraction of peak is the sustained speed divided by the peak of the used cores. If the program is HPC Challenge, its
# other figures are metrics, too: random ring, PTRANS, FFT, RandomAccess, STREAM. If an environment has both programs,
# ``Hpl`` runs plain HPL, and ``Hpcc`` runs HPC Challenge for its other figures.
_OF_RINGS = ("random_ring_latency", "random_ring_bandwidth")
_OF_HPCC = ("ptrans", "fft", "random_access", "star_stream_triad")


class SolvesOnce(ManyNodes, Scaled, SolvesOne, HplCheck):
    """Solve one system of equations, and read the other figures of HPC Challenge."""

    scale = rfmb.parameter(["one_node", "whole_partition"], loggable=True)

    def read_besides(self, text):
        if self.executable == "hpcc":
            self.others = self.parsed(hpl.hpcc, text)

    # Before metrics are declared.
    @rfmb.run_after("sanity")
    def leave_out_what_did_not_run(self):
        """Leave out metrics without a figure: only HPC Challenge has them, and its ring needs several ranks."""
        left_out = [] if self.executable == "hpcc" and self.num_tasks > 1 else _OF_RINGS
        for name in left_out if self.executable == "hpcc" else [*_OF_RINGS, *_OF_HPCC]:
            del self.perf_variables[name]

    metrics = {
        "random_ring_latency": ("us", lambda self: self.others.ring_latency_us),
        # Per rank, while each sends to another random rank.
        "random_ring_bandwidth": ("GB/s", lambda self: self.others.ring_bandwidth_gb_s),
        # Transposition of a matrix that is distributed over all ranks.
        "ptrans": ("GB/s", lambda self: self.others.ptrans_gb_s),
        "fft": ("Gflop/s", lambda self: self.others.fft_gflop_s),
        "random_access": ("GUP/s", lambda self: self.others.random_access_gup_s),
        # Per rank, while all ranks work.
        "star_stream_triad": ("GB/s", lambda self: self.others.star_stream_triad_gb_s),
    }


@rfm.simple_test
class Hpl(SolvesOnce):
    """HPL solves one dense system of equations, with a rank on each core, on one node and on all."""

    descr = "Measures Gflop/s and fraction of peak of HPL; finds throttled or slow nodes, a slow BLAS and wrong results"
    family = "compute/hpl"
    measured_s = 47
    hint = "compare single nodes; check CPU frequency and governor, thermal throttling, BLAS and binding"
    failure_means = (
        "HPL is slower than the bound allows, or its residual failed. A failed residual means that a node computes "
        "wrong results: run BitSweep on these nodes. If only the whole partition is slow, look at the network."
    )

    metrics = {
        "gflops": ("Gflop/s", lambda self: self.result.gflops),
        "fraction_of_peak": ("", lambda self: self.result.gflops / (self.peak_gflops_per_core * self.num_tasks)),
    }


@rfm.simple_test
class Hpcc(SolvesOnce):
    """HPC Challenge on a smaller matrix, with a rank on each core, on one node and on all."""

    descr = (
        "Measures random ring, PTRANS, FFT, RandomAccess and STREAM of HPC Challenge; finds slow memory and low "
        "network bandwidth"
    )
    family = "compute/hpcc"
    needs_environ = ["hpcc"]
    estimated_s = 150
    # The matrix sets the sizes of all parts; Hpl solves the large matrix.
    memory_fraction = 0.2
    solve_s = 30
    besides_s = 120
    hint = "compare with OsuAlltoall (ring, PTRANS, FFT) and with Stream (RandomAccess, STREAM) on the same nodes"
    failure_means = (
        "A part of HPC Challenge is slower than the bound allows, or HPL's residual failed. The ring, PTRANS and FFT "
        "follow the network, STREAM and RandomAccess the memory; for a failed residual, run BitSweep."
    )

    def program_name(self):
        return "hpcc"
