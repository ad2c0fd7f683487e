"""Write the vocabulary, and the keys of a site's files, as the tables of ``docs/site-reference.md``."""

import typing
from collections.abc import Collection, Iterator
from types import NoneType, UnionType
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints

import msgspec

from kappa.core.sites.description import Environment, Partition, SiteFile
from kappa.core.sites.expected import Expected
from kappa.core.sites.references import Source
from kappa.core.vocabulary.check_pages import as_markdown
from kappa.core.vocabulary.features import ENVIRONMENT_FEATURES, PARTITION_FEATURES, STORAGE_FEATURES
from kappa.core.vocabulary.modes import MODES
from kappa.core.vocabulary.rules import EVIDENCE, Keep, QuarantineRule
from kappa.node.table import FACTS

_NAMES = {int: "whole number", float: "number", str: "text", bool: "yes or no"}


def site_reference() -> dict[str, str]:
    """Return each table as Markdown, by its title."""
    return {
        "partition features": as_markdown(
            [
                ("feature", "the partition"),
                *((f"`{name}`", meaning) for name, meaning in {**PARTITION_FEATURES, **STORAGE_FEATURES}.items()),
            ]
        ),
        "environment features": as_markdown(
            [
                ("feature", "programs on PATH", "needs the key"),
                *(
                    (f"`{name}`", feature.programs, f"`{feature.extra}`" if feature.extra else "")
                    for name, feature in ENVIRONMENT_FEATURES.items()
                ),
            ]
        ),
        "modes": as_markdown(
            [("mode", "what it runs"), *((f"`{name}`", mode.meaning) for name, mode in MODES.items())]
        ),
        "site keys": _keys(SiteFile, apart=(Partition, Environment, QuarantineRule, Keep)),
        "partition keys": _keys(Partition),
        "environment keys": _keys(Environment),
        "expected keys": _keys(Expected),
        "source keys": _keys(Source),
        "keep": _keys(Keep),
        "quarantine": _keys(QuarantineRule),
        "evidence against a node": as_markdown(
            [("kind", "the finding"), *((f"`{kind}`", meaning) for kind, meaning in EVIDENCE.items())]
        ),
        "facts of a node": as_markdown(
            [
                ("fact", "unit", "meaning", "a node is odd if the value", "the same on"),
                *((f"`{fact.name}`", fact.unit, fact.meaning, fact.rule.value, fact.same_on) for fact in FACTS),
            ]
        ),
    }


class _Key(NamedTuple):
    name: str
    type: str
    default: str
    meaning: str
    read_by: str


def _keys(table: type[msgspec.Struct], apart: Collection[type[msgspec.Struct]] = ()) -> str:
    """Return the keys of ``table`` and of the mappings in it, as Markdown.

    :param apart: structures that have a table of their own.
    """
    rows = list(_keys_of(table, apart))
    columns = len(_Key._fields) if any(row.read_by for row in rows) else -1
    return as_markdown([("key", "type", "default", "meaning", "read by")[:columns], *(row[:columns] for row in rows)])


def _keys_of(table: type[msgspec.Struct], apart: Collection[type[msgspec.Struct]], above: str = "") -> Iterator[_Key]:
    """Yield the keys of ``table``: its own keys first, then the inherited ones."""
    hints = get_type_hints(table, include_extras=True)
    for field in sorted(msgspec.structs.fields(table), key=lambda one: one.name not in table.__annotations__):
        kind, name = hints[field.name], f"{above}{field.encode_name}"
        meta = next(one for one in get_args(kind)[1:] if one.extra)
        unit = f", {meta.extra['unit']}" if meta.extra["unit"] else ""
        default = meta.extra["default"] or _default(field)
        yield _Key(f"`{name}`", f"{_type_name(kind)}{unit}", default, meta.description, meta.extra["read_by"])
        for inner, between in _structures(kind):
            if inner not in apart and _is_described(inner):
                yield from _keys_of(inner, apart, f"{name}{between}.")


def _default(field: msgspec.structs.FieldInfo) -> str:
    value = field.default
    if field.required:
        return "required"
    if value in (msgspec.NODEFAULT, None, "") or isinstance(value, msgspec.Struct):
        return "none"
    if isinstance(value, bool):
        return "`true`" if value else "`false`"
    return f"`{value:g}`" if isinstance(value, float) else f"`{value}`"


def _structures(kind: Any, between: str = "") -> Iterator[tuple[type[msgspec.Struct], str]]:
    """Yield the structures in a type, each with the key that precedes its own keys in a mapping or list."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        yield kind, between
        return
    inner = ".NAME" if get_origin(kind) is dict else "[]" if get_origin(kind) is list else between
    for part in get_args(kind):
        yield from _structures(part, inner)


def _is_described(table: type[msgspec.Struct]) -> bool:
    """Return whether all keys of ``table`` have a meaning."""
    kinds = get_type_hints(table, include_extras=True).values()
    return all(any(getattr(one, "extra", None) for one in get_args(kind)[1:]) for kind in kinds)


def _type_name(kind: Any) -> str:
    """Return a type in the words of the tables."""
    if get_origin(kind) is Annotated:
        return _type_name(get_args(kind)[0])
    inner = [part for part in get_args(kind) if part is not NoneType]
    if isinstance(kind, UnionType) or get_origin(kind) is typing.Union:
        return " or ".join(dict.fromkeys(_type_name(part) for part in inner))
    if get_origin(kind) is typing.Literal:
        return " or ".join(f"`{value}`" for value in inner)
    if get_origin(kind) is list:
        return f"list of {_type_name(inner[0])}"
    if get_origin(kind) is dict or (isinstance(kind, type) and issubclass(kind, msgspec.Struct)):
        return "mapping"
    return _NAMES.get(kind, "any")
