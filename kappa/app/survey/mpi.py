"""How Slurm starts ranks of the MPI library that nodes have: what srun has to be told, or which launcher does it.

By ``srun --mpi=list``, the setting MpiDefault, and the first line of ``mpirun --version``. Open MPI takes PMIx (since
5.0 nothing else), MPICH and its kin PMI-2, Cray MPICH, which has no mpirun, Slurm's cray_shasta. Intel MPI takes PMI-2
of srun only with Slurm's libpmi2.so in I_MPI_PMI_LIBRARY, else each rank is alone: its own Hydra, which starts
itself by srun, needs nothing. https://slurm.schedmd.com/mpi_guide.html
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from kappa.app.survey.found import Survey, Told
from kappa.app.survey.mpi_libraries import CRAY, HYDRA, INTEL, OPEN_MPI, library_of

_PLUG_INS = {OPEN_MPI: ("pmix", "pmi2"), HYDRA: ("pmi2",), CRAY: ("cray_shasta",)}
_LAUNCHERS = {OPEN_MPI: "mpirun-openmpi", HYDRA: "mpiexec.hydra", INTEL: "mpiexec.hydra"}
# Else Hydra of Intel MPI places ranks as Slurm would, whatever -ppn says.
_INTELS_VARIABLES = {"I_MPI_JOB_RESPECT_PROCESS_PLACEMENT": "0"}


class Mpi(NamedTuple):
    """``variables`` of every job; ``launcher`` of ReFrame where srun will not do; ``why`` in words."""

    library: str
    variables: dict[str, str]
    launcher: str
    why: str


def mpi_of(told: Told, survey: Survey) -> Mpi:
    mpi = starting(told.versions.get("mpirun", ""), survey.mpi_types, survey.mpi_default)
    if mpi.library != OPEN_MPI or not survey.login.shares_machine:
        return mpi
    # Virtual nodes would all bind their first rank to the same core, and there are more ranks than cores.
    shared = {"OMPI_MCA_hwloc_base_binding_policy": "none", "OMPI_MCA_mpi_yield_when_idle": "1"}
    return mpi._replace(variables=shared | mpi.variables, why=mpi.why or "nodes share the cores of one machine")


def starting(version: str, offered: Sequence[str], default: str) -> Mpi:
    """How ranks are started of the library of which ``mpirun --version`` says ``version`` first.

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
