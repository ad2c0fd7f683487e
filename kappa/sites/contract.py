"""A site's contract, ``acceptance.yaml``, as plain data; its selectors name what the suite has."""

import datetime
import functools
import json
import math
import pathlib
import reprlib
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import resources
from typing import Any

import jsonschema
from jsonschema.exceptions import best_match

from kappa.ground.clean_text import clean, one_line
from kappa.ground.errors import InputError
from kappa.ground.figures import figure
from kappa.ground.nearest import suggestion
from kappa.ground.yaml_lines import Path, line_of
from kappa.sites.site import SiteDescription
from kappa.sites.yaml_file import YamlFile, require_sound
from kappa.vocabulary.checks import Check, catalogue, families
from kappa.vocabulary.modes import MODES

FILE = "acceptance.yaml"
# $ alone would let a line end pass.
_PATTERNS = {
    r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$(?!\n)": "a date as YYYY-MM-DD",
    r"^[A-Za-z0-9][A-Za-z0-9._-]*$(?!\n)": "letters, digits, '.', '_' and '-'",
    r"^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$(?!\n)": "at most 40 letters, digits, '.', '_' and '-'",
    r"^(\S(.*\S)?)?$(?!\n)": "one line without blanks at its ends",
    r"\S": "some text",
}


@dataclass(frozen=True)
class Selector:
    """Which results a clause is about; what is empty or ``None`` selects any."""

    metric: str
    check: str | None
    family: str | None
    partition: str | None
    environment: str | None
    parameters: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        words = [self.check or self.family or "", *(f"{key}={value}" for key, value in self.parameters)]
        place = "+".join(part for part in (self.partition, self.environment) if part)
        return f"{self.metric} of {' '.join(words)}" + (f" on {place}" if place else "")


@dataclass(frozen=True)
class Statistic:
    """``kind`` is median, minimum, maximum, percentile or every_node; ``percentile`` in per cent."""

    kind: str
    percentile: float = math.nan
    nodes: int = 0

    def __str__(self) -> str:
        if self.kind == "percentile":
            return f"{self.percentile:g}th percentile"
        return f"each of {self.nodes} nodes" if self.kind == "every_node" else self.kind


@dataclass(frozen=True)
class Predicted:
    """A figure in the threshold's unit that a model, a data sheet or a paper gives."""

    value: float
    source: str


@dataclass(frozen=True)
class Waiver:
    reason: str
    name: str
    date: str


@dataclass(frozen=True)
class Clause:
    """``threshold`` is in ``unit``; ``comparison`` is at_least or at_most."""

    id: str
    text: str
    source: str
    selector: Selector
    statistic: Statistic
    comparison: str
    threshold: float
    unit: str
    repeats: int
    mandatory: bool
    predicted: Predicted | None
    waiver: Waiver | None

    @property
    def requirement(self) -> str:
        sign = "≥" if self.comparison == "at_least" else "≤"
        return f"{sign} {figure(self.threshold)} {self.unit}".rstrip()

    def holds(self, value: float) -> bool:
        return value >= self.threshold if self.comparison == "at_least" else value <= self.threshold


@dataclass(frozen=True)
class Contract:
    title: str
    system: str
    date: str
    mode: str | None
    parties: tuple[tuple[str, str], ...]
    """(role, name) of each."""
    clauses: tuple[Clause, ...]


def load_contract(path: pathlib.Path, site: SiteDescription | None = None) -> Contract:
    """Read a contract.

    :param site: what the names in it have to fit; without it they are not looked at, as in the copy of a campaign that
        a later suite has to read.
    :raises InputError: it cannot be used; names the file, the line and what was expected there.
    """
    file = YamlFile(path, aliases=False)
    document, lines, source = file.value, file.lines, file.source
    error = best_match(_validator().iter_errors(document))
    if error is not None:
        raise InputError(f"{source}: line {line_of(_offender(error), lines)}: {_explain(error)}")
    for key, problem in _further_problems(document):
        raise InputError(f"{source}: line {line_of(key, lines)}: {problem}")
    if site:
        _check_names(file, site)
        require_sound([file])
    head, clauses = document["contract"], document["clauses"]
    return Contract(
        title=head["title"],
        system=head["system"],
        date=head["date"],
        mode=head.get("mode"),
        parties=tuple(head["parties"].items()),
        clauses=tuple(_clause(entry) for entry in clauses),
    )


@functools.cache
def _validator() -> Any:
    schema = json.loads(resources.files(__package__).joinpath("contract.schema.json").read_text("utf-8"))
    # JSON Schema takes 3.0 for an integer; whoever signs, and range(), do not.
    kinds = jsonschema.Draft202012Validator.TYPE_CHECKER.redefine("integer", lambda _, value: type(value) is int)
    dialect = jsonschema.validators.extend(  # type: ignore[no-untyped-call]
        jsonschema.Draft202012Validator, type_checker=kinds
    )
    return dialect(schema)


def _offender(error: Any) -> Path:
    """The key at fault; for one that is too much, that key and not what it is in."""
    path: Path = tuple(error.absolute_path)
    if error.validator == "additionalProperties" and isinstance(error.instance, dict):
        allowed = error.schema.get("properties", {})
        path += tuple([key for key in error.instance if key not in allowed][:1])
    return path


