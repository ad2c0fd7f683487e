"""Write the files of a site from the survey, with pure functions: the same survey gives the same files.

``FILL IN`` marks a value that was not found. Until the user fills it in, the verdict is INCOMPLETE.
``spack/packages.yaml`` lists the nodes' compilers, CMake, Slurm and MPI library, which Spack need not build.
"""

import datetime
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kappa.app.survey.features import (
    ENVIRONMENT,
    ONE_OF,
    environment_features,
    mpi_of,
)
from kappa.app.survey.found import NodeKind, Survey
from kappa.app.survey.mpi import OPEN_MPI, library_of
from kappa.app.survey.partition_lines import MARK, SiteLine, ask, flow, partition_lines
from kappa.app.survey.reasons import reasons
from kappa.app.survey.slurm import CONFIG
from kappa.app.survey.theory import Reference, references
from kappa.core.ground.node_lists import folded
from kappa.core.sites.description import CURRENT, KEY
from kappa.core.vocabulary.checks import families as known_families

PACKAGES = "spack/packages.yaml"
# Debian and RHEL install parts of MPI in other folders than its commands. Spack needs one prefix for all.
_OF_THE_SYSTEM = "/usr"
_PACKAGE = {OPEN_MPI: "openmpi", "MPICH": "mpich"}
SETTINGS = '''"""ReFrame's settings of this site, made from the file site.yaml beside this one."""

import pathlib

from reframe_checks.base.site_settings import site_configuration_of

site_configuration = site_configuration_of(pathlib.Path(__file__).resolve().parent)
'''


def external_lines(survey: Survey) -> list[SiteLine]:
    """Return the lines of ``spack/packages.yaml``; none if a kind of node has no GCC."""
    kinds = [part.told for part in survey.parts.values() if part.told]
    if not kinds or not all(_gcc(one) for one in kinds):
        return []
    return list(_lines(survey, kinds))


def _lines(survey: Survey, kinds: Sequence[NodeKind]) -> Iterator[SiteLine]:
    told = kinds[0]
    source = f"probe of {', '.join(told.by)}"
    yield SiteLine(0, "# Programs of the nodes, which Spack does not build; docs/spack.md lists what else you can add.")
    yield SiteLine(0, "packages:")
    yield SiteLine(1, '# all: {require: ["target=…"]}: without it Spack takes the instruction set of the login node.')
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
        yield SiteLine(1, f"mpi: {{require: {package}}}")
        yield _package(package, f"{package}@{version}", _prefix(place), source)
    else:
        where = place or "no mpicc on PATH"
        yield SiteLine(1, f"# {library or 'MPI'}: {where}: without its own prefix, so Spack builds one.", source)


def _package(name: str, spec: str, prefix: str, source: str, attributes: Mapping[str, Any] | None = None) -> SiteLine:
    external: dict[str, Any] = {"spec": spec, "prefix": prefix}
    if attributes:
        external["extra_attributes"] = dict(attributes)
    return SiteLine(1, f"{name}: {flow({'buildable': False, 'externals': [external]})}", source)


def _gcc(told: NodeKind) -> str:
    """Return the version of GCC; empty for another compiler, or if one of its commands is missing."""
    said = told.versions.get("c++", "")
    is_gcc = re.match(r"(c\+\+|g\+\+)\S* \(", said) and {"gcc", "g++"} <= set(told.programs)
    return _number(said) if is_gcc else ""


def _number(said: str) -> str:
    """Return the last version in a text, because distributions put their own version before."""
    found = re.findall(r"(?<![\w.-])\d+\.\d+(?:\.\d+)?(?![\w.-])", said)
    return found[-1] if found else ""


def _prefix(place: str) -> str:
    return place.rpartition("/bin/")[0] or _OF_THE_SYSTEM


def site_files(name: str, survey: Survey, date: datetime.date) -> dict[str, str]:
    """Return the text of each file, by its path in the site's folder."""
    found = {
        "site.yaml": _text(_site(name, survey)),
        "expected.yaml": _text(_expected(survey)),
        "settings.py": SETTINGS,
    }
    if externals := external_lines(survey):
        found[PACKAGES] = _text(iter(externals))
    return found | _references(name, survey, date)


def asked(survey: Survey) -> list[str]:
    """Return the marked questions of ``site.yaml`` and ``expected.yaml``, one line each."""
    lines = [*_site("", survey), *_expected(survey)]
    return [str(line.text).lstrip("# ") for line in lines if MARK in line.text]


def _text(lines: Iterator[SiteLine]) -> str:
    return "\n".join(map(str, lines)) + "\n"


def _site(name: str, survey: Survey) -> Iterator[SiteLine]:
    yield SiteLine(
        0,
        f"# Written by `kappa site new {name}`. Each value has its source as a comment. See docs/site-reference.md.",
    )
    yield SiteLine(0, f"descr: {flow(f'cluster {survey.cluster}, Slurm {survey.slurm}')}", CONFIG)
    yield SiteLine(0, f"{KEY}: {CURRENT}")
    if survey.login.modules_system != "nomod":
        yield SiteLine(0, f"modules_system: {survey.login.modules_system}", "environment of this machine")
    if survey.unreachable:
        yield ask(0, f"{survey.unreachable}: in no partition that users may use, so no job reaches these nodes")
    yield SiteLine(0, "")
    yield SiteLine(0, "partitions:")
    for title, part in survey.parts.items():
        yield from partition_lines(title, part, survey)
        yield SiteLine(0, "")
    yield from _environment(name, survey)


