"""The vocabulary as the tables of ``docs/site.md``."""

import typing
from collections.abc import Iterable, Mapping
from types import NoneType, UnionType
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import msgspec

from kappa.core.vocabulary.checks import CataloguedCheck
from kappa.core.vocabulary.extras import EnvironmentExtras, PartitionExtras
from kappa.core.vocabulary.features import ENVIRONMENT_FEATURES, PARTITION_FEATURES, STORAGE_FEATURES
from kappa.core.vocabulary.modes import MODES
from kappa.core.vocabulary.node_facts import NODE_FACTS
from kappa.core.vocabulary.rules import EVIDENCE, Keep, QuarantineRule

_MOST_NAMES = 6
_NAMES = {int: "whole number", float: "number", str: "text", bool: "yes or no"}


def of_site(checks: Mapping[str, CataloguedCheck]) -> dict[str, str]:
    """Each table by its title, as Markdown."""
    return {
        "partition features": as_markdown([("feature", "the partition", "read by"), *_partition_features(checks)]),
        "partition extras": as_markdown([("key", "type", "unit", "meaning", "read by"), *_extras(PartitionExtras)]),
        "environment features": as_markdown(
            [("feature", "programs on PATH", "needs the key", "read by"), *_environment_features(checks)]
        ),
        "environment extras": as_markdown([("key", "type", "unit", "meaning", "read by"), *_extras(EnvironmentExtras)]),
        "tunables": as_markdown([("check", "variable", "type", "unit", "meaning"), *_tunables(checks)]),
        "modes": as_markdown(
            [("mode", "what it runs"), *((f"`{name}`", mode.meaning) for name, mode in MODES.items())]
        ),
        "keep": as_markdown([("key", "type", "meaning", "if not said"), *_mapping(Keep)]),
        "quarantine": as_markdown([("key", "type", "meaning", "if not said"), *_mapping(QuarantineRule)]),
        "evidence against a node": as_markdown(
            [("kind", "the finding"), *((f"`{kind}`", meaning) for kind, meaning in EVIDENCE.items())]
        ),
        "facts of a node": as_markdown(
            [
                ("fact", "unit", "meaning", "odd is"),
                *((f"`{name}`", fact.unit, fact.meaning, fact.rule.value) for name, fact in NODE_FACTS.items()),
            ]
        ),
    }


def as_markdown(rows: Iterable[tuple[str, ...]]) -> str:
    """The rows, of which the first is the header."""
    header, *others = (tuple(cell.replace("|", r"\|") for cell in row) for row in rows)
    return "\n".join("| " + " | ".join(row) + " |" for row in (header, ("---",) * len(header), *others))


def _ticked(names: Iterable[str]) -> str:
    """The names in backticks, only the first of very many."""
    ticked = [f"`{name}`" for name in names]
    return ", ".join(ticked) if len(ticked) <= _MOST_NAMES else f"{', '.join(ticked[:2])} and {len(ticked) - 2} more"


def _partition_features(checks: Mapping[str, CataloguedCheck]) -> Iterable[tuple[str, ...]]:
    for feature, meaning in {**PARTITION_FEATURES, **STORAGE_FEATURES}.items():
        readers = {check.family for check in checks.values() for case in check.cases if feature in case.features}
        yield f"`{feature}`", meaning, _ticked(sorted(readers))


def _environment_features(checks: Mapping[str, CataloguedCheck]) -> Iterable[tuple[str, ...]]:
    for name, feature in ENVIRONMENT_FEATURES.items():
        readers = {
            check.family for check in checks.values() if any(name in need.split("|") for need in check.needs_environ)
        }
        yield f"`{name}`", feature.programs, f"`{feature.extra}`" if feature.extra else "", _ticked(sorted(readers))


def _extras(table: type[msgspec.Struct]) -> Iterable[tuple[str, ...]]:
    for name, kind in get_type_hints(table, include_extras=True).items():
        meta = next(said for said in get_args(kind)[1:] if said.extra)
        yield f"`{name}`", type_name(kind), meta.extra["unit"], meta.description, meta.extra["read_by"]


def _mapping(table: type[msgspec.Struct]) -> Iterable[tuple[str, ...]]:
    for name, kind in get_type_hints(table, include_extras=True).items():
        meta = next(said for said in get_args(kind)[1:] if said.extra)
        default = meta.extra["default"] or "it has to be"
        yield f"`{name}`", type_name(kind), meta.description, default


def _tunables(checks: Mapping[str, CataloguedCheck]) -> Iterable[tuple[str, ...]]:
    """A row for each variable that means the same for several checks."""
    of_row: dict[tuple[str, ...], list[str]] = {}
    for name, check in checks.items():
        for variable, tunable in check.tunables.items():
            of_row.setdefault((f"`{variable}`", *tunable), []).append(name)
    rows = sorted((_ticked(names), *row) for row, names in of_row.items())
    yield from rows


def type_name(kind: Any) -> str:
    """A type in the words of the tables."""
    if get_origin(kind) is Annotated:
        return type_name(get_args(kind)[0])
    inner = [part for part in get_args(kind) if part is not NoneType]
    if isinstance(kind, UnionType) or get_origin(kind) is typing.Union:
        return " or ".join(dict.fromkeys(type_name(part) for part in inner))
    if get_origin(kind) is typing.Literal:
        return " or ".join(f"`{value}`" for value in inner)
    if get_origin(kind) is list:
        return f"list of {type_name(inner[0])}"
    if get_origin(kind) is dict or (isinstance(kind, type) and issubclass(kind, msgspec.Struct)):
        return "mapping"
    return _NAMES.get(kind, "any")
