"""nvbandwidth: copies between host and GPUs, and between the GPUs of a node, by their copy engines.

The slowest link is gated: one that trained at half its width does not hide behind the others.
"""

import reframe as rfm
import reframe.core.builtins as rfmb

from kappa.vocabulary.tunables import Tunable
from reframe_checks.base.check import KappaCheck
from reframe_checks.base.on_gpus import SEVERAL_GPUS, OnGpus
from reframe_checks.base.scaled import Scaled
from reframe_checks.parsers import nvbandwidth


class NvBandwidth(OnGpus, Scaled, KappaCheck):
    family = "compute/gpu-copy"
    needs_environ = ["nvbandwidth"]
    scale = rfmb.parameter(["one_node"], loggable=True)
    tags = {"smoke"}
    executable = "nvbandwidth"
    rank_for_each_gpu = False

    #: Size of each copied buffer in MiB.
    buffer_mib = rfmb.variable(int, value=512)
    tunable = {
        "buffer_mib": Tunable("whole number", "MiB", "each copied buffer"),
    }
    #: nvbandwidth's tests.
    copies: tuple[str, ...] = ()

    @rfmb.run_after("setup")
    def command_line(self):
        chosen = [part for name in self.copies for part in ("-t", name)]
        self.executable_opts = ["-b", str(self.buffer_mib), *chosen]

    @rfmb.sanity_function
    def read_matrices(self):
        self.measured = self.parsed(
            nvbandwidth.parse, self.output_text(), expect=self.copies, expect_gpus=self.gpus_per_node
        )
        for name, bandwidths in self.measured.items():
            self.record_heat_map(name, ("Row", ""), ("GPU", ""), ("Bandwidth", "GB/s"), bandwidths.values())
        return True

    def slowest(self, name):
        return min(self.measured[name].values().values())


@rfm.simple_test
class NvBandwidthHost(NvBandwidth):
    descr = "nvbandwidth: copies between host and each GPU"
    estimated_s = 60
    needs_partition = ["nvidia"]
    hint = "look at generation and width of the slow GPU's PCIe link (nvidia-smi -q, lspci -vv) and at NUMA binding"
    copies = ("host_to_device_memcpy_ce", "device_to_host_memcpy_ce")

    @rfmb.performance_function("GB/s")
    def host_to_device(self):
        return self.slowest("host_to_device_memcpy_ce")

    @rfmb.performance_function("GB/s")
    def device_to_host(self):
        return self.slowest("device_to_host_memcpy_ce")


@rfm.simple_test
class NvBandwidthPeers(NvBandwidth):
    descr = "nvbandwidth: copies between the GPUs of a node"
    estimated_s = 90
    needs_partition = ["nvidia", SEVERAL_GPUS]
    hint = "is an NVLink down (nvidia-smi nvlink --status), or peer access off (nvidia-smi topo -p2p r)?"
    copies = ("device_to_device_memcpy_read_ce", "device_to_device_memcpy_write_ce")

    @rfmb.performance_function("GB/s")
    def peer_read(self):
        return self.slowest("device_to_device_memcpy_read_ce")

    @rfmb.performance_function("GB/s")
    def peer_write(self):
        return self.slowest("device_to_device_memcpy_write_ce")
