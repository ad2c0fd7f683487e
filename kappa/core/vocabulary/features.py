"""The one table of features: what a partition is or has, its storage targets, and programs of an environment.

A check names the features that it needs; a site lists those that it has. Those of storage targets are made from what a
partition states under ``storage``: ``storage_TARGET``, ``parallel_TARGET`` when all nodes see the same files, and
``osts_TARGET`` when it says how many object storage targets a Lustre file system has.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kappa.core.vocabulary.scales import EACH_NODE, ONE_NODE, PLACEMENTS, RANK_COUNTS, TWO_NODES, WHOLE_PARTITION
from kappa.core.vocabulary.transports import CUDA_IPC, GDRCOPY, GPUDIRECT, RENDEZVOUS

# Target -> feature of a partition that has it.
STORAGE_TARGETS = {target: f"storage_{target}" for target in ("scratch", "shared", "lustre_hdd", "lustre_ssd", "nvme")}

# What each node has to itself; the others may be `parallel`.
OF_ONE_NODE = ("scratch", "nvme")


def parallel(target: str) -> str:
    """The feature of a partition whose nodes share the files of ``target``."""
    return f"parallel_{target}"


def swept(target: str) -> str | None:
    """The feature of a partition that states the object storage targets of ``target``; a node's own has none."""
    return None if target in OF_ONE_NODE else f"osts_{target}"


def stated_folder(extras: Mapping[str, Any], target: str) -> str | None:
    """The site's path of ``target`` if it is an absolute one: others could read as an option, of ``find`` even."""
    path = extras.get("storage", {}).get(target)
    return path if str(path).startswith("/") else None


SIMULATED = "simulated"
PATTERNS = "patterns"
LARGE_PUTS = "large_puts"
CONGESTION = "congestion"
SHARP = "sharp"
RAILS = "rails"
MPI_BEHAVIOUR = "mpi_behaviour"
#: What no simulated partition has, and most checks need: it is listed by none.
NODES_THAT_EXIST = "nodes_that_exist"

_TOPOLOGY = "needs the NUMA domains of `cores` or a topology of `processor`, and Slurm's task affinity"


@dataclass(frozen=True)
class EnvironmentFeature:
    """``programs``: what its jobs find on PATH. ``extra``: the key of the environment that it needs besides."""

    programs: str
    extra: str = ""


# Feature -> what the partition that lists it is or has.
PARTITION_FEATURES = {
    ONE_NODE: "takes jobs of one core or node",
    TWO_NODES: "takes jobs of two nodes",
    WHOLE_PARTITION: "takes jobs of all nodes",
    EACH_NODE: "takes jobs of one task on each node",
    SIMULATED: "does not exist: SimGrid simulates it, from a [fabric](simulated.md) of the site",
    "network": "is measured by OSU point-to-point",
    "collectives": "is measured by OSU collectives",
    **{
        scale.feature: f"is measured by OSU collectives, and its MPI, on {scale.ranks_per_node} ranks of one node"
        if scale.nodes == 1
        else f"is measured by OSU collectives, and its MPI, on one rank of each of {scale.nodes} nodes"
        for scale in RANK_COUNTS.values()
    },
    "placement_same_numa": f"has NUMA domains to place two ranks in one of; {_TOPOLOGY}",
    "placement_other_numa": f"has NUMA domains to place two ranks in two of; {_TOPOLOGY}",
    "placement_other_socket": f"has sockets to place two ranks in two of; {_TOPOLOGY}",
    "placement_gpus_other_socket": f"has GPUs on both sockets; needs `gpus_of_sockets`, and {_TOPOLOGY}",
    "placement_same_switch": "has nodes under one switch; needs `placements`, and a `scontrol show topology` that "
    "tells the job's nodes so, or the check fails",
    "placement_other_switch": "has nodes under several switches; needs the same",
    "buffers_mixed": "has the matrix of host and device buffers measured",
    GPUDIRECT: "has GPUDirect RDMA, so that UCX with and without it is compared",
    GDRCOPY: "has gdrcopy, and the same",
    CUDA_IPC: "has CUDA IPC, and the same",
    RENDEZVOUS: "has UCX's rendezvous schemes compared",
    "links": "has every node's links measured and compared (names the node from three nodes up)",
    "cores": "has every node's cores measured and compared (names the node from three nodes up)",
    "binding": "binds ranks to cores: Slurm's task affinity, and cores numbered one after the other or a topology of "
    "`processor`",
    PATTERNS: "is measured by communication patterns: random ring, barriers by puts, irregular exchanges",
    LARGE_PUTS: "takes one-sided puts of megabytes between nodes, as RDMA does; over TCP Open MPI's component pt2pt "
    "hangs in them",
    CONGESTION: "has four nodes or more, of which one half is measured while the other loads the network",
    RAILS: "has several adapters in a node, each of which is measured alone; needs the key `rails`",
    SHARP: "has switches that reduce (SHARP), which its environments' variables switch on",
    MPI_BEHAVIOUR: "has the behaviour of its MPI libraries measured: any source, threads, memory, overlap, matching",
    "compute": "is measured by HPL, STREAM and the EMT application",
    "applications": "is measured by applications over ranks: LAMMPS, GROMACS, OpenFOAM",
    "nvidia": "has NVIDIA GPUs; needs `gpus_per_node`",
    "several_gpus": "has several of them in a node",
    "numa_domains": f"has several NUMA domains, of which local and remote memory bandwidth is measured; {_TOPOLOGY}",
}  # fmt: skip

