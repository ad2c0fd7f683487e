"""High-Performance Linpack: floating-point speed of dense LU, with its residual.

The environment says which program it has (``extras: {hpl: xhpl | hpcc}``): plain HPL, or the HPL inside
HPC Challenge. Peak is what the site states for a core (``extras: {peak_gflops_per_core: …}`` of the
partition); fraction of peak is sustained speed over peak of the cores used.
"""

import pathlib
from dataclasses import dataclass

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import ReframeError, SanityError

from reframe_checks.base.check import KappaCheck
from reframe_checks.base.scaled import Scaled
from reframe_checks.compute import hpl_input
from reframe_checks.parsers import hpl


@dataclass(frozen=True)
class Program:
    executable: str
    input_file: str
    render: object
    #: File with HPL's output, ``None`` for standard output.
    output_file: str | None


PROGRAMS = {
    "xhpl": Program("xhpl", "HPL.dat", hpl_input.hpl_dat, None),
    "hpcc": Program("hpcc", "hpccinf.txt", hpl_input.hpccinf_txt, "hpccoutf.txt"),
}


@rfm.simple_test
class Hpl(Scaled, KappaCheck):
    descr = "HPL: Gflop/s and fraction of peak"
    family = "compute/hpl"
    needs_partition = ["compute"]
    needs_environ = ["hpl"]
    scale = rfmb.parameter(["one_node", "whole_partition"], loggable=True)
    time_limit = "2h"
    hint = "compare nodes one by one; look at CPU frequency and governor, thermal throttling, BLAS and binding"

    #: Share of the nodes' memory that the matrix fills, unless ``order`` gives N.
    memory_fraction = rfmb.variable(float, value=0.8)
    order = rfmb.variable(int, value=0)
    block = rfmb.variable(int, value=192)
    tunable = ["memory_fraction", "order", "block"]
    env_vars = {"OPENBLAS_NUM_THREADS": 1, "OMP_NUM_THREADS": 1}

    @rfmb.run_after("setup")
    def choose_program(self):
        name = self.current_environ.extras.get("hpl")
        if name not in PROGRAMS:
            raise ReframeError(
                f"environment {self.current_environ.name}: extras/hpl must be one of {', '.join(PROGRAMS)}, "
                f"found {name!r}"
            )
        self.program = PROGRAMS[name]
        self.executable = self.program.executable

    @rfmb.run_before("run")
    def write_input(self):
        order = self.order or hpl_input.problem_size(
            self.num_nodes_used * self.node_memory_bytes, self.memory_fraction, self.block
        )
        text = self.program.render(order, self.block, hpl_input.process_grid(self.num_tasks))
        self.expected_order = order
        pathlib.Path(self.stagedir, self.program.input_file).write_text(text, encoding="utf-8")
        if self.program.output_file:
            # HPCC appends to its output file.
            self.prerun_cmds = [*self.prerun_cmds, f"rm -f {self.program.output_file}"]
            self.keep_files = [*self.keep_files, self.program.output_file]

    @rfmb.sanity_function
    def residual_passed(self):
        results = self.parsed(hpl.parse, self.output_text(self.program.output_file))
        if len(results) != 1:
            raise SanityError(f"expected one HPL run, found {len(results)}")
        self.result = results[0]
        if not self.result.passed:
            raise SanityError(f"HPL residual {self.result.residual} FAILED: the node computes wrong results")
        if self.result.n != self.expected_order or self.result.p * self.result.q != self.num_tasks:
            raise SanityError(
                f"HPL ran N={self.result.n} on {self.result.p}x{self.result.q} ranks, "
                f"asked for N={self.expected_order} on {self.num_tasks}"
            )
        return True

    @rfmb.performance_function("Gflop/s")
    def gflops(self):
        return self.result.gflops

    @rfmb.performance_function("")
    def fraction_of_peak(self):
        return self.result.gflops / (self.peak_gflops_per_core * self.num_tasks)

    @property
    def peak_gflops_per_core(self):
        return self.stated("extras/peak_gflops_per_core", self.current_partition.extras.get("peak_gflops_per_core"))

    @property
    def node_memory_bytes(self):
        gib = self.stated("extras/memory_gib_per_node", self.current_partition.extras.get("memory_gib_per_node"))
        return gib * 2**30
