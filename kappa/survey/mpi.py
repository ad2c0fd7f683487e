"""How Slurm starts ranks of the MPI library that nodes have: what srun has to be told, if anything.

By ``srun --mpi=list``, the setting MpiDefault, and the first line of ``mpirun --version``. Open MPI takes PMIx (since
5.0 nothing else), MPICH and its kin PMI-2, Intel MPI PMI-2 by a library of Slurm's. https://slurm.schedmd.com/mpi_guide.html
"""

import re
from typing import NamedTuple

from kappa.survey.found import Survey, Told

OPEN_MPI, INTEL, HYDRA = "Open MPI", "Intel MPI", "MPICH"


class Mpi(NamedTuple):
    """``variables`` of every job; ``launcher`` of ReFrame where srun will not do; ``why`` in words."""

    library: str
    variables: dict[str, str]
    launcher: str
    why: str


def library_of(version: str) -> str:
    """By what ``mpirun --version`` says first; empty for another."""
    if "Intel(R) MPI" in version:
        return INTEL
    if re.search(r"\((Open MPI|OpenRTE|PRRTE)\)|Open MPI|PRRTE", version):
        return OPEN_MPI
    return HYDRA if re.search(r"HYDRA|MPICH|MVAPICH", version) else ""


def mpi_of(told: Told, survey: Survey) -> Mpi:
    library, offered = library_of(told.versions.get("mpirun", "")), survey.mpi_types
    wanted = {OPEN_MPI: ("pmix", "pmi2"), HYDRA: ("pmi2", "cray_shasta", "pmix"), INTEL: ("pmi2",)}.get(library, ())
    if library == OPEN_MPI and _major(told.versions["mpirun"]) >= 5:
        wanted = ("pmix",)
    variables: dict[str, str] = {}
    if library == OPEN_MPI and survey.login.shares_machine:
        # Virtual nodes would all bind their first rank to the same core, and there are more ranks than cores.
        variables = {"OMPI_MCA_hwloc_base_binding_policy": "none", "OMPI_MCA_mpi_yield_when_idle": "1"}
    fitting = [one for one in wanted if any(re.fullmatch(rf"{one}(_v\d+)?", offer) for offer in offered)]
    if not wanted or re.sub(r"_v\d+$", "", survey.mpi_default) in fitting:
        return Mpi(library, variables, "", "nodes share the cores of one machine" if variables else "")
    if fitting:
        why = f"{library}; srun --mpi=list has {fitting[0]}, MpiDefault is {survey.mpi_default or 'none'}"
        return Mpi(library, {**variables, "SLURM_MPI_TYPE": fitting[0]}, "", why)
    launcher = {OPEN_MPI: "mpirun-openmpi", INTEL: "mpirun-intelmpi"}.get(library, "mpirun")
    return Mpi(library, variables, launcher, f"{library}; srun --mpi=list has none of {', '.join(wanted)}")


def _major(version: str) -> int:
    match = re.search(r"(\d+)\.\d+", version)
    return int(match[1]) if match else 0
