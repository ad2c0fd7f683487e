"""ReFrame settings of an example site: 32 nodes with four V100-class GPUs, InfiniBand EDR, two Lustre file systems.

Modelled on the IBiSCo cluster as its validation study describes it (Barone et al., "Final Workshop for the Italian PON
IBiSCo Project", 2024; slides named below). What the study does not state is marked `assumed`: replace it.
"""

import os
import pathlib

from spack_envs.installer.reframe_settings import planned_environments

SITE = pathlib.Path(__file__).resolve().parent
REPOSITORY = SITE.parents[1]
RESULTS = pathlib.Path(os.environ.get("KAPPA_RESULTS", REPOSITORY / "results/ibisco-like"))

# ReFrame 4.10 knows general/reference_prefix, but its schema refuses it in a settings file.
os.environ.setdefault("RFM_REFERENCE_PREFIX", str(SITE / "references"))

# Slide "Introduction II": 128 GPUs and about 1600 physical cores on 32 nodes.
NODES, GPUS = 32, 4
# Assumed: two sockets of 24 cores (1536 in all), a NUMA domain each, numbered one after the other.
SOCKETS, CORES_PER_SOCKET = 2, 24
CORES = SOCKETS * CORES_PER_SOCKET
SOCKET_MASKS = [hex((2**CORES_PER_SOCKET - 1) << (CORES_PER_SOCKET * socket)) for socket in range(SOCKETS)]

SPACK = planned_environments("ibisco-like")
# "Architecture II": CUDA-aware Open MPI through UCX, on InfiniBand.
MPI = [
    ["OMPI_MCA_pml", "ucx"],
    ["OMPI_MCA_osc", "ucx"],
    ["SLURM_MPI_TYPE", "pmix"],  # srun's, unless Slurm's MpiDefault says so
]
HPL_IMAGE = "/lustre/home/kappa/hpc-benchmarks.sif"
MIB = 2**20

site_configuration = {
    "systems": [
        {
            "name": "ibisco-like",
            "descr": "32 GPU nodes on InfiniBand EDR with two Lustre file systems (example)",
            "hostnames": [".*"],
            "prefix": str(RESULTS),
            "partitions": [
                {
                    "name": "gpu",
                    "descr": "all 32 nodes",
                    "scheduler": "slurm",
                    "launcher": "srun",
                    "access": ["--partition=gpu"],
                    "environs": ["system", "hpl-nvidia", *(environment["name"] for environment in SPACK)],
                    "max_jobs": 16,
                    "resources": [{"name": "_rfm_gpu", "options": ["--gres=gpu:{num_gpus_per_node}"]}],
                    "container_platforms": [{"type": "Apptainer"}],
                    "sched_options": {"use_nodes_option": True},
                    "processor": {
                        "num_cpus": CORES,
                        "num_cpus_per_core": 1,
                        "num_sockets": SOCKETS,
                        "num_cpus_per_socket": CORES_PER_SOCKET,
                        "topology": {
                            "cores": [hex(1 << core) for core in range(CORES)],
                            "sockets": SOCKET_MASKS,
                            "numa_nodes": SOCKET_MASKS,
                        },
                    },
                    "devices": [{"type": "gpu", "arch": "sm_70", "num_devices": GPUS}],
                    "features": [
                        "scale_one_node", "scale_two_nodes", "scale_whole_partition", "scale_each_node",
                        "network", "collectives", "links", "cores", "compute", "numa_domains", "nvidia", "several_gpus",
                        # "Micro-benchmark V": collectives on 2, 3 and 4 tasks, on one node and one on each.
                        "ranks_2", "ranks_3", "ranks_4", "nodes_2", "nodes_3", "nodes_4",
                        # A NUMA domain is a socket here. One EDR switch of 36 ports takes all nodes.
                        "placement_same_numa", "placement_other_socket", "placement_gpus_other_socket",
                        # "Micro-benchmark I": combinations of GPUDirect RDMA, CUDA IPC and gdrcopy.
                        "buffers_mixed", "gpudirect_rdma", "gdrcopy", "cuda_ipc", "ucx_rendezvous",
                        # "Architecture IV" and "Communication and data storage - Micro-benchmark I".
                        "storage_lustre_hdd", "parallel_lustre_hdd", "storage_lustre_ssd", "parallel_lustre_ssd",
                        "storage_nvme",
                    ],
                    "extras": {
                        "nodes": NODES,
                        "gpus_per_node": GPUS,
                        "gpus_of_sockets": [0, 2],  # assumed: two GPUs on each socket
                        "max_pending_time": "4h",
                        # Assumed: 2.4 GHz x 32 double-precision FLOP a cycle (two AVX-512 units).
                        "peak_gflops_per_core": 76.8,
                        "memory_gib_per_node": 192,
                        # Assumed: V100 SXM2, 32 GB; 7.8 Tflop/s by its data sheet.
                        "gpu_memory_gib": 32,
                        "peak_gflops_per_gpu": 7800,
                        "storage": {
                            "lustre_hdd": "/lustre/home/kappa", "lustre_ssd": "/lustre/scratch/kappa", "nvme": "/nvme",
                        },
                        # Assumed: files of the scratch lie on all targets, those of the home on one.
                        "lustre": {
                            "lustre_hdd": {"stripe_count": 1, "stripe_size": MIB},
                            "lustre_ssd": {"stripe_count": -1, "stripe_size": 4 * MIB},
                        },
                        "tuning": {
                            # "Macro-benchmark I" runs class E, which writes 2.1 TB; D writes 136 GB, C 6.8 GB.
                            "BtIo": {"problem_class": {"one_node": "C", "two_nodes": "C", "whole_partition": "D"}},
                        },
                    },
                }
            ],
        }
    ],
    "environments": [
        {
            # The nodes' own packages, and compilers and MPI for the programs of this repository.
            "name": "system",
            "features": ["fio", "sweep-build"],
            "extras": {"build_dir": str(REPOSITORY / ".kappa/build-ibisco-like")},
            "env_vars": MPI,
        },
        {
            # NVIDIA's HPC-Benchmarks container. Assumed: its place, and that this release still knows the V100.
            "name": "hpl-nvidia",
            "features": ["hpl-nvidia"],
            "extras": {
                "hpl_nvidia": {"image": HPL_IMAGE, "arguments": ["--gpu-affinity 0:1:2:3"]},
                "hash_files": {"hpl-nvidia": [HPL_IMAGE]},
            },
            "env_vars": MPI,
        },
        *(
            {
                **environment,
                "features": [*environment["features"], "numactl"],  # of the nodes' own packages
                "env_vars": [*environment["env_vars"], *MPI],
            }
            for environment in SPACK
        ),
    ],
    "modes": [
        {"name": name, "options": [f"--tag={name}", f"--session-extras=mode={name}"]}
        for name in ("smoke", "nightly", "acceptance", "full")
    ],
    "general": [
        {"report_file": str(RESULTS / "reports/run-report-{sessionid}.json"), "trap_job_errors": True}
    ],
    # No perflogs: nothing reads them, and what a job said would stand in them as it is.
    "logging": [{"handlers_perflog": []}],
    # ReFrame gives the database this mode whatever the umask.
    "storage": [
        {
            "enable": True, "backend": "sqlite", "sqlite_db_file": str(RESULTS / "results.db"),
            "sqlite_db_file_mode": "600",
        }
    ],
}  # fmt: skip
