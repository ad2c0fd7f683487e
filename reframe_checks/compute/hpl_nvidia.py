"""HPL on GPUs: NVIDIA's HPC-Benchmarks container, through ReFrame's container support, one rank for each GPU.

The partition names its container runtime (ReFrame's ``container_platforms``), the environment the image:
``extras: {hpl_nvidia: {image: PATH, options: [OPTION of the runtime, …], arguments: [ARGUMENT of hpl.sh, …]}}``, for
instance ``--gpu-affinity 0:1:2:3``, ``--cpu-affinity``, ``--mem-affinity``, ``--ucx-affinity`` (NVIDIA's manual of the
benchmark). N comes from the GPUs' memory. Fraction of peak is as the validation of the IBiSCo cluster defines it:
SPF(P, N) = SP(P, N) / PP(P), PP(P) = (4 NCores_GPU Clock_GPU + NCores_CPU Clock_CPU) P, the peak of all GPUs and all
cores of P nodes; here from the partition's ``peak_gflops_per_gpu`` and ``peak_gflops_per_core``.
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
        """Return the command that the container runs on so many nodes."""
        alone = ["--no-multinode"] if nodes == 1 else []
        return " ".join([self.executable, f"--dat {WORK_FOLDER}/{self.input_file}", *alone, *self.hpl_arguments])

    def program_on(self, nodes):
        # Of a copy: a container platform keeps the mount that each launch adds.
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
    descr = "HPL on GPUs: Gflop/s and fraction of peak"
    family = "compute/hpl-gpu"
    estimated_s = 180
    besides_s = 60
    scale = rfmb.parameter(["one_node", "two_nodes", "whole_partition"], loggable=True)
    hint = "compare nodes one by one; look at GPU clocks, power limit and temperature, NVLink and GPUDirect RDMA"
    failure_means = (
        "HPL on the GPUs is slower than the bound allows, or its residual failed. A failed residual means that a GPU "
        "or node computes wrong results: run the one-node case on each node to find it. If only several nodes together "
        "are slow, look at the network."
    )

    metrics = {
        "gflops": ("Gflop/s", lambda self: self.result.gflops),
        "fraction_of_peak": ("", lambda self: self.result.gflops / (self.num_nodes_used * self.node_peak_gflops)),
    }
