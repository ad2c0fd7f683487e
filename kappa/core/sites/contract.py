"""Read a site's contract, ``acceptance.yaml``, as plain data, and check its selectors against the suite.

A clause is about one series of measurements, or has a block of ``outage_clauses.py``, ``operation_clauses.py`` or
``derived_clauses.py``. With the block of ``energy_clause.py``, a clause about a series is about its energy.
"""

import datetime
import math
import pathlib
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, field
from msgspec.structs import asdict

from kappa.core.ground.documents import Path, YamlFile, require_sound
from kappa.core.ground.figures import figure
from kappa.core.sites.derived_clauses import AgreedChange, Index, Retained
from kappa.core.sites.energy_clause import PER, RUN, Energy, unit_problem
from kappa.core.sites.operation_clauses import JobMix, OperationTime
from kappa.core.sites.outage_clauses import Availability, OutageTerms, Reliability
from kappa.core.sites.site_file import SiteDescription
from kappa.core.sites.tender_terms import RunRules, TenderOrigin
from kappa.core.vocabulary.checks import CataloguedCheck, catalogue, families, uncatalogued
from kappa.core.vocabulary.modes import MODES

FILE = "acceptance.yaml"
# `$` alone would also match before a line end.
_Text = Annotated[
    str, Meta(min_length=1, max_length=2000, pattern=r"\S", description="some text of at most 2000 characters")
]
_Name = Annotated[
    str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$(?!\n)", description="letters, digits, '.', '_' and '-'")
]
_Id = Annotated[
    str,
    Meta(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$(?!\n)",
        description="at most 40 letters, digits, '.', '_' and '-'",
    ),
]
_Word = Annotated[
    str, Meta(max_length=2000, pattern=r"^\S(.*\S)?$(?!\n)", description="one line without blanks at its ends")
]
_Unit = Annotated[
    str, Meta(max_length=40, pattern=r"^(\S(.*\S)?)?$(?!\n)", description="one line without blanks at its ends")
]
_Date = Annotated[datetime.date, Meta(description="a date of the calendar as YYYY-MM-DD")]
_Number = Annotated[float, Meta(ge=-sys.float_info.max, le=sys.float_info.max, description="a finite number")]


class Selector(Struct, frozen=True, forbid_unknown_fields=True):
    """The results that a clause is about; ``None`` matches any. ``parameters`` are parameters in a case's name."""

    metric: _Word
    check: _Word | None = None
    family: _Word | None = None
    partition: _Word | None = None
    environment: _Word | None = None
    parameters: dict[_Word, _Word | int] = {}

    def __post_init__(self) -> None:
        if (self.check is None) == (self.family is None):
            raise ValueError("expected either check or family")

    def __str__(self) -> str:
        words = [self.check or self.family or "", *(f"{key}={value}" for key, value in self.parameters.items())]
        place = "+".join(part for part in (self.partition, self.environment) if part)
        return f"{self.metric} of {' '.join(words)}" + (f" on {place}" if place else "")


@dataclass(frozen=True)
class Statistic:
    """``kind`` is median, minimum, maximum, percentile or every_node, or the name of a block; ``percentile`` in per
    cent."""

    kind: str
    percentile: float = math.nan
    nodes: int = 0

    def __str__(self) -> str:
        if self.kind == "percentile":
            return f"{self.percentile:g}th percentile"
        return f"each of {self.nodes} nodes" if self.kind == "every_node" else self.kind


class _StatisticOf(Struct, frozen=True, forbid_unknown_fields=True):
    """A percentile over the repeats, or each of the given number of nodes in each repeat."""

    percentile: Annotated[float, Meta(gt=0, lt=100, description="a finite number between 0 and 100")] | None = None
    every_node: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None

    def __post_init__(self) -> None:
        if (self.percentile is None) == (self.every_node is None):
            raise ValueError("expected either percentile or every_node")


class _Threshold(Struct, frozen=True, forbid_unknown_fields=True):
    value: _Number
    unit: _Unit


class Predicted(Struct, frozen=True, forbid_unknown_fields=True):
    """A figure from a model, a data sheet or a paper, in the threshold's unit; it does not change the verdict.

    A figure from a bid has a ``basis``.
    """

    value: _Number
    source: _Text
    basis: Literal["measured", "projected"] | None = None


class Waiver(Struct, frozen=True, forbid_unknown_fields=True):
    reason: _Text
    name: _Text
    date: _Date


# Keys that a clause about a series needs, all of them.
_OF_SERIES = ("selector", "statistic", "comparison", "threshold", "repeats")
_BLOCKS = ("reliability", "availability", "retained", "index", "mix", "duration")


