"""NCCL collectives over all GPUs of one node, of two nodes and of the partition; the data is checked (``-c 1``).

The bound applies to the bus bandwidth at the largest size: it is comparable with the hardware's for any number of
ranks.
"""

import reframe as rfm
import reframe.core.builtins as rfmb

from reframe_checks.base.case import SiteVariable
from reframe_checks.base.check import KappaCheck
from reframe_checks.base.many_nodes import ManyNodes
from reframe_checks.base.scaled import SEVERAL_GPUS, OnGpus, Scaled
from reframe_checks.parsers import gpu

MIB = 1 << 20


class NcclCheck(ManyNodes, OnGpus, Scaled, KappaCheck):
    family = "network/nccl"
    needs_partition = ["nvidia"]
    needs_environ = ["nccl-tests"]
    scale = rfmb.parameter(["one_node", "two_nodes", "whole_partition"], loggable=True)
    hint = "check the transports with NCCL_DEBUG=INFO: NVLink within a node, GPUDirect RDMA between nodes"
    failure_means = (
        "GPUs exchange data more slowly than the bound allows, or the data arrived wrong. If the case of one node "
        "fails, look at NVLink and PCIe; if only larger cases fail, look at GPUDirect RDMA and the adapters."
    )

    #: Sizes double from 1 MiB up to this, in MiB.
    largest_mib = SiteVariable(1024, "whole number", "MiB", "largest message")
    iterations = SiteVariable(20, "whole number", "", "timed iterations of each message size")
    warmup = SiteVariable(5, "whole number", "", "untimed iterations before them")

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
        # A single GPU has no peer.
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
            gpu.nccl_tests, self.output_text(), expect_sizes=self.sizes, expect_ranks=self.num_tasks
        )
        measured = {row.size_bytes: row.out_of_place.bus_gb_s for row in self.result.rows}
        gated = {self.result.rows[-1].size_bytes: "bus_bandwidth"}
        self.record_curve("bus_bandwidth", ("Message size", "B"), ("Bus bandwidth", "GB/s"), measured, gated)
        return True

    metrics = {"bus_bandwidth": ("GB/s", lambda self: self.result.rows[-1].out_of_place.bus_gb_s)}


@rfm.simple_test
class NcclAllReduce(NcclCheck):
    descr = "Measures the bus bandwidth of NCCL's all-reduce over GPUs; finds slow links between GPUs and between nodes"
    estimated_s = 60
    program = "all_reduce_perf"


@rfm.simple_test
class NcclCollective(NcclCheck):
    descr = (
        "Measures the bus bandwidth of the other NCCL collectives over GPUs; finds slow links between GPUs and between "
        "nodes"
    )
    estimated_s = 60
    modes = ("acceptance",)
    program = rfmb.parameter(
        ["all_gather_perf", "reduce_scatter_perf", "alltoall_perf", "sendrecv_perf"], loggable=True
    )
