"""HPL on GPUs: NVIDIA's HPC-Benchmarks container, with ReFrame's container support, one rank for each GPU.

The partition names its container runtime (ReFrame's ``container_platforms``). The environment names the image:
``extras: {hpl_nvidia: {image: PATH, options: [OPTION of the runtime, …], arguments: [ARGUMENT of hpl.sh, …]}}``.
Arguments are for instance ``--gpu-affinity 0:1:2:3``, ``--cpu-affinity``, ``--mem-affinity``, ``--ucx-affinity``
(NVIDIA's manual of the benchmark). N follows from the GPUs' memory.

The fraction of peak has the definition of the validation of the IBiSCo cluster: SPF(P, N) = SP(P, N) / PP(P),
PP(P) = (4 NCores_GPU Clock_GPU + NCores_CPU Clock_CPU) P. This is the peak of all GPUs and all cores of P nodes; here
it follows from the partition's ``peak_gflops_per_gpu`` and ``peak_gflops_per_core``.
"""

import copy
import shlex

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import ReframeError

from reframe_checks.base.scaled import OnGpus, Scaled
from reframe_checks.compute.hpl import (
    OLD_GPU_GFLOPS,
    SolvesHpl,
    SolvesOne,
    hpl_dat,
    process_grid,
)

# Where ReFrame mounts the stage folder in the container.
WORK_FOLDER = "/rfm_workdir"


class HplOnGpus(OnGpus, SolvesHpl):
    """NVIDIA's HPL in its container."""

    needs_partition = ["nvidia"]
    needs_environ = ["hpl-nvidia"]
    # In the container; ReFrame puts the runtime before it.
    executable = "/workspace/hpl.sh"
    block = 1024
    input_file, output_file = "HPL.dat", None

    @rfmb.run_after("setup")
    def enter_container(self):
        stated = self.current_environ.extras.get("hpl_nvidia", {})
        runtime = self.current_partition.container_runtime
        if not stated.get("image") or not runtime:
            raise ReframeError(
                f"environment {self.current_environ.name}: extras/hpl_nvidia/image must name the container's image, "
                f"and partition {self.current_partition.fullname} its container_platforms"
            )
        platform = self.container_platform
        platform.image = shlex.quote(stated["image"])
        platform.options = [*stated.get("options", [])]
        if hasattr(platform, "with_cuda"):
            platform.with_cuda = True
        self.hpl_arguments = stated.get("arguments", [])
        platform.command = self.command_on(self.num_nodes_used)
        # The image's checksum is one of the environment's `hash_files`.
        self.programs = [runtime.lower()]

    def command_on(self, nodes):
        """Return the command that the container runs on this number of nodes."""
        alone = ["--no-multinode"] if nodes == 1 else []
        return " ".join([self.executable, f"--dat {WORK_FOLDER}/{self.input_file}", *alone, *self.hpl_arguments])

    def program_on(self, nodes):
        # With a copy: each launch adds a mount to the container platform.
        platform = copy.deepcopy(self.container_platform)
        platform.command = self.command_on(nodes)
        return platform.launch_command(self.stagedir)

    def input_text(self, orders, ranks):
        return hpl_dat(orders, self.block, process_grid(ranks))

    @property
    def node_memory_bytes(self):
        return self.gpus_per_node * self.stated_extra("gpu_memory_gib") * 2**30

    peak_keys = ("peak_gflops_per_gpu", "peak_gflops_per_core")

    @property
    def old_node_gflops(self):
        return self.gpus_per_node * OLD_GPU_GFLOPS

    @property
    def node_peak_gflops(self):
        gpus = self.gpus_per_node * self.stated_extra("peak_gflops_per_gpu")
        return gpus + self.cores_per_node * self.stated_extra("peak_gflops_per_core")


@rfm.simple_test
class HplNvidia(Scaled, SolvesOne, HplOnGpus):
    descr = (
        "Measures Gflop/s and fraction of peak of HPL on GPUs; finds throttled GPUs, slow NVLink or GPUDirect RDMA, "
        "and wrong results"
    )
    family = "compute/hpl-gpu"
    estimated_s = 180
    besides_s = 60
    scale = rfmb.parameter(["one_node", "two_nodes", "whole_partition"], loggable=True)
    hint = "compare single nodes; check GPU clocks, power limit and temperature, NVLink and GPUDirect RDMA"
    failure_means = (
        "HPL on the GPUs is slower than the bound allows, or its residual failed. A failed residual means that a GPU "
        "or node computes wrong results: run the one-node case on each node to find it. If only several nodes together "
        "are slow, look at the network."
    )

    metrics = {
        "gflops": ("Gflop/s", lambda self: self.result.gflops),
        "fraction_of_peak": ("", lambda self: self.result.gflops / (self.num_nodes_used * self.node_peak_gflops)),
    }
