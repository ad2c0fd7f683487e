"""What the HPL checks share: the program, its input and output files, and what the site states of its nodes.

The environment says which program it has (``extras: {hpl: xhpl | hpcc}``): plain HPL, or the HPL inside
HPC Challenge. Peak is what the site states for a core (``extras: {peak_gflops_per_core: …}`` of the partition).
"""

import pathlib
from collections.abc import Callable
from dataclasses import dataclass

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import ReframeError, SanityError

from kappa.core.vocabulary.tunables import Tunable
from reframe_checks.base.check import KappaCheck
from reframe_checks.compute import hpl_input
from reframe_checks.parsers import hpl


@dataclass(frozen=True)
class Program:
    executable: str
    input_file: str
    render: Callable[..., str]
    #: File with HPL's output, ``None`` for standard output.
    output_file: str | None


PROGRAMS = {
    "xhpl": Program("xhpl", "HPL.dat", hpl_input.hpl_dat, None),
    "hpcc": Program("hpcc", "hpccinf.txt", hpl_input.hpccinf_txt, "hpccoutf.txt"),
}


# Of a core and of a GPU, where the site states no peak, to choose an order: Gflop/s of an older one.
OLD_CORE_GFLOPS, OLD_GPU_GFLOPS = 16.0, 5000.0
# Of the peak, to choose an order and to say how long a case takes: not what a machine should reach.
ASSUMED_FRACTION = 0.6
ONE_TUNABLE = {
    "memory_fraction": Tunable("number", "", "share of the memory that the matrix fills, at most"),
    "order": Tunable("whole number", "", "of the matrix, instead of that share"),
    "solve_s": Tunable("whole number", "s", "for a system at 60 % of the peak, which bounds the matrix; 0: no bound"),
    "block": Tunable("whole number", "", "HPL's block size"),
}


class SolvesHpl(KappaCheck):
    """Matrices of N x N numbers, solved in blocks of ``block``.

    Where they are solved says the subclass: ``input_file``, ``output_file`` (``None`` for standard output),
    ``input_text(orders, ranks)``, ``program_on(nodes)``, ``node_memory_bytes`` and ``node_peak_gflops``.
    """

    time_limit = "2h"
    block = rfmb.variable(int, value=192)

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
        """What the site's settings have to give under ``key`` in the partition's ``extras``."""
        return self.stated(f"extras/{key}", self.current_partition.extras.get(key))


class SolvesOne(rfm.RegressionTestPlugin):
    """For checks that derive from ``SolvesHpl``: one matrix, of at most ``memory_fraction`` of the memory, and no
    larger than ``solve_s`` allows.

    HPL is near its best speed long before the matrix fills the memory: hours of all nodes tell no more of their health.
    Modes that ask for the whole memory (``acceptance``, ``full``) set ``solve_s`` to 0.
    """

    #: Share of the nodes' memory that the matrix fills, unless ``order`` gives N.
    memory_fraction = rfmb.variable(float, value=0.8)
    order = rfmb.variable(int, value=0)
    #: Seconds for one system at ``ASSUMED_FRACTION`` of the peak; 0: as long as it takes.
    solve_s = rfmb.variable(int, value=120)
    #: What the program takes besides, for the matrix and its start.
    besides_s = 30

    def chosen_order(self):
        if self.order:
            return self.order
        memory = self.num_nodes_used * self.node_memory_bytes
        in_memory = hpl_input.problem_size(memory, self.memory_fraction, self.block)
        if not self.solve_s:
            return in_memory
        return min(in_memory, hpl_input.order_within(self.solve_s, self.assumed_flops, self.block))

    @property
    def assumed_flops(self):
        peak = self.old_node_gflops if self.unstated_peak else self.node_peak_gflops
        return ASSUMED_FRACTION * self.num_nodes_used * peak * 1e9

    def expected_s(self):
        return self.besides_s + hpl_input.solving_s(self.chosen_order(), self.assumed_flops)


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
        return self.program.render(orders, self.block, hpl_input.process_grid(ranks))

    def program_on(self, nodes):
        """What the launcher starts on so many nodes: here the same on any number."""
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
