"""High-Performance Linpack: floating-point speed of dense LU, with its residual.

Fraction of peak is sustained speed over peak of the cores used. Where the program is HPC Challenge's, what it measures
besides are metrics, too: a ring of messages in random order, PTRANS, FFT, RandomAccess, STREAM. Where an environment
has both programs, ``Hpl`` runs plain HPL, and ``Hpcc`` the other for what only that measures.
"""

import reframe as rfm
import reframe.core.builtins as rfmb

from reframe_checks.base.many_nodes import ManyNodes
from reframe_checks.base.scaled import Scaled
from reframe_checks.compute.hpl_base import ONE_TUNABLE, HplCheck, SolvesOne
from reframe_checks.parsers import hpcc

_OF_RINGS = ("random_ring_latency", "random_ring_bandwidth")
_OF_HPCC = ("ptrans", "fft", "random_access", "star_stream_triad")


class SolvesOnce(ManyNodes, Scaled, SolvesOne, HplCheck):
    """One system of equations, and what HPC Challenge measures besides."""

    scale = rfmb.parameter(["one_node", "whole_partition"], loggable=True)

    tunable = ONE_TUNABLE

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
        if self.executable == "hpcc":
            self.others = self.parsed(hpcc.parse, text)
        return True

    # Before metrics are declared.
    @rfmb.run_after("sanity")
    def leave_out_what_did_not_run(self):
        """HPC Challenge measures more than HPL, and its ring only with several ranks."""
        left_out = [] if self.executable == "hpcc" and self.num_tasks > 1 else _OF_RINGS
        for name in left_out if self.executable == "hpcc" else [*_OF_RINGS, *_OF_HPCC]:
            del self.perf_variables[name]

    @rfmb.performance_function("us")
    def random_ring_latency(self):
        return self.others.ring_latency_us

    @rfmb.performance_function("GB/s")
    def random_ring_bandwidth(self):
        """Of each rank, while each sends to a random other one."""
        return self.others.ring_bandwidth_gb_s

    @rfmb.performance_function("GB/s")
    def ptrans(self):
        """Transposing a matrix that all ranks share."""
        return self.others.ptrans_gb_s

    @rfmb.performance_function("Gflop/s")
    def fft(self):
        return self.others.fft_gflop_s

    @rfmb.performance_function("GUP/s")
    def random_access(self):
        return self.others.random_access_gup_s

    @rfmb.performance_function("GB/s")
    def star_stream_triad(self):
        """Of each rank, while all work."""
        return self.others.star_stream_triad_gb_s


@rfm.simple_test
class Hpl(SolvesOnce):
    descr = "HPL: Gflop/s and fraction of peak"
    family = "compute/hpl"
    measured_s = 47
    hint = "compare nodes one by one; look at CPU frequency and governor, thermal throttling, BLAS and binding"

    @rfmb.performance_function("Gflop/s")
    def gflops(self):
        return self.result.gflops

    @rfmb.performance_function("")
    def fraction_of_peak(self):
        return self.result.gflops / (self.peak_gflops_per_core * self.num_tasks)


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
