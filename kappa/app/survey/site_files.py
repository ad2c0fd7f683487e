"""Write the files of a site from the survey, with pure functions: the same survey gives the same files.

``FILL IN`` marks a value that was not found. Until the user fills it in, the verdict is INCOMPLETE.
``spack/packages.yaml`` lists the nodes' compilers, CMake, Slurm and MPI library, which Spack need not build.
"""

import datetime
import re
from collections.abc import Mapping, Sequence
from typing import Any

from kappa.app.survey.features import ENVIRONMENT, ONE_OF, environment_features, mpi_of
from kappa.app.survey.found import NodeKind, Survey
from kappa.app.survey.mpi import OPEN_MPI, library_of
from kappa.app.survey.partition_lines import write_partition
from kappa.app.survey.reasons import reasons
from kappa.app.survey.site_text import SiteText, flow
from kappa.app.survey.slurm import CONFIG
from kappa.app.survey.theory import Reference, references
from kappa.core.ground.node_lists import folded
from kappa.core.sites.description import CURRENT, KEY
from kappa.core.vocabulary.checks import families as known_families

PACKAGES = "spack/packages.yaml"
# Debian and RHEL install parts of MPI in other folders than its commands. Spack needs one prefix for all.
_OF_THE_SYSTEM = "/usr"
_PACKAGE = {OPEN_MPI: "openmpi", "MPICH": "mpich"}
_ON_REFERENCES = """\
# [value, lower, upper, unit]; bounds are fractions of the value, absolute if the value is 0. They come from
# theory, so on one side only. `kappa learn` proposes references from the site's runs (docs/site.md)."""
SETTINGS = '''"""ReFrame's settings of this site, made from the file site.yaml beside this one."""

import pathlib

from reframe_checks.base.site_settings import site_configuration_of

site_configuration = site_configuration_of(pathlib.Path(__file__).resolve().parent)
'''


def site_files(name: str, survey: Survey, date: datetime.date) -> dict[str, str]:
    """Return the text of each file, by its path in the site's folder."""
    files = {"site.yaml": str(_site(name, survey)), "expected.yaml": str(_expected(survey)), "settings.py": SETTINGS}
    if survey.probed and all(map(_gcc, survey.probed)):
        files[PACKAGES] = str(_packages(survey))
    # Metrics without theory have no reference until measured.
    by_folder: dict[str, list[Reference]] = {family.partition("/")[0]: [] for family in known_families()}
    for reference in references(name, survey):
        by_folder[reference.folder].append(reference)
    return files | {
        f"references/{folder}.yaml": str(_references(of_folder, date))
        for folder, of_folder in sorted(by_folder.items())
    }


def asked(survey: Survey) -> list[str]:
    """Return the marked questions of ``site.yaml`` and ``expected.yaml``."""
    return [*_site("", survey).questions, *_expected(survey).questions]


def _site(name: str, survey: Survey) -> SiteText:
    site, login = SiteText(), survey.login
    written = f"Written by `kappa site new {name}`."
    site.note(f"{written} Each value has its source as a comment. See docs/site-reference.md.", depth=0)
    site.key("descr", f"cluster {survey.cluster}, Slurm {survey.slurm}", CONFIG, depth=0)
    site.key(KEY, CURRENT, depth=0)
    modules_system = login.modules_system if login.modules_system != "nomod" else None
    site.key("modules_system", modules_system, "environment of this machine", depth=0)
    if survey.unreachable:
        site.ask(f"{survey.unreachable}: in no partition that users may use, so no job reaches these nodes", depth=0)
    site.add()
    site.add("partitions:")
    for title, part in survey.parts.items():
        write_partition(site, title, part, survey)
        site.add()
    _write_environment(site, name, survey)
    return site


def _write_environment(site: SiteText, name: str, survey: Survey) -> None:
    features, login = environment_features(survey), survey.login
    site.add("environments:")
    site.note("The programs that all nodes have on PATH.", depth=1)
    site.add(f"{ENVIRONMENT}:", depth=1)
    site.key("features", [*features])
    for feature in ONE_OF:
        site.key(feature, features.get(feature))
    site.key("path", survey.path or None, "--path")
    site.key("modules", login.modules or None, "LOADEDMODULES of this machine")
    if login.can_build:
        has = "this machine has cmake, a C++ compiler, MPI and the headers"
        site.add(f"build_dir: .kappa/build-{name}", has, depth=2)
    else:
        site.ask(f"this machine lacks {', '.join(login.lacks_to_build)} to build the suite's own programs: load their "
                 "modules and run `kappa site new` again")  # fmt: skip
    node = next(iter(survey.probed), NodeKind())
    mpi = mpi_of(node, survey)
    site.key("env_vars", mpi.variables or None, mpi.why)
    if "osu" not in features:
        site.ask("the OSU Micro-Benchmarks are not on PATH of the nodes: run `kappa site new --path FOLDER`, or load "
                 "their module first, or install Spack's environment `mpi-io` (docs/spack.md)")  # fmt: skip
    if others := [module for module in node.modules if module not in login.modules]:
        site.note("Modules for more environments. Add each as a name with `features` and `modules`.", depth=1)
        site.note(" ".join(others), f"probe of {folded(node.by)}: module avail", depth=1)


