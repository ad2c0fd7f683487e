"""Identify MPI libraries, find how Slurm starts their ranks, and list further libraries of a node.

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

from msgspec import Struct

from kappa.app.survey.probe import MpiPlace, Probe

OPEN_MPI, INTEL, HYDRA, CRAY = "Open MPI", "Intel MPI", "MPICH", "Cray MPICH"
MVAPICH = "MVAPICH"
# Macros of mpi.h. Derivatives of MPICH define MPICH's version, too.
_DEFINED = {
    "I_MPI_VERSION": INTEL, "CRAY_MPICH_VERSION": CRAY, "MVAPICH2_VERSION": MVAPICH, "MVAPICH_VERSION": MVAPICH,
    "MPICH_VERSION": HYDRA,
}  # fmt: skip
_OMPI = ("OMPI_MAJOR_VERSION", "OMPI_MINOR_VERSION", "OMPI_RELEASE_VERSION")
_BY_PATH = {
    r"/cray/": CRAY, r"/(oneapi/mpi|impi)/": INTEL, r"mvapich": MVAPICH, r"mpich": HYDRA,
    r"openmpi|/ompi|hpcx|hpc_sdk|libmpi\.so\.[1-9][0-9]": OPEN_MPI,
}  # fmt: skip
_NUMBER = re.compile(r"(?<![\d.])\d+\.\d+(?:\.\d+)*")
# Names of modules, without signs between words.
_MODULES = {OPEN_MPI: "openmpi|ompi|hpcx", INTEL: "impi|intelmpi|oneapi|^mpi", HYDRA: "mpich", CRAY: "craympich",
            MVAPICH: "mvapich"}  # fmt: skip
_SOURCES = {"alternatives": "update-alternatives", "ldconfig": "ldconfig -p"}
_PLUG_INS = {OPEN_MPI: ("pmix", "pmi2"), HYDRA: ("pmi2",), CRAY: ("cray_shasta",)}
_LAUNCHERS = {OPEN_MPI: "mpirun-openmpi", HYDRA: "mpiexec.hydra", INTEL: "mpiexec.hydra"}
# Without this, Intel MPI's Hydra places ranks as Slurm does, and ignores -ppn.
_INTELS_VARIABLES = {"I_MPI_JOB_RESPECT_PROCESS_PLACEMENT": "0"}


class FurtherMpi(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A further MPI library. ``place``: its folder, or its mpirun or library. ``version`` may be unknown."""

    library: str
    version: str
    place: str
    source: str


def library_of(version: str) -> str:
    """Return the library from the first line of ``mpirun --version``; empty for an unknown one."""
    if "Intel(R) MPI" in version:
        return INTEL
    if re.search(r"\((Open MPI|OpenRTE|PRRTE)\)|Open MPI|PRRTE", version):
        return OPEN_MPI
    if "CRAY MPICH" in version:
        return CRAY
    return HYDRA if re.search(r"HYDRA|MPICH|MVAPICH", version) else ""


def further_mpi(node: Probe) -> list[FurtherMpi]:
    """Return the libraries in the usual places, each once, without those on PATH and in modules."""
    known = [_library(place) for place in node.mpi_places if place.source == "path"]
    further = []
    for library in (_library(place) for place in node.mpi_places if place.source != "path"):
        if library.library and not any(_same(library, other) for other in known):
            known.append(library)
            if not _of_module(library, node.modules):
                further.append(library)
    return further


def _library(found: MpiPlace) -> FurtherMpi:
    """Return the library and its version, from its files or its path; empty if unknown."""
    defined = dict(re.findall(r"(\w+)=([\w.-]+)", found.said))
    if macro := next((name for name in _DEFINED if name in defined), None):
        library, version = _DEFINED[macro], defined[macro]
    elif all(name in defined for name in _OMPI):
        library, version = OPEN_MPI, ".".join(defined[name] for name in _OMPI)
    else:
        by_path = next((name for pattern, name in _BY_PATH.items() if re.search(pattern, found.place)), "")
        library = (MVAPICH if MVAPICH in found.said else library_of(found.said)) or by_path
        folder = "" if found.source == "ldconfig" else found.place.rpartition("/")[2]
        number = _NUMBER.search(found.said) or _NUMBER.search(folder)
        version = number[0] if number else ""
    source = _SOURCES.get(found.source, found.source)
    return FurtherMpi(library=library, version=version, place=found.place, source=source)


def _same(one: FurtherMpi, other: FurtherMpi) -> bool:
    """Return whether both are the same library. Distributions spread a library over several folders of /usr."""
    spread = all(re.match(r"/usr/(?!local/|mpi/)", place) for place in (one.place, other.place))
    versions = {one.version, other.version} - {""}
    alike = one.library == other.library and len(versions) < 2
    return f"{other.place}/".startswith(f"{one.place}/") or (spread and alike)


def _of_module(one: FurtherMpi, modules: Sequence[str]) -> bool:
    """Return whether a module is of this library: by the version in its name, or as RHEL's `mpi/openmpi-x86_64`."""
    folder, version = one.place.rpartition("/")[2], rf"(?<![\d.]){re.escape(one.version)}(?!\d)"
    return any(
        re.search(_MODULES[one.library], re.sub(r"[^a-z0-9]", "", name.lower()))
        and (name.startswith(f"mpi/{folder}-") or (one.version and re.search(version, name)))
        for name in modules
    )


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
