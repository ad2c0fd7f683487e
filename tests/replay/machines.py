"""The machines on which programs were recorded: size, programs, and what the checks have to ask for to fit.

Each is a partition with one environment, of the same name. ``expected.yaml`` has the metrics.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kappa.core.vocabulary.features import SHARP
from tests.programs import FOLDER
from tests.replay import programs
from tests.replay.programs import shows

# Ranks are bound to these for real.
_FIRST, _SECOND = (1 << cpu for cpu in sorted(os.sched_getaffinity(0))[:2])
ONE, TWO, WHOLE, EACH = "scale_one_node", "scale_two_nodes", "scale_whole_partition", "scale_each_node"


@dataclass(frozen=True)
class Machine:
    """``environ``: the environment with these programs, of an example site or of the embedded one."""

    name: str
    environ: str
    nodes: int
    cores: int
    features: tuple[str, ...]
    offers: tuple[str, ...]
    programs: Mapping[str, str]
    extras: Mapping[str, Any] = field(default_factory=dict)
    environ_extras: Mapping[str, Any] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    numa_nodes: Sequence[int] = (_FIRST, _SECOND)
    """Masks of two CPUs that this process may use."""


_OSU = programs.osu("as_asked", validated=True)
_XHPL = {"xhpl": shows("hpl/xhpl.txt")}
_HPCC = {"hpcc": shows("hpcc/two_ranks.txt", "", "hpccoutf.txt")}
_HPL_TUNING = {"tuning": {"Hpl": {"order": 1000}, "Hpcc": {"order": 1000}}, "peak_gflops_per_core": 50}
_BTIO = {
    "bt.W.x.mpi_io_full": shows("btio/full_of_3_4_3_four_ranks.txt"),
    "bt.W.x.mpi_io_simple": shows("btio/simple_four_ranks.txt"),
}
_BTIO_TUNING = {"tuning": {"BtIo": {"problem_class": "W"}}}
_IO500 = shows("io500/short.txt", "io500.ini", "results/result.txt")
_STONEWALL = {"stonewall_s": 1}
_ONE_LAYOUT = {"layouts": "1x2", "rounds": 1}
_LAMMPS = {"cells": 14, "cells_per_rank": 10, **_ONE_LAYOUT}
_OPENFOAM = {"cells": 100, "cells_per_rank": 64, "steps": 4, **_ONE_LAYOUT}
_MESHES = {"blockMesh": "true", "decomposePar": "true"}
_SHARP = {"HCOLL_ENABLE_SHARP": 3, "SHARP_COLL_LOG_LEVEL": 3}
_SHARED = ("storage_shared", "parallel_shared")

MACHINES = (
    Machine(
        "osu-one-node", "mpi-io", 1, 2, ("network", "collectives", ONE), ("osu", "osu-suite"), _OSU,
    ),
    Machine(
        "osu-two-nodes", "mpi-io", 2, 1, ("network", TWO), ("osu", "osu-suite"), _OSU,
    ),
    Machine(
        "osu-one-domain", "mpi-io", 1, 2, ("network", "placement_same_numa"), ("osu", "osu-suite"),
        {**_OSU, "srun": programs.SRUN_ON_CPUS}, numa_nodes=[_FIRST | _SECOND],
    ),
    Machine(
        "osu-two-domains", "mpi-io", 1, 2, ("network", "placement_other_numa", "placement_other_socket"),
        ("osu", "osu-suite"), {**_OSU, "srun": programs.SRUN_ON_CPUS},
    ),
    Machine(
        "osu-four-ranks", "mpi-io", 2, 2, ("collectives", TWO, WHOLE), ("osu", "osu-suite"), programs.osu_suite()
    ),
    *(
        Machine(
            f"osu-{where}-switch", "mpi-io", 2, 1, ("network", f"placement_{where}_switch"), ("osu", "osu-suite"),
            {
                **_OSU, "srun": programs.SRUN_ON_NODES, "hostname": programs.HOSTNAME,
                "scontrol": shows("topology/scontrol_three_leaves.txt", "show topology"),
            },
            extras={"placements": {f"{where}_switch": []}},
            variables={"SLURM_JOB_NODELIST": f"node[1,{second}]", "RANKS_ON": f"'node1 node{second}'"},
        )
        for where, second in (("same", 2), ("other", 8))
    ),
    Machine(
        "osu-ring", "mpi-io", 4, 1, ("links", EACH), ("osu", "osu-suite"),
        {
            "scontrol": programs.SCONTROL,
            "osu_bibw": shows("osu/as_asked/osu_bibw_1MiB.txt", "-i 10 -x 2 -W 64 -m 1048576:1048576"),
        },
        variables={"SLURM_JOB_NODELIST": "node[1-4]"},
    ),
    Machine(
        "osu-stand-in", "packaged", 1, 2, ("network", "collectives", ONE), ("osu",),
        programs.osu("stand_in", validated=False),
    ),
    Machine(
        "xhpl", "mpi-io", 1, 2, ("compute", ONE, WHOLE), ("hpl", "hpcc"), {**_XHPL, **_HPCC},
        extras=_HPL_TUNING, environ_extras={"hpl": "xhpl"},
    ),
    Machine(
        "hpcc", "packaged", 1, 2, ("compute", ONE, WHOLE), ("hpl", "hpcc"), _HPCC,
        extras=_HPL_TUNING, environ_extras={"hpl": "hpcc"},
    ),
    Machine(
        "hpcc-one-rank", "packaged", 1, 1, ("compute", ONE), ("hpl", "hpcc"),
        {"hpcc": shows("hpcc/one_rank.txt", "", "hpccoutf.txt")},
        extras=_HPL_TUNING, environ_extras={"hpl": "hpcc"},
    ),
    Machine(
        "stream", "mpi-io", 1, 2, ("compute", "numa_domains", ONE), ("stream", "numactl"),
        # A NUMA domain is a core.
        {"stream": shows("stream/two_threads.txt", ""), "numactl": shows("stream/serial.txt")},
        environ_extras={"stream": "stream"},
    ),
    Machine(
        "likwid", "packaged", 1, 2, ("compute", ONE), ("stream",),
        {"likwid-bench": shows("likwid/stream.txt", "-t stream -w N:4GB:2")},
        environ_extras={"stream": "likwid-bench"},
    ),
    Machine(
        "hpcg", "rated", 1, 2, ("compute", ONE, WHOLE), ("hpcg",),
        {"xhpcg": shows("hpcg/two_ranks_short.txt", "", "HPCG-Benchmark_3.1.txt")},
        extras={"memory_gib_per_node": 1, "tuning": {"HpcgShort": {"running_s": 3, "memory_fraction": 0.05}}},
    ),
    Machine(
        "io500", "rated", 2, 2, (*_SHARED, TWO, WHOLE), ("io500",),
        {"io500": f"mkdir results; {_IO500}; {shows('io500/short_summary.txt', None, 'results/result_summary.txt')}"},
        extras={"tuning": {"Io500Short": _STONEWALL}},
    ),
    Machine(
        "ior-one-rank", "mpi-io", 1, 1, ("storage_shared", ONE), ("ior",), {"ior": programs.ior()},
        extras={"tuning": {"IorNode": {"block_mib": 64, **_STONEWALL}}},
    ),
    Machine(
        "ior-two-nodes", "mpi-io", 2, 1, (*_SHARED, TWO, WHOLE), ("ior",), {"ior": programs.ior()},
        extras={"tuning": {"IorEasy": {"block_mib": 64, **_STONEWALL}, "IorHard": {"segments": 400, **_STONEWALL}}},
    ),
    Machine(
        "mdtest-one-node", "mpi-io", 1, 2, ("storage_shared", ONE), ("mdtest",), {"mdtest": programs.mdtest("one")},
        extras={"tuning": {"Mdtest": {"items": 200}}},
    ),
    Machine(
        "mdtest-two-nodes", "mpi-io", 2, 1, (*_SHARED, TWO, WHOLE), ("mdtest",), {"mdtest": programs.mdtest("two")},
        extras={"tuning": {"Mdtest": {"items": 200}}},
    ),
    Machine(
        "iozone", "mpi-io", 1, 1, ("storage_shared", ONE), ("iozone",),
        {"iozone": programs.iozone()},
        extras={"tuning": {"Iozone": {"file_sizes_mib": [4, 8, 16], "request_sizes_kib": [64, 256, 1024]}}},
    ),
    Machine("btio-one-node", "mpi-io", 1, 4, ("storage_shared", ONE), ("btio",), _BTIO, extras=_BTIO_TUNING),
    Machine("btio-two-nodes", "mpi-io", 2, 2, (*_SHARED, TWO, WHOLE), ("btio",), _BTIO, extras=_BTIO_TUNING),
    Machine(
        "fio", "system", 1, 1, ("storage_shared", ONE), ("fio",), {"fio": shows("fio/four_phases.json")},
        extras={"tuning": {"Fio": {"file_size_mib": 16, "runtime_s": 1}}},
    ),
    Machine(
        "lammps", "applications", 1, 2, ("applications",), ("lammps",), {"lmp": programs.lammps()},
        extras={"tuning": {"Lammps": _LAMMPS}},
    ),
    Machine(
        "lammps-2025", "applications", 1, 2, ("applications",), ("lammps",), {"lmp": programs.lammps("release_2025")},
        extras={"tuning": {"Lammps": _LAMMPS}},
    ),
    Machine(
        "openfoam-1912", "openfoam", 1, 2, ("applications",), ("openfoam",),
        {**_MESHES, "icoFoam": programs.openfoam()},
        extras={"tuning": {"OpenFoam": _OPENFOAM}},
    ),
    Machine(
        "sharp", "applications", 1, 2, ("applications", SHARP), ("lammps", "openfoam", "mpi-sharp"),
        {
            **_MESHES, "lmp": programs.with_sharp(programs.lammps()),
            "icoFoam": programs.with_sharp(programs.openfoam()),
        },
        extras={
            "tuning": {
                "Lammps": _LAMMPS, "LammpsOffloaded": _LAMMPS, "OpenFoam": _OPENFOAM, "OpenFoamOffloaded": _OPENFOAM,
            }
        },
        environ_extras={"sharp": _SHARP},
    ),
    Machine(
        "offloaded-sums", "app", 2, 1, (SHARP, EACH, WHOLE), ("sweep-build", "mpi-sharp"),
        {"srun": programs.srun_of_sums()},
        extras={"tuning": {"OffloadedSums": {"iterations": 20}}},
        environ_extras={"sharp": _SHARP, "build_dir": str(FOLDER / "release")},
    ),
    Machine(
        "emt", "app", 2, 1, ("compute", TWO), ("emt",), {"emt": programs.emt()},
        extras={"tuning": {"EmtScaling": {"steps": 2000}}},
    ),
    Machine(
        "gpu-inventory", "system", 1, 1, ("nvidia", EACH), (),
        {"nvidia-smi": programs.nvidia_smi()},
        extras={"gpus_per_node": 1},
    ),
    Machine(
        "babelstream", "gpu", 1, 4, ("nvidia", ONE), ("babelstream",),
        {"cuda-stream": shows("babelstream/cuda_a100.txt")}, extras={"gpus_per_node": 2},
    ),
    Machine(
        "nccl", "gpu", 2, 4, ("nvidia", TWO, WHOLE), ("nccl-tests",),
        {"all_reduce_perf": shows("nccl/all_reduce_version_2_18.txt")},
        extras={"gpus_per_node": 1, "tuning": {"NcclAllReduce": {"largest_mib": 128}}},
    ),
    Machine(
        "nccl-one-node", "gpu", 1, 4, ("nvidia", "several_gpus", ONE), ("nccl-tests",),
        {"all_reduce_perf": shows("nccl/all_reduce_version_2_18.txt")},
        extras={"gpus_per_node": 2, "tuning": {"NcclAllReduce": {"largest_mib": 128}}},
    ),
    Machine(
        "nvbandwidth", "gpu", 1, 7, ("nvidia", "several_gpus", ONE), ("nvbandwidth",),
        {"nvbandwidth": programs.nvbandwidth()}, extras={"gpus_per_node": 7},
    ),
    Machine(
        "hpl-nvidia", "hpl-nvidia", 2, 4, ("nvidia", TWO, WHOLE), ("hpl-nvidia",),
        {"apptainer": programs.hpl_in_container()},
        extras={
            "gpus_per_node": 4, "gpu_memory_gib": 96, "peak_gflops_per_gpu": 60000, "peak_gflops_per_core": 50,
            "tuning": {"HplNvidia": {"order": 299008}, "HplNvidiaScaling": {"orders": [299008]}},
        },
        environ_extras={"hpl_nvidia": {"image": "hpc.sif"}},
    ),
)  # fmt: skip
