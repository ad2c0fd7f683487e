"""Identify MPI libraries, and find how Slurm starts their ranks.

Sources are ``srun --mpi=list``, the setting MpiDefault, and the first line of ``mpirun --version``. Plug-ins:

- Open MPI: PMIx (since 5.0 nothing else);
- MPICH and its derivatives: PMI-2;
- Cray MPICH, which has no mpirun: Slurm's cray_shasta;
- Intel MPI: PMI-2 of srun only with Slurm's libpmi2.so in I_MPI_PMI_LIBRARY, else each rank is alone. Its own Hydra,
  which starts through srun, needs nothing.

https://slurm.schedmd.com/mpi_guide.html
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

OPEN_MPI, INTEL, HYDRA, CRAY = "Open MPI", "Intel MPI", "MPICH", "Cray MPICH"
_PLUG_INS = {OPEN_MPI: ("pmix", "pmi2"), HYDRA: ("pmi2",), CRAY: ("cray_shasta",)}
_LAUNCHERS = {OPEN_MPI: "mpirun-openmpi", HYDRA: "mpiexec.hydra", INTEL: "mpiexec.hydra"}
# Without this, Intel MPI's Hydra places ranks as Slurm does, and ignores -ppn.
_INTELS_VARIABLES = {"I_MPI_JOB_RESPECT_PROCESS_PLACEMENT": "0"}


def library_of(version: str) -> str:
    """Return the library from the first line of ``mpirun --version``; empty for an unknown one."""
    if "Intel(R) MPI" in version:
        return INTEL
    if re.search(r"\((Open MPI|OpenRTE|PRRTE)\)|Open MPI|PRRTE", version):
        return OPEN_MPI
    if "CRAY MPICH" in version:
        return CRAY
    return HYDRA if re.search(r"HYDRA|MPICH|MVAPICH", version) else ""


class Mpi(NamedTuple):
    """``variables``: for every job. ``launcher``: ReFrame's, if srun does not work. ``why``: the reason in words."""

    library: str
    variables: dict[str, str]
    launcher: str
    why: str


def starting(version: str, offered: Sequence[str], default: str) -> Mpi:
    """Return how to start ranks of an MPI library.

    :param version: the first line of ``mpirun --version``.
    :param offered: the plug-ins of ``srun --mpi=list``, with and without version (``pmix_v4``).
    :param default: Slurm's MpiDefault.
    """
    library = library_of(version)
    if library == INTEL:
        return Mpi(library, _INTELS_VARIABLES, _LAUNCHERS[INTEL], f"{library}; its Hydra needs nothing of srun")
    wanted = ("pmix",) if library == OPEN_MPI and _major(version) >= 5 else _PLUG_INS.get(library, ())
    fitting = [one for one in wanted if any(re.fullmatch(rf"{one}(_v\d+)?", offer) for offer in offered)]
    if not wanted or re.sub(r"_v\d+$", "", default) in fitting:
        return Mpi(library, {}, "", "")
    if fitting:
        why = f"{library}; srun --mpi=list has {fitting[0]}, MpiDefault is {default or 'none'}"
        return Mpi(library, {"SLURM_MPI_TYPE": fitting[0]}, "", why)
    launcher = _LAUNCHERS.get(library, "")
    return Mpi(library, {}, launcher, f"{library}; srun --mpi=list has none of {', '.join(wanted)}")


def _major(version: str) -> int:
    match = re.search(r"(\d+)\.\d+", version)
    return int(match[1]) if match else 0
