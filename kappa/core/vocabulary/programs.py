"""Which programs run when a check asks an environment for a feature, by their names on PATH."""

from kappa.core.vocabulary import osu_programs

#: What starts jobs and ranks, in every environment.
LAUNCHERS = ["mpirun", "mpiexec", "srun"]
_PAIRS = ["osu_latency", "osu_bw", "osu_bibw"]
# Feature of an environment -> those of its programs that are there.
OF_FEATURE = {
    "osu": [*_PAIRS, "osu_allreduce", "osu_alltoall", "osu_barrier", *osu_programs.ON_RANKS],
    "osu-suite": [
        *osu_programs.BLOCKING, *osu_programs.NON_BLOCKING, *osu_programs.NEIGHBOUR, "osu_mbw_mr", "osu_multi_lat",
        "osu_init", "osu_hello",
    ],
    "osu-persistent": osu_programs.PERSISTENT,
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
    "openfoam": ["blockMesh", "decomposePar", "icoFoam"],
    "emt": ["emt"],
}  # fmt: skip
# A container, what is built here in each revision, settings of MPI, or names that a site chooses: provenance keeps the
# SHA-256 of what ran.
OTHERWISE_KEPT = {
    "hpl-nvidia", "emt-build", "sweep-build", "mumps", "btio", "mpi-preconnect", "mpi-tag-matching", "mpi-rendezvous",
    "mpi-unreliable", "mpi-short-queues", "mpi-sharp", "mpi-cuda",
}  # fmt: skip


def programs_of(features: list[str]) -> list[str]:
    return list(dict.fromkeys([*LAUNCHERS, *(name for feature in features for name in OF_FEATURE.get(feature, ()))]))