def _expected(survey: Survey) -> SiteText:
    expected, why_not = SiteText(), reasons(survey)
    expected.note("Why the site lacks features. A missing feature without a reason makes runs INCOMPLETE.", depth=0)
    expected.add("default_mode: nightly")
    expected.key("partitions", [*survey.parts], depth=0)
    expected.add()
    expected.add("not_provided:")
    for feature, why in why_not.not_provided.items():
        expected.key(feature, why, depth=1)
    for feature, why in why_not.asked.items():
        expected.ask(f"{feature}: {why}, but mode smoke needs it: install it, or give the reason here", depth=1)
    if why_not.left_out:
        expected.add()
        expected.add("left_out:")
    for features, titles, why in why_not.left_out:
        expected.add(f"- {flow({'features': features, 'partitions': titles, 'why': why})}", depth=1)
    return expected


def _packages(survey: Survey) -> SiteText:
    spack, node = SiteText(), survey.probed[0]
    source = f"probe of {', '.join(node.by)}"

    def package(name: str, spec: str, prefix: str, attributes: Mapping[str, Any] = {}) -> None:
        external = {"spec": spec, "prefix": prefix, **attributes}
        spack.key(name, {"buildable": False, "externals": [external]}, source, depth=1)

    spack.note("Programs of the nodes, which Spack does not build; docs/spack.md lists what else you can add.", depth=0)
    spack.add("packages:")
    spack.note('all: {require: ["target=…"]}: without it Spack takes the instruction set of the login node.', depth=1)
    commands = {"c": "gcc", "cxx": "g++", "fortran": "gfortran"}
    compilers = {language: node.programs[name] for language, name in commands.items() if name in node.programs}
    languages = "c,c++" + (",fortran" if "fortran" in compilers else "")
    spec = f"gcc@{_gcc(node)} languages='{languages}'"
    package("gcc", spec, _prefix(node.programs["gcc"]), {"extra_attributes": {"compilers": compilers}})
    if cmake := _version(node.versions.get("cmake", "")):
        package("cmake", f"cmake@{cmake}", _prefix(node.programs.get("cmake", "/usr/bin/cmake")))
    library = library_of(node.versions.get("mpirun", ""))
    mpi, mpicc = _PACKAGE.get(library), node.programs.get("mpicc", "")
    version = _version(node.versions.get("mpirun", ""))
    if mpi and version and mpicc and _prefix(mpicc) != _OF_THE_SYSTEM:
        spack.key("mpi", {"require": mpi}, depth=1)
        package(mpi, f"{mpi}@{version}", _prefix(mpicc))
    else:
        where = f"{library or 'MPI'}: {mpicc or 'no mpicc on PATH'}"
        spack.note(f"{where}: without its own prefix, so Spack builds one.", source, depth=1)
    return spack


def _gcc(node: NodeKind) -> str:
    """Return the version of GCC; empty for another compiler, or if one of its commands is missing."""
    version = node.versions.get("c++", "")
    is_gcc = re.match(r"(c\+\+|g\+\+)\S* \(", version) and {"gcc", "g++"} <= set(node.programs)
    return _version(version) if is_gcc else ""


def _version(text: str) -> str:
    """Return the last version in a text, because distributions put their own version before."""
    versions = re.findall(r"(?<![\w.-])\d+\.\d+(?:\.\d+)?(?![\w.-])", text)
    return versions[-1] if versions else ""


def _prefix(path: str) -> str:
    return path.rpartition("/bin/")[0] or _OF_THE_SYSTEM


def _references(of_folder: Sequence[Reference], date: datetime.date) -> SiteText:
    text = SiteText()
    text.add(_ON_REFERENCES)
    # Check, then each key, then metric.
    nested: dict[str, Any] = {}
    for reference in of_folder:
        inside = nested.setdefault(reference.check, {"$index": list(reference.by)})
        for key in reference.keys:
            inside = inside.setdefault(key, {})
        inside[reference.metric] = [reference.value, reference.lower, reference.upper, reference.unit]
    _write_nested(text, nested, 0)
    text.add("$sources:" if of_folder else "$sources: []")
    day = date.isoformat()
    for check, metric, method in dict.fromkeys((one.check, one.metric, one.method) for one in of_folder):
        source = {"match": f"{check}.*.{metric}", "source": "theoretical", "date": day, "samples": 0, "method": method}
        text.add(f"- {flow(source)}", depth=1)
    return text


def _write_nested(text: SiteText, values: Mapping[str, Any], depth: int) -> None:
    for key, value in values.items():
        if isinstance(value, dict):
            text.add(f"{flow(key)}:", depth=depth)
            _write_nested(text, value, depth + 1)
        else:
            text.key(key, value, depth=depth)
