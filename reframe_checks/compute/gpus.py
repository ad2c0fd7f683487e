"""GPUs of a node: bandwidth of their memory, and of copies to and from it."""

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import SanityError

from reframe_checks.base.case import SiteVariable
from reframe_checks.base.check import KappaCheck
from reframe_checks.base.many_nodes import ManyNodes
from reframe_checks.base.scaled import SEVERAL_GPUS, OnGpus, Scaled
from reframe_checks.localise.finding import slowest_share
from reframe_checks.parsers import gpu, memory_bandwidth


@rfm.simple_test
class BabelStream(ManyNodes, OnGpus, Scaled, KappaCheck):
    """Measure the memory bandwidth of every GPU of a node with BabelStream (Deakin et al., IJCSE 17(3), 2018).

    The GPUs are measured one after the other. The arrays must have at least four times the size of the last-level
    cache.
    """

    descr = "Measures the memory bandwidth of each GPU with BabelStream; finds GPUs with ECC errors or lowered clocks"
    family = "compute/gpu-memory"
    estimated_s = 60
    needs_partition = ["nvidia"]
    needs_environ = ["babelstream"]
    scale = rfmb.parameter(["one_node"], loggable=True)
    tags = {"smoke"}
    informational = ["spread"]
    hint = "check ECC errors, retired pages and lowered clocks of the slowest GPU: nvidia-smi -q"
    failure_means = (
        "The memory bandwidth of the slowest GPU is below the bound, or a GPU computed wrong results. Take a GPU with "
        "wrong results out of service; for a slow one, look at its errors, clocks and temperature."
    )
    executable = "cuda-stream"
    rank_for_each_gpu = False

    #: Numbers of 8 bytes in each of the three arrays; the program requires a multiple of 1024.
    elements = SiteVariable(1 << 26, "whole number", "", "elements of 8 bytes in each array, a multiple of 1024")

    def command_lines(self):
        return [
            self.launched(self.executable, "--device", str(gpu), "--arraysize", str(self.elements))
            for gpu in range(self.gpus_per_node)
        ]

    @rfmb.sanity_function
    def read_bandwidths(self):
        complaint = memory_bandwidth.failed_validation(self.output_text(str(self.stderr)))
        if complaint:
            raise SanityError(f"a GPU computes wrong results: {complaint}")
        results = self.parsed(memory_bandwidth.babelstream, self.output_text(), expect_runs=self.gpus_per_node)
        self.triads_mb_s = [result.triad.rate_mb_s for result in results]
        slowest = self.triads_mb_s.index(min(self.triads_mb_s))
        self.hint = f"GPU {slowest} ({results[slowest].device}) is the slowest; {self.hint}"
        return True

    metrics = {
        "slowest_gpu_triad": ("MB/s", lambda self: min(self.triads_mb_s)),
        # Difference of the fastest and the slowest GPU, as a share of the fastest.
        "spread": ("", lambda self: 1 - min(self.triads_mb_s) / max(self.triads_mb_s)),
    }


TOPOLOGY_FILE = "gpu_topology.txt"


class NvBandwidth(ManyNodes, OnGpus, Scaled, KappaCheck):
    """Measure copies between host and GPUs, and between the GPUs of a node, by copy engines, with nvbandwidth.

    The bound applies to the slowest link, so a link with half its width is found.
    """

    family = "compute/gpu-copy"
    needs_environ = ["nvbandwidth"]
    scale = rfmb.parameter(["one_node"], loggable=True)
    tags = {"smoke"}
    executable = "nvbandwidth"
    rank_for_each_gpu = False

    buffer_mib = SiteVariable(512, "whole number", "MiB", "size of each copied buffer")
    #: nvbandwidth's tests.
    copies: tuple[str, ...] = ()

    @rfmb.run_after("setup")
    def command_line(self):
        chosen = [part for name in self.copies for part in ("-t", name)]
        self.executable_opts = ["-b", str(self.buffer_mib), *chosen]

    @rfmb.sanity_function
    def read_matrices(self):
        self.measured = self.parsed(
            gpu.nvbandwidth, self.output_text(), expect=self.copies, expect_gpus=self.gpus_per_node
        )
        for name, bandwidths in self.measured.items():
            self.record_heat_map(name, ("Row", ""), ("GPU", ""), ("Bandwidth", "GB/s"), bandwidths.values())
        return True

    def slowest(self, name):
        return min(self.measured[name].values().values())


