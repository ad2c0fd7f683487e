"""High-Performance Linpack: floating-point speed of dense LU, with its residual.

Fraction of peak is sustained speed over peak of the cores used.
"""

import reframe as rfm
import reframe.core.builtins as rfmb

from kappa.vocabulary.tunables import Tunable
from reframe_checks.base.scaled import Scaled
from reframe_checks.compute import hpl_input
from reframe_checks.compute.hpl_base import HplCheck


@rfm.simple_test
class Hpl(Scaled, HplCheck):
    descr = "HPL: Gflop/s and fraction of peak"
    family = "compute/hpl"
    measured_s = 47
    scale = rfmb.parameter(["one_node", "whole_partition"], loggable=True)
    hint = "compare nodes one by one; look at CPU frequency and governor, thermal throttling, BLAS and binding"

    #: Share of the nodes' memory that the matrix fills, unless ``order`` gives N.
    memory_fraction = rfmb.variable(float, value=0.8)
    order = rfmb.variable(int, value=0)
    tunable = {
        "memory_fraction": Tunable("number", "", "share of the memory that the matrix fills"),
        "order": Tunable("whole number", "", "of the matrix, instead of that share"),
        "block": Tunable("whole number", "", "HPL's block size"),
    }

    @rfmb.run_before("run")
    def write_input(self):
        self.expected_order = self.order or hpl_input.problem_size(
            self.num_nodes_used * self.node_memory_bytes, self.memory_fraction, self.block
        )
        self.write_file(self.input_file, self.input_text([self.expected_order], self.num_tasks))
        if self.output_file:
            # HPCC appends to its output file.
            self.prerun_cmds = [*self.prerun_cmds, f"rm -f {self.output_file}"]

    @rfmb.sanity_function
    def residual_passed(self):
        text = self.output_text(self.output_file)
        (self.result,) = self.solved(text, [self.expected_order], self.num_tasks)
        return True

    @rfmb.performance_function("Gflop/s")
    def gflops(self):
        return self.result.gflops

    @rfmb.performance_function("")
    def fraction_of_peak(self):
        return self.result.gflops / (self.peak_gflops_per_core * self.num_tasks)
