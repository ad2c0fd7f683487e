"""Read the catalogue of the suite's checks, ``checks.json``: ReFrame's data on them, for code without ReFrame.

``make docs`` writes the file from the classes. A test fails if it is out of date.
"""

import functools
import pathlib
import re
from importlib import resources
from typing import Any

import msgspec

from kappa.core.vocabulary.tunables import Tunable

FILE = "checks.json"
SUITE = pathlib.Path(__file__).parents[3] / "reframe_checks"
_DECLARED = re.compile(r"^@rfm\.simple_test\nclass (\w+)", re.MULTILINE)
_LOW_IS_GOOD = frozenset({"s", "ms", "us", "ns", "W", "J"})
_FAMILY = re.compile(r'^    family = "([^"]+)"', re.MULTILINE)


class CataloguedCase(msgspec.Struct, frozen=True):
    """One case of a check: its parameters, and the features of a partition that it needs."""

    parameters: dict[str, str]
    features: list[str]


class CataloguedCheck(msgspec.Struct, frozen=True):
    """A check class. ``needs_environ`` has ``a|b`` if one of two features is enough; ``metrics`` maps metric to unit.

    ``on_fabrics``: it also runs on simulated partitions. Other checks run only on nodes that exist.
    ``failure_means``, ``hint``: plain sentences. ``runs``: the first paragraph of the docstring. ``programs``: the
    programs that the class names. ``measured_s``, ``estimated_s``: one of them is 0. ``informational``: metrics without
    a bound. ``defaults``: of the tunables. ``pages``: pages of docs/ that explain the check.
    """

    family: str
    descr: str
    modes: list[str]
    needs_environ: list[str]
    metrics: dict[str, str]
    tunables: dict[str, Tunable]
    cases: list[CataloguedCase]
    on_fabrics: bool = False
    failure_means: str = ""
    hint: str = ""
    runs: str = ""
    programs: list[str] = []
    measured_s: float = 0
    estimated_s: float = 0
    informational: list[str] = []
    defaults: dict[str, Any] = {}
    pages: list[str] = []

    def values_of(self, parameter: str) -> list[str]:
        """Return all values of the parameter; an empty list if the check has no such parameter."""
        return list(dict.fromkeys(case.parameters[parameter] for case in self.cases if parameter in case.parameters))

    @property
    def parameters(self) -> list[str]:
        return list(dict.fromkeys(name for case in self.cases for name in case.parameters))


def worse_by_unit(unit: str) -> int:
    """+1 when higher values of the unit are worse, -1 when lower ones are, 0 when the unit does not tell."""
    if unit in _LOW_IS_GOOD:
        return 1
    return -1 if unit.endswith("/s") or unit == "IOPS" else 0


def decoded(text: bytes) -> dict[str, CataloguedCheck]:
    return msgspec.json.decode(text, type=dict[str, CataloguedCheck])


@functools.cache
def catalogue() -> dict[str, CataloguedCheck]:
    """Return every check class of the suite by name."""
    return decoded(resources.files(__package__).joinpath(FILE).read_bytes())


def declared() -> dict[str, str]:
    """Return the family of each check class in the suite's source; empty if the source does not name it."""
    found: dict[str, str] = {}
    for path in sorted(SUITE.glob("*/*.py")):
        text = path.read_text(encoding="utf-8")
        family = _FAMILY.search(text)
        found |= dict.fromkeys(_DECLARED.findall(text), family[1] if family else "")
    return found


@functools.cache
def modules() -> dict[str, str]:
    """Return the module of each check class in the suite's source."""
    return {
        name: f"{SUITE.name}.{path.parent.name}.{path.stem}"
        for path in sorted(SUITE.glob("*/*.py"))
        for name in _DECLARED.findall(path.read_text(encoding="utf-8"))
    }


@functools.cache
def uncatalogued() -> dict[str, str]:
    """Return the family of each declared check class that the catalogue does not contain yet.

    The metrics of such a check are known only after it has run.
    """
    return {name: family for name, family in declared().items() if name not in catalogue()}


@functools.cache
def families() -> dict[str, tuple[str, ...]]:
    """Return the check classes of each family."""
    found: dict[str, tuple[str, ...]] = {}
    known = {name: check.family for name, check in catalogue().items()}
    for name, family in {**known, **uncatalogued()}.items():
        found[family] = (*found.get(family, ()), name)
    return found