@rfm.simple_test
class NvBandwidthHost(NvBandwidth):
    descr = "Measures copies between the host and each GPU with nvbandwidth; finds PCIe links with low speed or width"
    estimated_s = 60
    needs_partition = ["nvidia"]
    hint = "check generation and width of the slow GPU's PCIe link (nvidia-smi -q, lspci -vv), and NUMA binding"
    failure_means = (
        "Copies between the host and a GPU are too slow: often the GPU's PCIe link has fewer lanes or a lower "
        "generation than it should. If the link stays so after a reboot, reseat the GPU."
    )
    copies = ("host_to_device_memcpy_ce", "device_to_host_memcpy_ce")

    metrics = {
        "host_to_device": ("GB/s", lambda self: self.slowest("host_to_device_memcpy_ce")),
        "device_to_host": ("GB/s", lambda self: self.slowest("device_to_host_memcpy_ce")),
    }


@rfm.simple_test
class NvBandwidthPeers(NvBandwidth):
    descr = (
        "Measures copies between the GPUs of a node with nvbandwidth; finds NVLinks that are down and no peer access"
    )
    estimated_s = 90
    needs_partition = ["nvidia", SEVERAL_GPUS]
    hint = "check whether an NVLink is down (nvidia-smi nvlink --status) or peer access off (nvidia-smi topo -p2p r)"
    failure_means = (
        "Copies between two GPUs of a node are too slow: an NVLink is down, or copies take a detour through the host. "
        "The heat map shows which pair it is."
    )
    copies = ("device_to_device_memcpy_read_ce", "device_to_device_memcpy_write_ce")

    metrics = {
        "peer_read": ("GB/s", lambda self: self.slowest("device_to_device_memcpy_read_ce")),
        "peer_write": ("GB/s", lambda self: self.slowest("device_to_device_memcpy_write_ce")),
    }


@rfm.simple_test
class NvBandwidthTogether(NvBandwidth):
    descr = (
        "Compares copies between host and all GPUs together with each GPU alone; finds GPUs that share a PCIe switch "
        "or memory"
    )
    estimated_s = 120
    needs_partition = ["nvidia", SEVERAL_GPUS]
    tags = set()
    modes = ("acceptance",)
    relative = ["together_over_alone", "uniformity"]
    hint = (
        "GPUs that lose more than others share a PCIe switch or its uplink (`nvidia-smi topo -mp`), or all use the "
        "memory of one socket"
    )
    failure_means = (
        "A GPU keeps too little of its bandwidth when all GPUs copy at once. If the GPU is slow in NvBandwidthHost "
        "too, it has a fault of its own; otherwise what the GPUs share is too narrow."
    )
    #: Test of all GPUs together -> test of each alone, in the same direction.
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
        groups = self.parsed(gpu.topology, self.output_text(TOPOLOGY_FILE), expect_gpus=self.gpus_per_node).groups
        self.kept = {together: self.kept_of(together) for together in self.pairs}
        for together, kept in self.kept.items():
            self.record_curve(f"kept, {together}", ("GPU", ""), ("Together over alone", ""), kept, {})
        self.name_groups(groups)
        return True

    def kept_of(self, together):
        """Return the share of its bandwidth that each GPU keeps while all others copy: GPU -> share."""
        alone = self.measured[self.pairs[together]].values()
        return {gpu: value / alone[row, gpu] for (row, gpu), value in self.measured[together].values().items()}

    def name_groups(self, groups):
        """Add to the hint the group of GPUs behind one PCIe switch that keeps least."""
        shares = {group: min(kept[gpu] for kept in self.kept.values() for gpu in group) for group in groups}
        group = min(shares, key=shares.__getitem__)
        behind = "behind one PCIe switch" if len(group) > 1 else "alone on its PCIe link"
        self.hint = f"GPU {', '.join(map(str, group))}, {behind}, keeps {shares[group]:.0%}; {self.hint}"

    metrics = {
        # The least share over GPUs and directions.
        "together_over_alone": ("", lambda self: min(share for kept in self.kept.values() for share in kept.values())),
        # The least share divided by the median GPU's share, in the direction where they differ most.
        "uniformity": ("", lambda self: min(map(slowest_share, self.kept.values()))),
        "host_to_all": ("GB/s", lambda self: self.measured["host_to_all_memcpy_ce"].sum_gb_s),
        "all_to_host": ("GB/s", lambda self: self.measured["all_to_host_memcpy_ce"].sum_gb_s),
    }
