"""OSU point-to-point, multi-pair and collectives on GPU memory: placement x buffers x transports of UCX.

The nightly checks have both buffers in GPU memory and UCX's default transport. The matrix over buffers and transports
is for acceptance. Bidirectional bandwidth and the message rate of all pairs use buffers in GPU memory there, too. The
validation of the IBiSCo cluster compares GPUDirect RDMA, CUDA IPC and gdrcopy in this way.
"""

import reframe as rfm
import reframe.core.builtins as rfmb

from kappa.core.vocabulary import programs as osu_programs
from kappa.core.vocabulary.scales import GPU_PLACEMENTS
from kappa.core.vocabulary.transports import BUFFERS, TRANSPORTS
from reframe_checks.base.scaled import SEVERAL_GPUS, OnGpus, OnRanks
from reframe_checks.network.osu import OsuMessageRate, OsuPointToPoint, OsuStream
from reframe_checks.network.osu_collectives import OsuCollectiveCheck

FAMILY = "network/osu-gpu"
# No NUMA domains within a socket: a GPU is attached to a socket's root complex. The checks on host memory have them.
PLACEMENTS = ["same_node", "gpus_other_socket", "two_nodes", "other_switch"]
# Without other_switch: one more switch does not change the path from a buffer to the adapter.
MATRIX_PLACEMENTS = ["same_node", "gpus_other_socket", "two_nodes"]
# gdrcopy is for short messages, so only the latency shows it.
BANDWIDTH_TRANSPORTS = [name for name in TRANSPORTS if name != "gdrcopy_off"]
# The path of long messages, and its detour through host memory.
BOTH_WAYS_TRANSPORTS = ["default", "rdma_off", "cuda_ipc_off"]
# On few ranks, with each path between GPUs switched off in turn.
COLLECTIVE_TRANSPORTS = ["default", "rdma_off", "gdrcopy_off", "cuda_ipc_off"]


class OnDevice(rfm.RegressionTestPlugin):
    """Put buffers on GPUs, with one GPU for each rank."""

    buffers = rfmb.parameter(["D_D"], loggable=True)
    transport = rfmb.parameter(["default"], loggable=True)

    @rfmb.run_after("init")
    def set_transport(self):
        self.env_vars = {**self.env_vars, **TRANSPORTS[self.transport].variables}
        self.tags |= {f"buffers_{self.buffers}", f"transport_{self.transport}"}

    @rfmb.run_after("init")
    def drop_uninformative(self):
        """Remove the case from all systems if its transport has no effect for these ranks and buffers."""
        if not TRANSPORTS[self.transport].informs(self.chosen_scale().nodes, self.buffers):
            self.valid_systems = []

    def chosen_features(self):
        return [*super().chosen_features(), *self.row_features(self.buffers, self.transport)]

    @staticmethod
    def row_features(buffers, transport):
        return [BUFFERS[buffers].feature, *TRANSPORTS[transport].features]

    @classmethod
    def alternative_features(cls):
        return [
            [*base, *cls.row_features(buffers, transport)]
            for base in super().alternative_features()
            for buffers in cls.raw_params["buffers"].values
            for transport in cls.raw_params["transport"].values
        ]

    @rfmb.run_after("setup")
    def one_gpu_per_rank(self):
        self.num_gpus_per_node = self.num_tasks_per_node


class BetweenBuffers(OnDevice):
    """Give OSU the place of the buffer for both sides of a pair."""

    def size_options(self):
        chosen = BUFFERS[self.buffers]
        return [*super().size_options(), "-d", "cuda", chosen.sender, chosen.receiver]


class OnDevicePair(BetweenBuffers):
    @rfmb.run_after("setup")
    def choose_gpus(self):
        """Make the placement's GPUs visible: OSU gives rank N the Nth visible GPU, and Slurm shows any free GPUs."""
        if self.placement in GPU_PLACEMENTS:
            extras = self.current_partition.extras
            gpus = self.stated("extras/gpus_of_sockets", extras.get("gpus_of_sockets"))
            self.num_gpus_per_node = self.stated("extras/gpus_per_node", extras.get("gpus_per_node"))
            self.job.launcher.options += ["env", f"CUDA_VISIBLE_DEVICES={','.join(map(str, gpus))}"]


class OsuDevicePair(OnDevicePair, OsuPointToPoint):
    family = FAMILY
    estimated_s = 30
    needs_partition = ["network", "nvidia"]
    needs_environ = ["osu-cuda"]
    benchmark = "osu_latency"


class OsuDeviceStream(OnDevicePair, OsuStream):
    family = FAMILY
    estimated_s = 30
    needs_partition = ["network", "nvidia"]
    needs_environ = ["osu-cuda"]
    benchmark = "osu_bw"


@rfm.simple_test
class OsuDeviceLatency(OsuDevicePair):
    descr = "Measures the latency between two GPUs with OSU; finds missing GPUDirect RDMA or gdrcopy"
    placement = rfmb.parameter(PLACEMENTS, loggable=True)
    hint = "check that MPI is built for CUDA, and that GPUDirect RDMA and gdrcopy work on these nodes"
    failure_means = (
        "Short messages between GPUs take longer than the bound allows, or data arrived wrong. If OsuLatency passes on "
        "the same nodes, the path between GPU and adapter is at fault."
    )


