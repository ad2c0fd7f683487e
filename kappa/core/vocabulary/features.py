"""The table of features: properties of a partition, its storage targets, and programs of an environment.

A check names the features that it needs. A site lists the features that it has. Kappa makes the features of storage
targets from ``storage`` of a partition: ``storage_TARGET``, ``parallel_TARGET`` if all nodes see the same files, and
``osts_TARGET`` if the site states the number of object storage targets of a Lustre file system.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kappa.core.vocabulary.scales import EACH_NODE, ONE_NODE, PLACEMENTS, RANK_COUNTS, TWO_NODES, WHOLE_PARTITION
from kappa.core.vocabulary.transports import CUDA_IPC, GDRCOPY, GPUDIRECT, RENDEZVOUS

# Target -> feature of a partition that has it.
STORAGE_TARGETS = {target: f"storage_{target}" for target in ("scratch", "shared", "lustre_hdd", "lustre_ssd", "nvme")}

# Targets that each node has alone; the others may be `parallel`.
OF_ONE_NODE = ("scratch", "nvme")


def parallel(target: str) -> str:
    """Return the feature of a partition whose nodes share the files of ``target``."""
    return f"parallel_{target}"


def swept(target: str) -> str | None:
    """Return the feature of a partition that states the object storage targets of ``target``; ``None`` if each node
    has the target alone."""
    return None if target in OF_ONE_NODE else f"osts_{target}"


def stated_folder(extras: Mapping[str, Any], target: str) -> str | None:
    """Return the site's path of ``target`` if it is absolute, or ``None``: ``find`` could take another as an option."""
    path = extras.get("storage", {}).get(target)
    return path if str(path).startswith("/") else None


SIMULATED = "simulated"
PATTERNS = "patterns"
LARGE_PUTS = "large_puts"
CONGESTION = "congestion"
SHARP = "sharp"
RAILS = "rails"
MPI_BEHAVIOUR = "mpi_behaviour"
#: Most checks need it, and simulated partitions lack it. No site lists it.
NODES_THAT_EXIST = "nodes_that_exist"

_TOPOLOGY = "needs `cores.numa_domains` or `processor.topology`, and Slurm's task affinity"


@dataclass(frozen=True)
class EnvironmentFeature:
    """``programs``: the programs that its jobs find on PATH. ``extra``: the key of the environment that it needs."""

    programs: str
    extra: str = ""


# Feature -> meaning, a phrase whose subject is the partition.
PARTITION_FEATURES = {
    ONE_NODE: "runs jobs of one core or one node",
    TWO_NODES: "runs jobs of two nodes",
    WHOLE_PARTITION: "runs jobs of all nodes",
    EACH_NODE: "runs jobs of one task on each node",
    SIMULATED: "does not exist: SimGrid simulates it from a [fabric](simulated.md) of the site",
    "network": "runs the OSU point-to-point benchmarks",
    "collectives": "runs the OSU collective benchmarks",
    **{
        scale.feature: f"runs OSU collectives and checks of MPI on {scale.ranks_per_node} ranks of one node"
        if scale.nodes == 1
        else f"runs OSU collectives and checks of MPI on one rank of each of {scale.nodes} nodes"
        for scale in RANK_COUNTS.values()
    },
    "placement_same_numa": f"can place two ranks in one NUMA domain; {_TOPOLOGY}",
    "placement_other_numa": f"can place two ranks in two NUMA domains; {_TOPOLOGY}",
    "placement_other_socket": f"can place two ranks in two sockets; {_TOPOLOGY}",
    "placement_gpus_other_socket": f"has GPUs on both sockets; needs `gpus_of_sockets`, and {_TOPOLOGY}",
    "placement_same_switch": "has nodes under one switch; needs `placements`, and the check fails unless "
    "`scontrol show topology` confirms it for the job's nodes",
    "placement_other_switch": "has nodes under several switches; needs `placements`, and the check fails unless "
    "`scontrol show topology` confirms it for the job's nodes",
    "buffers_mixed": "measures host and device buffers in all combinations",
    GPUDIRECT: "has GPUDirect RDMA: compares UCX with and without it",
    GDRCOPY: "has gdrcopy: compares UCX with and without it",
    CUDA_IPC: "has CUDA IPC: compares UCX with and without it",
    RENDEZVOUS: "compares UCX's rendezvous schemes",
    "links": "measures and compares every node's links (names the node from three nodes up)",
    "cores": "measures and compares every node's cores (names the node from three nodes up)",
    "binding": "binds ranks to cores: needs Slurm's task affinity, and cores numbered one after the other or "
    "`processor.topology`",
    PATTERNS: "runs communication patterns: random ring, barriers by puts, irregular exchanges",
    LARGE_PUTS: "can do one-sided puts of megabytes between nodes, for instance with RDMA; over TCP, Open MPI's "
    "component pt2pt hangs in such puts",
    CONGESTION: "has ten nodes or more: measures some of them while the others load the network",
    RAILS: "has several adapters in a node and measures each alone; needs the key `rails`",
    SHARP: "has switches that reduce (SHARP); variables of its environments switch it on",
    MPI_BEHAVIOUR: "measures the behaviour of its MPI libraries: any source, threads, memory, matching",
    "compute": "runs HPL, STREAM and the EMT application",
    "applications": "runs applications over ranks: LAMMPS, GROMACS, OpenFOAM",
    "nvidia": "has NVIDIA GPUs; needs `gpus_per_node`",
    "several_gpus": "has several GPUs in a node",
    "numa_domains": f"has several NUMA domains: measures local and remote memory bandwidth; {_TOPOLOGY}",
}  # fmt: skip

