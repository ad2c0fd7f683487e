"""``spack/packages.yaml``: what nodes have that Spack need not build: compilers, CMake, Slurm, the MPI library."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kappa.app.survey.found import Survey, Told
from kappa.app.survey.lines import Line
from kappa.app.survey.mpi_libraries import OPEN_MPI, library_of
from kappa.app.survey.yaml_text import flow

PACKAGES = "spack/packages.yaml"
# Debian and RHEL have parts of their MPI elsewhere than its commands; Spack needs one prefix for all.
_OF_THE_SYSTEM = "/usr"
_PACKAGE = {OPEN_MPI: "openmpi", "MPICH": "mpich"}


def external_lines(survey: Survey) -> list[Line]:
    """The file's; none where no node told of a compiler."""
    kinds = [part.told for part in survey.parts.values() if part.told]
    if not kinds or not all(_gcc(one) for one in kinds):
        return []
    return list(_lines(survey, kinds))


def _lines(survey: Survey, kinds: Sequence[Told]) -> Iterator[Line]:
    told = kinds[0]
    source = f"probe of {', '.join(told.by)}"
    yield Line(0, "# What nodes have, which Spack does not build then; docs/spack.md says what more may stand here.")
    yield Line(0, "packages:")
    yield Line(1, '# all: {require: ["target=…"]}: without it Spack takes the instruction set of the login node.')
    gcc = _gcc(told)
    compilers = {language: told.programs[name] for language, name in
                 (("c", "gcc"), ("cxx", "g++"), ("fortran", "gfortran")) if name in told.programs}  # fmt: skip
    languages = "c,c++" + (",fortran" if "fortran" in compilers else "")
    spec = f"gcc@{gcc} languages='{languages}'"
    yield _package("gcc", spec, _prefix(told.programs["gcc"]), source, {"compilers": compilers})
    if cmake := _number(told.versions.get("cmake", "")):
        yield _package("cmake", f"cmake@{cmake}", _prefix(told.programs.get("cmake", "/usr/bin/cmake")), source)
    library = library_of(told.versions.get("mpirun", ""))
    package, place = _PACKAGE.get(library), told.programs.get("mpicc", "")
    version = _number(told.versions.get("mpirun", ""))
    if package and version and place and _prefix(place) != _OF_THE_SYSTEM:
        yield Line(1, f"mpi: {{require: {package}}}")
        yield _package(package, f"{package}@{version}", _prefix(place), source)
    else:
        where = place or "no mpicc on PATH"
        yield Line(1, f"# {library or 'MPI'}: {where}: it has no prefix of its own, Spack builds one.", source)


def _package(name: str, spec: str, prefix: str, source: str, attributes: Mapping[str, Any] | None = None) -> Line:
    external: dict[str, Any] = {"spec": spec, "prefix": prefix}
    if attributes:
        external["extra_attributes"] = dict(attributes)
    return Line(1, f"{name}: {flow({'buildable': False, 'externals': [external]})}", source)


def _gcc(told: Told) -> str:
    """The version of GCC, empty for another compiler or where its commands are not all there."""
    said = told.versions.get("c++", "")
    is_gcc = re.match(r"(c\+\+|g\+\+)\S* \(", said) and {"gcc", "g++"} <= set(told.programs)
    return _number(said) if is_gcc else ""


def _number(said: str) -> str:
    """The last version in it: distributions put theirs before."""
    found = re.findall(r"(?<![\w.-])\d+\.\d+(?:\.\d+)?(?![\w.-])", said)
    return found[-1] if found else ""


def _prefix(place: str) -> str:
    return place.rpartition("/bin/")[0] or _OF_THE_SYSTEM
