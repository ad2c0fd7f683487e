"""NCCL collectives over all GPUs of one node, of two and of the partition; the data is checked (``-c 1``).

Bus bandwidth, which compares with the hardware's whatever the number of ranks, is gated at the largest size.
"""

import reframe as rfm
import reframe.core.builtins as rfmb

from kappa.core.vocabulary.tunables import Tunable
from reframe_checks.base.check import KappaCheck
from reframe_checks.base.many_nodes import ManyNodes
from reframe_checks.base.on_gpus import SEVERAL_GPUS, OnGpus
from reframe_checks.base.scaled import Scaled
from reframe_checks.parsers import nccl_tests

MIB = 1 << 20


class NcclCheck(ManyNodes, OnGpus, Scaled, KappaCheck):
    family = "network/nccl"
    needs_partition = ["nvidia"]
    needs_environ = ["nccl-tests"]
    scale = rfmb.parameter(["one_node", "two_nodes", "whole_partition"], loggable=True)
    hint = "NCCL_DEBUG=INFO tells the transports: NVLink in a node, GPUDirect RDMA between nodes"

    #: Sizes double from 1 MiB up to this, in MiB.
    largest_mib = rfmb.variable(int, value=1024)
    iterations = rfmb.variable(int, value=20)
    warmup = rfmb.variable(int, value=5)
    tunable = {
        "largest_mib": Tunable("whole number", "MiB", "the largest message"),
        "iterations": Tunable("whole number", "", "timed, of each message size"),
        "warmup": Tunable("whole number", "", "untimed ones before them"),
    }

    def chosen_features(self):
        return [*super().chosen_features(), *self.several_gpus(self.scale)]

    @classmethod
    def alternative_features(cls):
        scales = cls.raw_params["scale"].values
        return [
            [*features, *cls.several_gpus(scale)]
            for features, scale in zip(super().alternative_features(), scales, strict=True)
        ]

    @staticmethod
    def several_gpus(scale):
        # A GPU alone has nobody to talk to.
        return [SEVERAL_GPUS] if scale == "one_node" else []

    @property
    def sizes(self):
        return [MIB << power for power in range(self.largest_mib.bit_length())]

    @rfmb.run_after("setup")
    def command_line(self):
        self.executable = self.program
        self.executable_opts = [
            "-b", str(self.sizes[0]), "-e", str(self.sizes[-1]), "-f", "2", "-g", "1", "-c", "1",
            "-n", str(self.iterations), "-w", str(self.warmup),
        ]  # fmt: skip

    @rfmb.sanity_function
    def read_rows(self):
        self.result = self.parsed(
            nccl_tests.parse, self.output_text(), expect_sizes=self.sizes, expect_ranks=self.num_tasks
        )
        measured = {row.size_bytes: row.out_of_place.bus_gb_s for row in self.result.rows}
        gated = {self.result.rows[-1].size_bytes: "bus_bandwidth"}
        self.record_curve("bus_bandwidth", ("Message size", "B"), ("Bus bandwidth", "GB/s"), measured, gated)
        return True

    @rfmb.performance_function("GB/s")
    def bus_bandwidth(self):
        return self.result.rows[-1].out_of_place.bus_gb_s


@rfm.simple_test
class NcclAllReduce(NcclCheck):
    descr = "NCCL all-reduce over GPUs"
    estimated_s = 60
    program = "all_reduce_perf"


@rfm.simple_test
class NcclCollective(NcclCheck):
    descr = "NCCL collectives over GPUs"
    estimated_s = 60
    modes = ("acceptance",)
    program = rfmb.parameter(
        ["all_gather_perf", "reduce_scatter_perf", "alltoall_perf", "sendrecv_perf"], loggable=True
    )
