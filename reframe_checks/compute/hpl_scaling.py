"""Strong scaling of HPL over nodes, as the validation of the IBiSCo cluster defines it.

For problems of order N on P nodes:

- T(P, N), the execution time;
- S(P, N) = T(1, N) / T(P, N), the speed-up;
- SP(P, N), the sustained performance in Gflop/s;
- SPF(P, N) = SP(P, N) / PP(P), the fraction of peak. PP(P) is the peak of P nodes, with their GPUs: PP(P) =
  (4 NCores_GPU Clock_GPU + NCores_CPU Clock_CPU) P. The checks on GPUs (``hpl_nvidia``) use this definition. If HPL
  runs on cores only, PP(P) is the site's ``peak_gflops_per_core`` x cores of a node x P.

(Validation of the IBiSCo cluster, "Communication and computation: macro-benchmark II"; it runs HPL on GPUs.)

One job runs the same orders on one node, on two, on four and so on up to all of its nodes: all points of a curve come
from the same nodes, and S needs no result of another job. T and S are kept as curves over P for each N, SP and SPF as
curves over N for each P; those of the largest N on all nodes are the metrics.
"""

import reframe as rfm
import reframe.core.builtins as rfmb

from reframe_checks.base.case import SiteVariable
from reframe_checks.base.scaled import Scaled
from reframe_checks.compute.hpl import HplCheck, doublings, problem_size
from reframe_checks.compute.hpl_nvidia import HplOnGpus

NODES, ORDER = ("Nodes", ""), ("Order N", "")


class OverNodes(Scaled):
    """Solve the same orders on more and more nodes; for checks that derive from ``SolvesHpl``."""

    scale = rfmb.parameter(["two_nodes", "whole_partition"], loggable=True)
    #: Shares of one node's memory that the matrices fill, unless ``orders`` gives each N.
    memory_fractions = SiteVariable(
        [0.05, 0.2, 0.8], "numbers", "", "shares of one node's memory that the matrices fill",
    )
    orders = SiteVariable([], "whole numbers", "", "orders of the matrices, instead of these shares")

    def command_lines(self):
        """Return a line for each number of nodes, fewer nodes first; without `&&`, after which bash traps no error."""
        self.sizes = sorted(self.orders or self.sizes_in_memory())
        *fewer, most = doublings(self.num_nodes_used)
        for nodes in (*fewer, most):
            self.write_file(f"{nodes}-nodes.in", self.input_text(self.sizes, self.ranks_on(nodes)))
        steps = ["; ".join([*self.prepare(nodes), *self.run_step(nodes)]) for nodes in fewer]
        return [*steps, "; ".join(self.prepare(most)), *super().command_lines()]

    def sizes_in_memory(self):
        return [problem_size(self.node_memory_bytes, share, self.block) for share in self.memory_fractions]

    def ranks_on(self, nodes):
        return nodes * self.num_tasks_per_node

    def prepare(self, nodes):
        # HPCC appends to its output file.
        stale = [f"rm -f {self.output_file}"] if self.output_file else []
        return [*stale, f"cp {nodes}-nodes.in {self.input_file}"]

    def run_step(self, nodes):
        step = f"{self.launch_on(self.ranks_on(nodes))} {self.program_on(nodes)}"
        if self.output_file:
            return [step, f"mv {self.output_file} {nodes}-nodes.out"]
        return [f"{step} > {nodes}-nodes.out"]

    @rfmb.sanity_function
    def read_results(self):
        *fewer, self.most = doublings(self.num_nodes_used)
        outputs = {nodes: f"{nodes}-nodes.out" for nodes in fewer} | {self.most: self.output_file}
        self.results = {
            (nodes, result.n): result
            for nodes, name in outputs.items()
            for result in self.solved(self.output_text(name), self.sizes, self.ranks_on(nodes))
        }
        self.record_curves()
        return True

    def record_curves(self):
        """Record T and S over P for each N; SP and SPF over N for each P."""
        all_nodes = doublings(self.most)
        for n in self.sizes:
            at_end = {self.most: "time"} if n == self.sizes[-1] else {}
            times = {nodes: self.results[nodes, n].time_s for nodes in all_nodes}
            speedups = {nodes: self.speedup_of(nodes, n) for nodes in all_nodes}
            self.record_curve(f"T(P, {n})", NODES, (f"Execution time for N = {n}", "s"), times, at_end)
            self.record_curve(f"S(P, {n})", NODES, (f"Speed-up for N = {n}", ""), speedups, {})
        for nodes in all_nodes:
            rates = {n: self.results[nodes, n].gflops for n in self.sizes}
            where = f"on {nodes} node{'s' * (nodes > 1)}"
            self.record_curve(f"SP({nodes}, N)", ORDER, (f"Sustained performance {where}", "Gflop/s"), rates, {})
            if not self.unstated_peak:
                fractions = {n: self.fraction_of_peak_of(nodes, n) for n in self.sizes}
                self.record_curve(f"SPF({nodes}, N)", ORDER, (f"Fraction of peak {where}", ""), fractions, {})

    def speedup_of(self, nodes, n):
        return self.results[1, n].time_s / self.results[nodes, n].time_s

    def fraction_of_peak_of(self, nodes, n):
        return self.results[nodes, n].gflops / (self.node_peak_gflops * nodes)

    metrics = {
        "time": ("s", lambda self: self.results[self.most, self.sizes[-1]].time_s),
        "speedup": ("", lambda self: self.speedup_of(self.most, self.sizes[-1])),
        "gflops": ("Gflop/s", lambda self: self.results[self.most, self.sizes[-1]].gflops),
        "fraction_of_peak": ("", lambda self: self.fraction_of_peak_of(self.most, self.sizes[-1])),
    }


@rfm.simple_test
class HplScaling(OverNodes, HplCheck):
    descr = "Measures time, speed-up and fraction of peak of HPL over nodes; finds a slow network or MPI transport"
    family = "compute/hpl-scaling"
    measured_s = 16
    modes = ("acceptance",)
    informational = ["time"]
    time_limit = "8h"
    hint = "compare with Hpl on each node: if single nodes are fast, check the network and the MPI transport"
    failure_means = (
        "HPL on all nodes of the job is too slow, gains too little from more nodes, or has a failed residual. If Hpl "
        "is as fast as usual on each node, the network is at fault."
    )


@rfm.simple_test
class HplNvidiaScaling(OverNodes, HplOnGpus):
    descr = (
        "Measures time, speed-up and fraction of peak of HPL on GPUs over nodes; finds a slow network or GPUDirect RDMA"
    )
    family = "compute/hpl-gpu-scaling"
    estimated_s = 1800
    modes = ("acceptance",)
    informational = ["time"]
    time_limit = "8h"
    hint = "compare with HplNvidia on each node: if single nodes are fast, check the network and GPUDirect RDMA"
    failure_means = (
        "HPL on the GPUs of all nodes of the job is too slow, gains too little from more nodes, or has a failed "
        "residual. If HplNvidia is as fast as usual on each node, the network is at fault."
    )
