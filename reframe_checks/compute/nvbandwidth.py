"""nvbandwidth: copies between host and GPUs, and between the GPUs of a node, by their copy engines.

The slowest link is gated: one that trained at half its width does not hide behind the others.
"""

import statistics

import reframe as rfm
import reframe.core.builtins as rfmb

from kappa.core.vocabulary.tunables import Tunable
from reframe_checks.base.check import KappaCheck
from reframe_checks.base.many_nodes import ManyNodes
from reframe_checks.base.on_gpus import SEVERAL_GPUS, OnGpus
from reframe_checks.base.scaled import Scaled
from reframe_checks.parsers import gpu_topology, nvbandwidth

TOPOLOGY_FILE = "gpu_topology.txt"


class NvBandwidth(ManyNodes, OnGpus, Scaled, KappaCheck):
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


@rfm.simple_test
class NvBandwidthTogether(NvBandwidth):
    descr = "nvbandwidth: copies between host and all GPUs at once, against each GPU alone"
    estimated_s = 120
    needs_partition = ["nvidia", SEVERAL_GPUS]
    tags = set()
    modes = ("acceptance",)
    relative = ["together_over_alone", "uniformity"]
    hint = (
        "GPUs that lose more than others share a PCIe switch or its uplink (`nvidia-smi topo -mp`), or the memory of "
        "one socket serves them all"
    )
    #: All at once -> each alone, in the same direction.
    pairs = {
        "host_to_all_memcpy_ce": "host_to_device_memcpy_ce",
        "all_to_host_memcpy_ce": "device_to_host_memcpy_ce",
    }
    copies = (*pairs.values(), *pairs)

    @rfmb.run_after("setup")
    def show_topology(self):
        self.prerun_cmds = [*self.prerun_cmds, f"nvidia-smi topo -mp > {TOPOLOGY_FILE}"]

    @rfmb.sanity_function
    def read_both(self):
        self.read_matrices().evaluate()
        groups = self.parsed(gpu_topology.parse, self.output_text(TOPOLOGY_FILE), expect_gpus=self.gpus_per_node).groups
        self.kept = {together: self.kept_of(together) for together in self.pairs}
        for together, kept in self.kept.items():
            self.record_curve(f"kept, {together}", ("GPU", ""), ("Together over alone", ""), kept, {})
        self.name_groups(groups)
        return True

    def kept_of(self, together):
        """GPU -> the share of its own bandwidth that it keeps while all others copy, too."""
        alone = self.measured[self.pairs[together]].values()
        return {gpu: value / alone[row, gpu] for (row, gpu), value in self.measured[together].values().items()}

    def name_groups(self, groups):
        """Into the hint: the GPUs behind the switch that lets them keep least."""
        shares = {group: min(kept[gpu] for kept in self.kept.values() for gpu in group) for group in groups}
        group = min(shares, key=shares.__getitem__)
        behind = "behind one PCIe switch" if len(group) > 1 else "alone on its PCIe link"
        self.hint = f"GPU {', '.join(map(str, group))}, {behind}, keeps {shares[group]:.0%}; {self.hint}"

    @rfmb.performance_function("")
    def together_over_alone(self):
        """Of the GPU and the direction that keep least."""
        return min(share for kept in self.kept.values() for share in kept.values())

    @rfmb.performance_function("")
    def uniformity(self):
        """The GPU that keeps least against the median GPU, in the direction where they differ most."""
        return min(min(kept.values()) / statistics.median(kept.values()) for kept in self.kept.values())

    @rfmb.performance_function("GB/s")
    def host_to_all(self):
        return self.measured["host_to_all_memcpy_ce"].sum_gb_s

    @rfmb.performance_function("GB/s")
    def all_to_host(self):
        return self.measured["all_to_host_memcpy_ce"].sum_gb_s