class Clause(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A clause; ``source`` is its origin, for instance a document and the place in it.

    A clause has ``selector`` and the other keys of a series, or exactly one block and no ``repeats`` (0). ``energy``
    goes with a series.
    """

    id: _Id
    text: _Text
    source: _Text = ""
    selected: Selector | None = field(name="selector", default=None)
    over: (
        Annotated[
            Literal["median", "minimum", "maximum"] | _StatisticOf,
            Meta(description="median, minimum, maximum, {percentile: NUMBER} or {every_node: NUMBER OF NODES}"),
        ]
        | None
    ) = field(name="statistic", default=None)
    compared: Literal["at_least", "at_most"] | None = field(name="comparison", default=None)
    bound: _Threshold | None = field(name="threshold", default=None)
    stated_repeats: Annotated[int, Meta(ge=1, le=1000)] = field(name="repeats", default=0)
    energy: Energy | None = None
    reliability: Reliability | None = None
    availability: Availability | None = None
    retained: Retained | None = None
    index: Index | None = None
    mix: JobMix | None = None
    duration: OperationTime | None = None
    mandatory: bool
    predicted: Predicted | None = None
    waiver: Waiver | None = None

    def __post_init__(self) -> None:
        given = (self.selected, self.over, self.compared, self.bound, self.stated_repeats or None)
        blocks = sum(getattr(self, name) is not None for name in _BLOCKS)
        lacking = [key for key, value in zip(_OF_SERIES, given, strict=True) if value is None]
        if blocks > 1 or (blocks and len(lacking) < len(_OF_SERIES)):
            raise ValueError(f"expected the keys of a series, or one of {', '.join(_BLOCKS)}, found more than one")
        if not blocks and lacking:
            raise ValueError(f"expected the key {lacking[0]}, or one of {', '.join(_BLOCKS)}")
        if self.energy and (blocks or self.comparison != "at_most" or self.statistic.kind == "every_node"):
            raise ValueError("expected energy with a series, comparison at_most, and a statistic over the repeats")

    @property
    def block(self) -> Reliability | Availability | Retained | Index | JobMix | OperationTime | None:
        """Return the clause's block; ``None`` when the clause is about a series."""
        return self.operation or self._of_figures

    @property
    def outages(self) -> Reliability | Availability | None:
        """Return what the clause demands of outages."""
        return self.reliability or self.availability

    @property
    def _of_figures(self) -> Reliability | Availability | Retained | Index | None:
        """Return the block with ``title`` and ``least``."""
        return self.outages or self.retained or self.index

    @property
    def operation(self) -> JobMix | OperationTime | None:
        """Return what the clause demands of the operation."""
        return self.mix or self.duration

    @property
    def repeats(self) -> int:
        return self.operation.repeats if self.operation else self.stated_repeats

    @property
    def selector(self) -> Selector:
        assert self.selected, "only a clause about a series has one"
        return self.selected

    @property
    def statistic(self) -> Statistic:
        if self._of_figures:
            return Statistic(self._of_figures.title)
        if self.operation:
            return Statistic(self.operation.statistic)
        if not isinstance(self.over, _StatisticOf):
            return Statistic(self.over or "")
        if self.over.percentile is not None:
            return Statistic("percentile", percentile=self.over.percentile)
        return Statistic("every_node", nodes=self.over.every_node or 0)

    @property
    def comparison(self) -> Literal["at_least", "at_most"]:
        return self.operation.comparison if self.operation else self.compared or "at_least"

    @property
    def threshold(self) -> float:
        """The threshold, in ``unit``."""
        if self.operation:
            return self.operation.threshold
        return self.bound.value if self.bound else self._of_figures.least if self._of_figures else math.nan

    @property
    def unit(self) -> str:
        return self.bound.unit if self.bound else self.block.unit if self.block else ""

    @property
    def requirement(self) -> str:
        if self.block:
            return self.block.requirement
        return self.limit

    @property
    def limit(self) -> str:
        """Return the threshold with its sign and unit."""
        sign = "≥" if self.comparison == "at_least" else "≤"
        return f"{sign} {figure(self.threshold)} {self.unit}".rstrip()

    def holds(self, value: float) -> bool:
        return value >= self.threshold if self.comparison == "at_least" else value <= self.threshold


class _Head(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The head of a contract.

    ``system`` is the name of the ReFrame system. Only checks with the tag ``mode`` run. ``parties`` maps a role, for
    instance buyer or vendor, to a name; each party signs. ``observation`` defines outages for all
    clauses. ``rules`` and ``tender`` are of a tender.
    """

    title: _Text
    system: _Name
    date: _Date
    mode: _Name | None = None
    parties: Annotated[dict[_Text, _Text], Meta(min_length=1, max_length=8)]
    observation: OutageTerms | None = None
    rules: RunRules | None = None
    tender: TenderOrigin | None = None

    def __post_init__(self) -> None:
        if self.rules and self.rules.repeats_by not in self.parties:
            raise ValueError(f"rules.repeats_by: expected one of {', '.join(self.parties)}")


class Contract(_Head, frozen=True, kw_only=True):
    clauses: tuple[Clause, ...]


class _File(Struct, frozen=True, forbid_unknown_fields=True):
    contract: _Head
    clauses: Annotated[tuple[Clause, ...], Meta(min_length=1, max_length=1000)]


def load_contract(path: pathlib.Path, site: SiteDescription | None = None) -> Contract:
    """Read a contract.

    :param site: the site that must have the names in the contract. Without it the names are not checked: a later suite
        must be able to read the copy in a campaign.
    :raises InputError: the contract is not valid; names the file, the line and the expected value.
    """
    file = YamlFile(path, aliases=False)
    found = file.fit(_File)
    ids: set[str] = set()
    for number, clause in enumerate(found.clauses):
        if clause.id in ids:
            raise file.error(("clauses", number, "id"), f"{clause.id}: expected each id once")
        ids.add(clause.id)
        if clause.outages and not found.contract.observation:
            raise file.error(("clauses", number), f"{clause.id} is about outages: expected contract.observation")
        if clause.energy and (problem := unit_problem(clause.selector.metric, clause.unit)):
            raise file.error(("clauses", number, "threshold", "unit"), problem)
    _check_derived(file, found)
    if site:
        _check_names(file, site)
        require_sound([file])
    return Contract(**asdict(found.contract), clauses=found.clauses)


def _check_derived(file: YamlFile, found: _File) -> None:
    """:raises InputError: an agreement lacks a party, or a piece of an index is no clause with its reference's unit."""
    units = {clause.id: clause.unit for clause in found.clauses if not clause.block}
    tender = found.contract.tender
    _check_agreed(file, found, ("contract", "tender"), tender.agreed if tender else ())
    for number, clause in enumerate(found.clauses):
        _check_agreed(file, found, ("clauses", number, "retained"), clause.retained.agreed if clause.retained else ())
        seen = set[str]()
        for row, piece in enumerate(clause.index.of if clause.index else ()):
            here: Path = ("clauses", number, "index", "of", row)
            name, unit = piece.clause, piece.reference.unit
            if name not in units:
                raise file.error((*here, "clause"), f"expected the id of a clause about a series, found {name!r}")
            if name in seen:
                raise file.error((*here, "clause"), f"{name}: expected each clause once")
            if unit != units[name]:
                words = f"expected the clause's unit {units[name]!r}, found {unit!r}"
                raise file.error((*here, "reference", "unit"), words)
            seen.add(name)


def _check_agreed(file: YamlFile, found: _File, block: Path, agreed: Iterable[AgreedChange]) -> None:
    for row, change in enumerate(agreed):
        if {*change.parties} != {*found.contract.parties}:
            words = f"expected every party: {', '.join(found.contract.parties)}"
            raise file.error((*block, "agreed", row, "parties"), words)


def _check_names(file: YamlFile, site: SiteDescription) -> None:
    """Add a problem to ``file`` for each name that the suite or the site does not know."""
    head = file.value["contract"]
    file.require_known(("contract", "system"), head["system"], [site.name], "system of this site")
    if "mode" in head:
        file.require_known(("contract", "mode"), head["mode"], MODES, "mode")
    for number, clause in enumerate(file.value["clauses"]):
        if "selector" not in clause:
            continue
        here: Path = ("clauses", number, "selector")
        selector = clause["selector"]
        of_key: dict[str, tuple[Iterable[str], str]] = {
            "check": ([*catalogue(), *uncatalogued()], "check"),
            "family": (families(), "family of checks"),
            "partition": (site.described.partitions, "partition of the site"),
            "environment": (site.environment_names, "environment of the site"),
        }
        known = [
            file.require_known((*here, key), selector[key], legal, what)
            for key, (legal, what) in of_key.items()
            if key in selector
        ]
        if all(known):
            names = [selector["check"]] if "check" in selector else families()[selector["family"]]
            if not uncatalogued().keys() & set(names):
                _check_measured(file, number, clause, [catalogue()[name] for name in names])


def _check_measured(file: YamlFile, number: int, clause: dict[str, Any], checks: list[CataloguedCheck]) -> None:
    """Check that one of ``checks`` has the parameters of the clause, and that its metric has the clause's unit."""
    here: Path = ("clauses", number, "selector")
    metric = clause["selector"]["metric"]
    # A metric of each node has another name, which is known only after a measurement.
    of_node = isinstance(clause["statistic"], dict) and "every_node" in clause["statistic"]
    per, any_run = (PER, [RUN]) if "energy" in clause else ("", [])
    units = {f"{per}{check.metrics[metric]}" for check in checks if metric in check.metrics}
    known = [*any_run, *(name for check in checks for name in check.metrics)]
    if not of_node and metric not in any_run and file.require_known((*here, "metric"), metric, known, "metric"):
        at_unit: Path = ("clauses", number, "threshold", "unit")
        file.require_known(at_unit, clause["threshold"]["unit"], units, f"unit of {metric}")
    asked = {key: str(value) for key, value in clause["selector"].get("parameters", {}).items()}
    for key, value in asked.items():
        at = (*here, "parameters", key)
        if file.require_known(at, key, [name for check in checks for name in check.parameters], "parameter"):
            file.require_known(at, value, [one for check in checks for one in check.values_of(key)], key)
    if not any(asked.items() <= case.parameters.items() for check in checks for case in check.cases):
        file.refuse((*here, "parameters"), "no case has all of these parameters")
