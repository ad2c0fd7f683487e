"""HPL on GPUs: NVIDIA's HPC-Benchmarks container, through ReFrame's container support, one rank for each GPU.

The partition names its container runtime (ReFrame's ``container_platforms``), the environment the image:
``extras: {hpl_nvidia: {image: PATH, options: [OPTION of the runtime, …], arguments: [ARGUMENT of hpl.sh, …]}}``, for
instance ``--gpu-affinity 0:1:2:3``, ``--cpu-affinity``, ``--mem-affinity``, ``--ucx-affinity`` (NVIDIA's manual of the
benchmark). N comes from the GPUs' memory. Fraction of peak is as the validation of the IBiSCo cluster defines it:
SPF(P, N) = SP(P, N) / PP(P), PP(P) = (4 NCores_GPU Clock_GPU + NCores_CPU Clock_CPU) P, the peak of all GPUs and all
cores of P nodes; here from the partition's ``peak_gflops_per_gpu`` and ``peak_gflops_per_core``.
"""

import shlex

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import ReframeError

from reframe_checks.base.on_gpus import OnGpus
from reframe_checks.base.scaled import Scaled
from reframe_checks.compute import hpl_input
from reframe_checks.compute.hpl_base import SolvesHpl

# Where ReFrame mounts the stage folder in the container.
WORK_FOLDER = "/rfm_workdir"


@rfm.simple_test
class HplNvidia(OnGpus, Scaled, SolvesHpl):
    descr = "HPL on GPUs: Gflop/s and fraction of peak"
    family = "compute/hpl-gpu"
    needs_partition = ["nvidia"]
    needs_environ = ["hpl-nvidia"]
    scale = rfmb.parameter(["one_node", "two_nodes", "whole_partition"], loggable=True)
    # In the container; ReFrame puts the runtime before it.
    executable = "/workspace/hpl.sh"
    hint = "compare nodes one by one; look at GPU clocks, power limit and temperature, NVLink and GPUDirect RDMA"

    #: Share of the GPUs' memory that the matrix fills, unless ``order`` gives N.
    memory_fraction = rfmb.variable(float, value=0.8)
    order = rfmb.variable(int, value=0)
    block = 1024
    tunable = ["memory_fraction", "order", "block"]

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
        alone = ["--no-multinode"] if self.num_nodes_used == 1 else []
        arguments = [f"--dat {WORK_FOLDER}/HPL.dat", *alone, *stated.get("arguments", [])]
        platform.command = " ".join([self.executable, *arguments])
        # The image's checksum is one of the environment's `hash_files`.
        self.programs = [runtime.lower()]

    @rfmb.run_before("run")
    def write_input(self):
        self.expected_order = self.order or hpl_input.problem_size(
            self.num_tasks * self.stated_extra("gpu_memory_gib") * 2**30, self.memory_fraction, self.block
        )
        text = hpl_input.hpl_dat([self.expected_order], self.block, hpl_input.process_grid(self.num_tasks))
        self.write_file("HPL.dat", text)

    @rfmb.sanity_function
    def residual_passed(self):
        self.result = self.solved(self.output_text(), [self.expected_order], self.num_tasks)[0]
        return True

    @rfmb.performance_function("Gflop/s")
    def gflops(self):
        return self.result.gflops

    @rfmb.performance_function("")
    def fraction_of_peak(self):
        gpus = self.gpus_per_node * self.stated_extra("peak_gflops_per_gpu")
        cores = self.cores_per_node * self.stated_extra("peak_gflops_per_core")
        return self.result.gflops / (self.num_nodes_used * (gpus + cores))
