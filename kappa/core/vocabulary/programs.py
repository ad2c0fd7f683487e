"""The programs behind each feature of an environment, by their names on PATH; OSU's programs by kind."""


# Measured on host memory and on GPU memory, for comparison.
ON_RANKS = ["osu_bcast", "osu_gather", "osu_reduce"]

BLOCKING = [
    "osu_allgather", "osu_allgatherv", "osu_alltoallv", "osu_alltoallw", "osu_gatherv", "osu_reduce_scatter",
    "osu_reduce_scatter_block", "osu_scatter", "osu_scatterv",
]  # fmt: skip
_KINDS = [
    "allgather", "allgatherv", "allreduce", "alltoall", "alltoallv", "alltoallw", "barrier", "bcast", "gather",
    "gatherv", "reduce", "reduce_scatter", "scatter", "scatterv",
]  # fmt: skip
NON_BLOCKING = [*(f"osu_i{kind}" for kind in _KINDS), "osu_ireduce_scatter_block"]
PERSISTENT = [f"osu_{kind}_persistent" for kind in _KINDS]
_NEIGHBOUR = ["allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw"]
NEIGHBOUR = [f"osu_{prefix}neighbor_{kind}" for prefix in ("", "i") for kind in _NEIGHBOUR]
#: Programs that start ranks, and commands that job scripts ask, in every environment.
LAUNCHERS = ["mpirun", "mpiexec", "srun", "scontrol", "squeue"]
_PAIRS = ["osu_latency", "osu_bw", "osu_bibw"]
# Feature of an environment -> its programs; some may be missing.
OF_FEATURE = {
    "osu": [*_PAIRS, "osu_allreduce", "osu_alltoall", "osu_barrier", *ON_RANKS],
    "osu-suite": [
        *BLOCKING, *NON_BLOCKING, *NEIGHBOUR, "osu_mbw_mr", "osu_multi_lat",
        "osu_init", "osu_hello",
    ],
    "osu-persistent": PERSISTENT,
    "osu-start": ["osu_latency_persistent"],
    "gpcnet": ["network_load_test"],
    "osu-cuda": _PAIRS,
    "hpl": ["xhpl", "hpcc"],
    "hpcc": ["hpcc"],
    "hpcg": ["xhpcg"],
    "stream": ["stream", "likwid-bench"],
    "numactl": ["numactl"],
    "nvbandwidth": ["nvbandwidth"],
    "babelstream": ["cuda-stream"],
    "nccl-tests": ["all_reduce_perf"],
    "stress-ng": ["stress-ng"],
    "fio": ["fio"],
    "ior": ["ior"],
    "mdtest": ["mdtest"],
    "io500": ["io500"],
    "iozone": ["iozone"],
    "lammps": ["lmp"],
    "gromacs": ["gmx_mpi"],
    "openfoam": ["blockMesh", "decomposePar", "icoFoam"],
    "emt": ["emt"],
}  # fmt: skip
# Containers, programs that each revision builds, settings of MPI, or names that a site chooses. For these, provenance
# keeps the SHA-256 of the program that ran.
OTHERWISE_KEPT = {
    "hpl-nvidia", "emt-build", "sweep-build", "mumps", "btio", "mpi-preconnect", "mpi-tag-matching", "mpi-rendezvous",
    "mpi-unreliable", "mpi-short-queues", "mpi-sharp", "mpi-cuda",
}  # fmt: skip


def has_sizes(program: str) -> bool:
    return "barrier" not in program


def reduces(program: str) -> bool:
    return "reduce" in program


def divides_into_blocks(program: str) -> bool:
    return program.endswith("reduce_scatter_block")


def programs_of(features: list[str]) -> list[str]:
    return list(dict.fromkeys([*LAUNCHERS, *(name for feature in features for name in OF_FEATURE.get(feature, ()))]))