# Made from `storage` of the partition, and listed by none.
STORAGE_FEATURES = {
    **{feature: f"has the storage target `{target}`" for target, feature in STORAGE_TARGETS.items()},
    **{parallel(target): f"sees the same files of `{target}` on all its nodes" for target in STORAGE_TARGETS},
    **{
        feature: f"states how many object storage targets `{target}` has, which are measured one by one (Lustre)"
        for target in STORAGE_TARGETS
        if (feature := swept(target))
    },
}

_BUILT_HERE = "cmake, a C++20 compiler, MPI"
ENVIRONMENT_FEATURES = {
    "osu": EnvironmentFeature("`osu_latency`, `osu_bw`, `osu_bibw`, `osu_barrier`, …"),
    "osu-suite": EnvironmentFeature(
        "the complete OSU Micro-Benchmarks in C: `-c` is demanded where a program accepts it"
    ),
    "osu-persistent": EnvironmentFeature("the persistent collectives, which need an MPI of version 4"),
    "osu-cuda": EnvironmentFeature("the suite with `-d cuda`: `-c` is demanded here as well"),
    "hpl": EnvironmentFeature("`xhpl` or `hpcc`", "hpl"),
    "hpcc": EnvironmentFeature("`hpcc`"),
    "hpcg": EnvironmentFeature("`xhpcg`"),
    "stream": EnvironmentFeature("`stream` or `likwid-bench`", "stream"),
    "numactl": EnvironmentFeature("`numactl`"),
    "hpl-nvidia": EnvironmentFeature(
        "NVIDIA's HPC-Benchmarks container, which the partition's `container` runs", "hpl_nvidia"
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
    "emt-build": EnvironmentFeature(f"{_BUILT_HERE}, and what the EMT application's README lists", "build_dir"),
    "mpi-preconnect": EnvironmentFeature("an MPI that connects all ranks at the start when told so", "preconnect"),
    "mpi-tag-matching": EnvironmentFeature("an MPI whose adapter matches tags when told so", "tag_matching"),
    "mpi-rendezvous": EnvironmentFeature("an MPI that sends long messages in another way when told so", "rendezvous"),
    "mpi-unreliable": EnvironmentFeature("an MPI that takes unreliable datagrams when told so", "unreliable"),
    "mpi-short-queues": EnvironmentFeature("an MPI that keeps short queues when told so", "short_queues"),
    "mpi-sharp": EnvironmentFeature("an MPI that sums in the network when told so", "sharp"),
    "mpi-cuda": EnvironmentFeature("an MPI that takes and sends what lies in the memory of GPUs"),
    "sweep-build": EnvironmentFeature(
        f"{_BUILT_HERE}, OpenMP, nlohmann-json, CLI11, Eigen, for the suite's own programs", "build_dir"
    ),
}

# Features that mean nothing without another.
NEEDS_FEATURE = {
    "several_gpus": "nvidia",
    "placement_gpus_other_socket": "nvidia",
    "buffers_mixed": "nvidia",
    **{feature: "nvidia" for feature in (GPUDIRECT, GDRCOPY, CUDA_IPC, RENDEZVOUS)},
}
# Feature -> the least number of nodes that a partition with it has.
NODES_OF_FEATURE = {
    scale.feature: scale.nodes for scale in (*PLACEMENTS.values(), *RANK_COUNTS.values()) if (scale.nodes or 1) > 1
} | {CONGESTION: 4}