# Kappa makes them from `storage` of the partition. No site lists them.
STORAGE_FEATURES = {
    **{feature: f"has the storage target `{target}`" for target, feature in STORAGE_TARGETS.items()},
    **{parallel(target): f"sees the same files of `{target}` on all its nodes" for target in STORAGE_TARGETS},
    **{
        feature: f"states the number of object storage targets of `{target}` (Lustre); each is measured alone"
        for target in STORAGE_TARGETS
        if (feature := swept(target))
    },
}

_BUILT_HERE = "cmake, a C++20 compiler, MPI"
ENVIRONMENT_FEATURES = {
    "osu": EnvironmentFeature("`osu_latency`, `osu_bw`, `osu_bibw`, `osu_barrier`, …"),
    "osu-suite": EnvironmentFeature(
        "the complete OSU Micro-Benchmarks in C; Kappa uses `-c` if a program accepts it"
    ),
    "osu-persistent": EnvironmentFeature("the persistent collectives, which need an MPI of version 4"),
    "osu-start": EnvironmentFeature("`osu_latency_persistent`, of OSU 7.3 or newer"),
    "gpcnet": EnvironmentFeature("`network_load_test` of GPCNeT"),
    "osu-cuda": EnvironmentFeature("the suite with `-d cuda`; Kappa uses `-c` here as well"),
    "hpl": EnvironmentFeature("`xhpl` or `hpcc`", "hpl"),
    "hpcc": EnvironmentFeature("`hpcc`"),
    "hpcg": EnvironmentFeature("`xhpcg`"),
    "stream": EnvironmentFeature("`stream` or `likwid-bench`", "stream"),
    "numactl": EnvironmentFeature("`numactl`"),
    "hpl-nvidia": EnvironmentFeature(
        "NVIDIA's HPC-Benchmarks container; the partition's `container` runs it", "hpl_nvidia"
    ),
    "nvbandwidth": EnvironmentFeature("`nvbandwidth`"),
    "babelstream": EnvironmentFeature("`cuda-stream`"),
    "nccl-tests": EnvironmentFeature("`all_reduce_perf` and its siblings, built with MPI"),
    "stress-ng": EnvironmentFeature("`stress-ng`, 0.15 or newer"),
    "fio": EnvironmentFeature("`fio`"),
    "ior": EnvironmentFeature("`ior`"),
    "mdtest": EnvironmentFeature("`mdtest`"),
    "io500": EnvironmentFeature("`io500`"),
    "iozone": EnvironmentFeature("`iozone`"),
    "btio": EnvironmentFeature("`bt.CLASS.x.mpi_io_full`, `bt.CLASS.x.mpi_io_simple`, `bt.CLASS.x.ep_io`"),
    "lammps": EnvironmentFeature("`lmp`: LAMMPS with MPI"),
    "gromacs": EnvironmentFeature("`gmx_mpi`: GROMACS with MPI"),
    "openfoam": EnvironmentFeature(
        "`blockMesh`, `decomposePar`, `icoFoam` of openfoam.com that find their settings (WM_PROJECT_DIR)"
    ),
    "mumps": EnvironmentFeature(
        f"{_BUILT_HERE}, MUMPS with MPI, nlohmann-json, CLI11, for `kappa-measure sparse-direct`", "build_dir"
    ),
    "emt": EnvironmentFeature("`emt`"),
    "emt-build": EnvironmentFeature(f"{_BUILT_HERE}, and the programs in the EMT application's README", "build_dir"),
    "mpi-preconnect": EnvironmentFeature("an MPI that connects all ranks at the start on request", "preconnect"),
    "mpi-tag-matching": EnvironmentFeature("an MPI whose adapter matches tags on request", "tag_matching"),
    "mpi-rendezvous": EnvironmentFeature("an MPI that sends long messages in another way on request", "rendezvous"),
    "mpi-unreliable": EnvironmentFeature("an MPI that uses unreliable datagrams on request", "unreliable"),
    "mpi-short-queues": EnvironmentFeature("an MPI that keeps short queues on request", "short_queues"),
    "mpi-sharp": EnvironmentFeature("an MPI that sums in the network on request", "sharp"),
    "mpi-cuda": EnvironmentFeature("an MPI that sends from and receives into GPU memory"),
    "sweep-build": EnvironmentFeature(
        f"{_BUILT_HERE}, OpenMP, nlohmann-json, CLI11, Eigen, for the suite's own programs", "build_dir"
    ),
}

# Feature -> another feature that it needs.
NEEDS_FEATURE = {
    "several_gpus": "nvidia",
    "placement_gpus_other_socket": "nvidia",
    "buffers_mixed": "nvidia",
    **{feature: "nvidia" for feature in (GPUDIRECT, GDRCOPY, CUDA_IPC, RENDEZVOUS)},
}
# Feature -> the smallest number of nodes of a partition with it.
NODES_OF_FEATURE = {
    scale.feature: scale.nodes for scale in (*PLACEMENTS.values(), *RANK_COUNTS.values()) if (scale.nodes or 1) > 1
} | {CONGESTION: 10}
