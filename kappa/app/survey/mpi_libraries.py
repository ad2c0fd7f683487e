"""MPI libraries by what they say of themselves, and those that lie beside the one on PATH and those of modules."""

import re
from collections.abc import Sequence

from msgspec import Struct

from kappa.app.survey.probe import MpiPlace, Probe

OPEN_MPI, INTEL, HYDRA, CRAY = "Open MPI", "Intel MPI", "MPICH", "Cray MPICH"
MVAPICH = "MVAPICH"
# What mpi.h defines; MPICH's kin keep MPICH's own version beside theirs.
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
# As modules are called, without signs between words.
_MODULES = {OPEN_MPI: "openmpi|ompi|hpcx", INTEL: "impi|intelmpi|oneapi|^mpi", HYDRA: "mpich", CRAY: "craympich",
            MVAPICH: "mvapich"}  # fmt: skip
_SOURCES = {"alternatives": "update-alternatives", "ldconfig": "ldconfig -p"}


class FurtherMpi(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``place``: its folder, or its mpirun or library where distributions spread it; ``version`` may be unknown."""

    library: str
    version: str
    place: str
    source: str


def library_of(version: str) -> str:
    """By what ``mpirun --version`` says first, or the probe in its place; empty for another."""
    if "Intel(R) MPI" in version:
        return INTEL
    if re.search(r"\((Open MPI|OpenRTE|PRRTE)\)|Open MPI|PRRTE", version):
        return OPEN_MPI
    if "CRAY MPICH" in version:
        return CRAY
    return HYDRA if re.search(r"HYDRA|MPICH|MVAPICH", version) else ""


def further_mpi(node: Probe) -> list[FurtherMpi]:
    """Return the libraries of the usual places, each once, without the one on PATH and those of modules."""
    known = [_found(place) for place in node.mpi_places if place.source == "path"]
    found = []
    for one in (_found(place) for place in node.mpi_places if place.source != "path"):
        if one.library and not any(_same(one, other) for other in known):
            known.append(one)
            if not _of_module(one, node.modules):
                found.append(one)
    return found


def _found(place: MpiPlace) -> FurtherMpi:
    library, version = _named(place)
    source = _SOURCES.get(place.source, place.source)
    return FurtherMpi(library=library, version=version, place=place.place, source=source)


def _named(found: MpiPlace) -> tuple[str, str]:
    """The library and its version, each empty where neither its files nor its path tell it."""
    defined = dict(re.findall(r"(\w+)=([\w.-]+)", found.said))
    for name, library in _DEFINED.items():
        if name in defined:
            return library, defined[name]
    if all(name in defined for name in _OMPI):
        return OPEN_MPI, ".".join(defined[name] for name in _OMPI)
    by_path = next((name for pattern, name in _BY_PATH.items() if re.search(pattern, found.place)), "")
    said = MVAPICH if MVAPICH in found.said else library_of(found.said)
    folder = "" if found.source == "ldconfig" else found.place.rpartition("/")[2]
    number = _NUMBER.search(found.said) or _NUMBER.search(folder)
    return said or by_path, number[0] if number else ""


def _same(one: FurtherMpi, other: FurtherMpi) -> bool:
    """Distributions spread a library over folders of /usr, where each of its parts is found."""
    spread = all(re.match(r"/usr/(?!local/|mpi/)", place) for place in (one.place, other.place))
    versions = {one.version, other.version} - {""}
    alike = one.library == other.library and len(versions) < 2
    return f"{other.place}/".startswith(f"{one.place}/") or (spread and alike)


def _of_module(one: FurtherMpi, modules: Sequence[str]) -> bool:
    """By the module's name, which holds the version, or the folder's name as `mpi/openmpi-x86_64` of RHEL."""
    folder, version = one.place.rpartition("/")[2], rf"(?<![\d.]){re.escape(one.version)}(?!\d)"
    return any(
        re.search(_MODULES[one.library], re.sub(r"[^a-z0-9]", "", name.lower()))
        and (name.startswith(f"mpi/{folder}-") or (one.version and re.search(version, name)))
        for name in modules
    )