def _environment(name: str, survey: Survey) -> Iterator[SiteLine]:
    features = environment_features(survey)
    told = next((part.told for part in survey.parts.values() if part.told), None)
    yield SiteLine(0, "environments:")
    yield SiteLine(1, "# The programs that all nodes have on PATH.")
    yield SiteLine(1, f"{ENVIRONMENT}:")
    yield SiteLine(2, f"features: {flow([*features])}")
    for feature in ONE_OF:
        if feature in features:
            yield SiteLine(2, f"{feature}: {features[feature]}")
    if survey.path:
        yield SiteLine(2, f"path: {flow(survey.path)}", "--path")
    if survey.login.modules:
        yield SiteLine(2, f"modules: {flow(survey.login.modules)}", "LOADEDMODULES of this machine")
    if survey.login.can_build:
        yield SiteLine(
            2, f"build_dir: .kappa/build-{name}", "this machine has cmake, a C++ compiler, MPI and the headers"
        )
    else:
        yield ask(
            2,
            f"this machine lacks {', '.join(survey.login.lacks_to_build)} to build the suite's own programs: load "
            "their modules and run `kappa site new` again",
        )
    if told and (variables := mpi_of(told, survey).variables):
        yield SiteLine(2, f"env_vars: {flow(variables)}", mpi_of(told, survey).why)
    if "osu" not in features:
        yield ask(
            2,
            "the OSU Micro-Benchmarks are not on PATH of the nodes: run `kappa site new --path FOLDER`, or load their "
            "module first, or install Spack's environment `mpi-io` (docs/spack.md)",
        )
    others = [name for name in told.modules if name not in survey.login.modules] if told else []
    if told and others:
        yield SiteLine(1, "# Modules for more environments. Add each as a name with `features` and `modules`.")
        yield SiteLine(1, f"# {' '.join(others)}", f"probe of {folded(told.by)}: module avail")


def _expected(survey: Survey) -> Iterator[SiteLine]:
    found = reasons(survey)
    yield SiteLine(0, "# Why the site lacks features. A missing feature without a reason makes runs INCOMPLETE.")
    yield SiteLine(0, "default_mode: nightly")
    yield SiteLine(0, f"partitions: {flow([*survey.parts])}")
    yield SiteLine(0, "")
    yield SiteLine(0, "not_provided:")
    yield from (SiteLine(1, f"{feature}: {flow(why)}") for feature, why in found.not_provided.items())
    for feature, why in found.asked.items():
        yield ask(1, f"{feature}: {why}, but mode smoke needs it: install it, or give the reason here")
    if found.left_out:
        yield SiteLine(0, "")
        yield SiteLine(0, "left_out:")
    for features, titles, why in found.left_out:
        yield SiteLine(1, f"- {flow({'features': features, 'partitions': titles, 'why': why})}")


def _references(name: str, survey: Survey, date: datetime.date) -> dict[str, str]:
    """Return a reference file for each folder of checks. Metrics without theory have no reference until measured."""
    by_folder: dict[str, list[Reference]] = {family.partition("/")[0]: [] for family in known_families()}
    for reference in references(name, survey):
        by_folder.setdefault(reference.folder, []).append(reference)
    return {
        f"references/{folder}.yaml": _text(_reference_lines(found, date)) for folder, found in sorted(by_folder.items())
    }


def _reference_lines(found: list[Reference], date: datetime.date) -> Iterator[SiteLine]:
    yield SiteLine(
        0,
        "# [value, lower, upper, unit]; bounds are fractions of the value, absolute if the value is 0. They come from",
    )
    yield SiteLine(
        0, "# theory, so on one side only. `kappa learn` proposes references from the site's runs (docs/site.md)."
    )
    for check in dict.fromkeys(one.check for one in found):
        ours = [one for one in found if one.check == check]
        yield SiteLine(0, f"{check}:")
        yield SiteLine(1, f"$index: {flow(ours[0].by)}")
        yield from _nested({one.keys: [other for other in ours if other.keys == one.keys] for one in ours}, 1, ())
    yield SiteLine(0, "$sources:" if found else "$sources: []")
    for check, metric, method in dict.fromkeys((one.check, one.metric, one.method) for one in found):
        match, day = f"{check}.*.{metric}", date.isoformat()
        source = {"match": match, "source": "theoretical", "date": day, "samples": 0, "method": method}
        yield SiteLine(1, f"- {flow(source)}")


def _nested(found: dict[tuple[str, ...], list[Reference]], depth: int, above: tuple[str, ...]) -> Iterator[SiteLine]:
    level = len(above)
    for key in dict.fromkeys(keys[level] for keys in found if keys[:level] == above):
        here = (*above, key)
        yield SiteLine(depth, f"{flow(key)}:")
        if here in found:
            for one in found[here]:
                yield SiteLine(depth + 1, f"{one.metric}: {flow([one.value, one.lower, one.upper, one.unit])}")
        else:
            yield from _nested(found, depth + 1, here)