def _explain(error: Any) -> str:
    where = ".".join(map(str, error.absolute_path)) or "the document"
    found = reprlib.repr(error.instance)
    match error.validator:
        case "type":
            kinds = error.validator_value
            expected = kinds if isinstance(kinds, str) else " or ".join(kinds)
        case "enum":
            expected = " or ".join(map(str, error.validator_value))
        case "additionalProperties" if isinstance(error.instance, dict):
            legal = error.schema.get("properties", {})
            unknown = next(key for key in error.instance if key not in legal)
            return one_line(clean(f"{where}: unknown key {unknown!r}: {suggestion(unknown, legal)}"), 300)
        case "pattern":
            expected = _PATTERNS[error.validator_value]
        case "oneOf" if where.endswith("statistic"):
            expected = "median, minimum, maximum, {percentile: NUMBER} or {every_node: NUMBER OF NODES}"
        case "oneOf":
            expected = "either check or family"
        case _:
            return one_line(clean(f"{where}: {error.message}"), 300)
    return one_line(clean(f"{where}: expected {expected}, found {found}"), 300)


def _further_problems(document: Any) -> list[tuple[Path, str]]:
    """What a schema cannot say."""
    found: list[tuple[Path, str]] = []
    dates: list[Path] = [("contract", "date")]
    ids: set[str] = set()
    for number, clause in enumerate(document["clauses"]):
        here: Path = ("clauses", number)
        if clause["id"] in ids:
            found.append(((*here, "id"), f"{clause['id']}: expected each id once"))
        ids.add(clause["id"])
        if "waiver" in clause:
            dates.append((*here, "waiver", "date"))
        for key, inner in (("threshold", "value"), ("predicted", "value"), ("statistic", "percentile")):
            entry = clause.get(key)
            if isinstance(entry, dict) and not math.isfinite(entry.get(inner, 0)):
                found.append(((*here, key, inner), f"{key}.{inner}: expected a finite number"))
    for path in dates:
        value = functools.reduce(lambda part, key: part[key], path, document)
        try:
            datetime.date.fromisoformat(value)
        except ValueError:
            found.append((path, f"expected a date of the calendar, found {value}"))
    return found


def _check_names(file: YamlFile, site: SiteDescription) -> None:
    """Note each name that the suite or the site does not know."""
    head = file.value["contract"]
    file.require_known(("contract", "system"), head["system"], [site.name], "system of this site")
    if "mode" in head:
        file.require_known(("contract", "mode"), head["mode"], MODES, "mode")
    for number, clause in enumerate(file.value["clauses"]):
        here: Path = ("clauses", number, "selector")
        selector = clause["selector"]
        of_key: dict[str, tuple[Iterable[str], str]] = {
            "check": (catalogue(), "check"),
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
            _check_measured(file, number, clause, [catalogue()[name] for name in names])


def _check_measured(file: YamlFile, number: int, clause: dict[str, Any], checks: list[Check]) -> None:
    """One of the checks has the parameters of the clause, and what they measure has its unit."""
    here: Path = ("clauses", number, "selector")
    metric = clause["selector"]["metric"]
    # What each node has measured has a name of its own, and is known only when it was measured.
    of_node = isinstance(clause["statistic"], dict) and "every_node" in clause["statistic"]
    units = {check.metrics[metric] for check in checks if metric in check.metrics}
    known = [name for check in checks for name in check.metrics]
    if not of_node and file.require_known((*here, "metric"), metric, known, "metric"):
        file.require_known(("clauses", number, "threshold", "unit"), clause["threshold"]["unit"], units, "unit of it")
    asked = {key: str(value) for key, value in clause["selector"].get("parameters", {}).items()}
    for key, value in asked.items():
        at = (*here, "parameters", key)
        if file.require_known(at, key, [name for check in checks for name in check.parameters], "parameter"):
            file.require_known(at, value, [one for check in checks for one in check.values_of(key)], key)
    if not any(asked.items() <= case.parameters.items() for check in checks for case in check.cases):
        file.refuse((*here, "parameters"), "no case has all of these parameters")


def _clause(entry: dict[str, Any]) -> Clause:
    selector, statistic = entry["selector"], entry["statistic"]
    predicted, waiver = entry.get("predicted"), entry.get("waiver")
    return Clause(
        id=entry["id"],
        text=entry["text"],
        source=entry.get("source", ""),
        selector=Selector(
            metric=selector["metric"],
            check=selector.get("check"),
            family=selector.get("family"),
            partition=selector.get("partition"),
            environment=selector.get("environment"),
            parameters=tuple((key, str(value)) for key, value in selector.get("parameters", {}).items()),
        ),
        statistic=_statistic(statistic),
        comparison=entry["comparison"],
        threshold=float(entry["threshold"]["value"]),
        unit=entry["threshold"]["unit"],
        repeats=entry["repeats"],
        mandatory=entry["mandatory"],
        predicted=Predicted(float(predicted["value"]), predicted["source"]) if predicted else None,
        waiver=Waiver(waiver["reason"], waiver["name"], waiver["date"]) if waiver else None,
    )


def _statistic(entry: Any) -> Statistic:
    if isinstance(entry, str):
        return Statistic(entry)
    if "percentile" in entry:
        return Statistic("percentile", percentile=float(entry["percentile"]))
    return Statistic("every_node", nodes=entry["every_node"])