@rfm.simple_test
class OsuDeviceBandwidth(OsuDeviceStream):
    descr = "Measures the bandwidth between two GPUs with OSU; finds missing GPUDirect RDMA and slow PCIe paths"
    placement = rfmb.parameter(PLACEMENTS, loggable=True)
    hint = "check that GPUDirect RDMA is active, and that GPU and adapter are on the same PCIe switch"
    failure_means = (
        "Long messages between GPUs are slower than the bound allows, or data arrived wrong. If OsuBandwidth passes on "
        "the same nodes, the path between GPU and adapter is at fault."
    )


@rfm.simple_test
class OsuDeviceLatencyMatrix(OsuDevicePair):
    descr = "Measures the latency between GPUs over buffers and transports with OSU; finds the transport that is slow"
    modes = ("acceptance",)
    placement = rfmb.parameter(MATRIX_PLACEMENTS, loggable=True)
    buffers = rfmb.parameter(BUFFERS, loggable=True)
    transport = rfmb.parameter(TRANSPORTS, loggable=True)
    hint = "compare with the row of transport `default` to find the setting that makes the difference"
    failure_means = (
        "Short messages from or to GPU memory take longer than the bound allows over some transport, or data arrived "
        "wrong. The failed rows tell which transport is at fault; if all rows fail, see OsuLatency."
    )


@rfm.simple_test
class OsuDeviceBandwidthMatrix(OsuDeviceStream):
    descr = "Measures the bandwidth between GPUs over buffers and transports with OSU; finds the transport that is slow"
    modes = ("acceptance",)
    placement = rfmb.parameter(MATRIX_PLACEMENTS, loggable=True)
    buffers = rfmb.parameter(BUFFERS, loggable=True)
    transport = rfmb.parameter(BANDWIDTH_TRANSPORTS, loggable=True)
    hint = "compare with the row of transport `default` to find the setting that makes the difference"
    failure_means = (
        "Long messages from or to GPU memory are slower than the bound allows over some transport, or data arrived "
        "wrong. The failed rows tell which transport is at fault; if all rows fail, see OsuBandwidth."
    )


@rfm.simple_test
class OsuDeviceBidirectionalBandwidth(OsuDeviceStream):
    descr = (
        "Measures the bandwidth in both directions between two GPUs by transport with OSU; finds shared PCIe links or "
        "copy engines"
    )
    benchmark = "osu_bibw"
    modes = ("acceptance",)
    placement = rfmb.parameter(MATRIX_PLACEMENTS, loggable=True)
    transport = rfmb.parameter(BOTH_WAYS_TRANSPORTS, loggable=True)
    hint = "compare with twice the bandwidth in one direction; check whether both share a PCIe link or a copy engine"
    failure_means = (
        "Long messages between GPUs in both directions at once are slower than the bound allows, or data arrived "
        "wrong. If OsuDeviceBandwidth passes on the same nodes, the two directions hinder each other."
    )


@rfm.simple_test
class OsuDeviceMessageRate(BetweenBuffers, OnGpus, OsuMessageRate):
    descr = (
        "Measures bandwidth and message rate of all pairs of GPUs together with OSU; finds shared PCIe switches and "
        "adapters"
    )
    family = FAMILY
    estimated_s = 30
    # One GPU per node would be one pair, which OsuDeviceBandwidth measures.
    needs_partition = ["network", "nvidia", SEVERAL_GPUS]
    needs_environ = ["osu-cuda"]
    modes = ("acceptance",)
    hint = "if a single pair is fast, check how many GPUs share a PCIe switch and an adapter"
    failure_means = (
        "All pairs of GPUs together move too few messages or too little data, or data arrived wrong. If "
        "OsuDeviceBandwidth passes on the same nodes, the GPUs share a link that is too narrow."
    )


@rfm.simple_test
class OsuDeviceCollective(OnDevice, OnRanks, OsuCollectiveCheck):
    descr = (
        "Measures OSU collectives on GPU memory by number of ranks and transport; finds slow paths between GPUs"
    )
    family = FAMILY
    estimated_s = 60
    needs_partition = ["collectives", "nvidia"]
    needs_environ = ["osu-cuda"]
    modes = ("acceptance",)
    program = rfmb.parameter(osu_programs.ON_RANKS, loggable=True)
    transport = rfmb.parameter(COLLECTIVE_TRANSPORTS, loggable=True)
    hint = "compare with the row of transport `default`, and with the same collective on host memory"
    failure_means = (
        "A collective between GPUs takes longer than the bound allows over some transport, or data arrived wrong. If "
        "OsuDeviceLatency passes on the same nodes, look for one slow rank and at MPI's choice of algorithm."
    )

    def size_options(self):
        return [*super().size_options(), "-d", "cuda"]
