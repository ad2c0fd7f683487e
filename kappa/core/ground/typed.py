"""Documents held against typed structures: msgspec checks each type, and what does not fit is named with its path."""

import dataclasses
import functools
import json
import pathlib
import re
import reprlib
import types
from collections.abc import Iterator
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec

from kappa.core.ground.bounded_file import read_text
from kappa.core.ground.clean_text import clean, clean_object, one_line
from kappa.core.ground.errors import InputError
from kappa.core.ground.nearest import suggestion
from kappa.core.ground.yaml_lines import Path

T = TypeVar("T")
# Of what the suite itself writes beside the reports.
_SMALL_BYTES = 16 << 20
# msgspec's path: `$.runs[0].curves[...].x`, where the dots stand for a key that it does not name.
_STEP = re.compile(r"\.(\w+)|\[(\d+|\.\.\.)\]")
_FIELD = re.compile(r"Object (missing required|contains unknown) field `(.*)`")
_WORDS = {"str": "string", "int": "integer", "float": "number", "bool": "boolean"}
_EXPECTED = re.compile(r"Expected `([^`]*)`(.*?)(?:, got .*)?")


class MisfitError(InputError):
    """A document that is not of the shape that it should have: where, and what was expected there."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(f"{_dotted(path)}: {problem}")
        self.path = path


def load_json(path: pathlib.Path, kind: type[T]) -> T:
    """A small JSON file, with every string clean.

    :raises InputError: it cannot be read, or does not fit ``kind``; names the file and the key.
    """
    source = clean(str(path))
    return fit(parse_json(json_text(path, source, _SMALL_BYTES), source), kind, source)


def json_text(path: pathlib.Path, source: str, limit_bytes: int) -> str:
    """The text of the JSON file at ``path``, which messages call ``source``.

    :raises InputError: it cannot be read, is larger than ``limit_bytes`` or is no UTF-8.
    """
    try:
        return read_text(path, limit_bytes)
    except OSError as err:
        raise InputError(f"cannot read {source}: {err.strerror}") from err
    except UnicodeDecodeError as err:
        raise InputError(f"{source}: not valid JSON ({err.reason} at byte {err.start})") from err


def parse_json(text: str, source: str) -> Any:
    """What a JSON text holds, with every string in it clean.

    :raises InputError: it is no valid JSON.
    """
    try:
        return json.loads(text, object_pairs_hook=clean_object, parse_int=_integer)
    except json.JSONDecodeError as err:
        raise InputError(f"{source}: line {err.lineno}: not valid JSON ({err.msg}); is the file complete?") from err
    except (ValueError, RecursionError) as err:
        raise InputError(f"{source}: not valid JSON ({one_line(clean(str(err)), 200)})") from err


def _integer(digits: str) -> float:
    """What exceeds a double becomes infinite, as with any other number."""
    return int(digits) if len(digits) < 300 else float(digits)


def fit(document: Any, kind: type[T], source: str) -> T:
    """A parsed file as ``kind``.

    :raises InputError: names ``source``, the key that does not fit, and what was expected there.
    """
    try:
        return converted(document, kind)
    except MisfitError as err:
        raise InputError(f"{source}: {err}") from err


def converted(document: Any, kind: type[T]) -> T:
    """Plain data as ``kind``.

    :raises MisfitError: it does not fit.
    """
    try:
        return msgspec.convert(document, kind)
    except msgspec.ValidationError as err:
        raise _misfit((), document, kind, err) from err


def _misfit(path: Path, value: Any, kind: Any, error: msgspec.ValidationError) -> MisfitError:
    text, at, where = str(error).rpartition(" - at ")
    text = text if at else where
    for name, index in _STEP.findall(where) if at else ():
        if index == "...":
            kind = _member(kind, "")
            for key, item in value.items():
                if inner := _error(item, kind):
                    return _misfit((*path, key), item, kind, inner)
            break
        key = name or int(index)
        try:
            kind, value = _member(kind, key), value[key]
        except (LookupError, TypeError):  # an unknown key that looks like a path
            break
        path = (*path, key)
    if where.startswith("`key`"):
        of_keys = next((get_args(one)[0] for one in _alternatives(kind) if get_origin(one) is dict), Any)
        kind, value = of_keys, next((key for key in value if _error(key, of_keys)), "")
        path = (*path, value)
    if field := _FIELD.fullmatch(text):
        if field[1].startswith("missing"):
            return MisfitError(path, f"'{field[2]}' is a required property")
        problem = f"unknown key {field[2]!r}: {suggestion(field[2], _hints(kind))}"
        return MisfitError((*path, field[2]), one_line(clean(problem), 300))
    return MisfitError(path, one_line(clean(_explain(text, value, kind)), 300))


def _error(value: Any, kind: Any) -> msgspec.ValidationError | None:
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError as err:
        return err
    return None


def _explain(message: str, value: Any, kind: Any) -> str:
    """What was expected, in the words of the type where it has some, and what was found."""
    described = list(_descriptions(kind))
    choices = [str(choice) for one in _alternatives(kind) if get_origin(one) is Literal for choice in get_args(one)]
    if match := _EXPECTED.fullmatch(message):
        expected = " or ".join(_WORDS.get(word, word) for word in match[1].split(" | ")) + match[2]
    elif not (message.startswith("Invalid ") and (described or choices)):
        return message
    if described or choices:
        expected = described[0] if described else " or ".join(choices)
    return f"expected {expected}, found {reprlib.repr(value)}"


def _alternatives(kind: Any) -> Iterator[Any]:
    """The members of a union, without what annotates them."""
    if get_origin(kind) is Annotated:
        yield from _alternatives(get_args(kind)[0])
    elif get_origin(kind) in (Union, types.UnionType):
        for one in get_args(kind):
            yield from _alternatives(one)
    else:
        yield kind


def _descriptions(kind: Any) -> Iterator[str]:
    """What a type's annotations say that is expected."""
    if get_origin(kind) is Annotated:
        yield from (meta.description for meta in kind.__metadata__ if meta.description)
    elif get_origin(kind) in (Union, types.UnionType):
        for one in get_args(kind):
            yield from _descriptions(one)


def _member(kind: Any, key: str | int) -> Any:
    """The type of what stands at ``key`` of a structure, mapping or list."""
    for one in _alternatives(kind):
        origin, inner = get_origin(one), get_args(one)
        if origin is dict and isinstance(key, str):
            return inner[1]
        if origin in (list, tuple) and isinstance(key, int):
            return inner[0] if origin is list or inner[-1] is Ellipsis else inner[key]
        if hints := _hints(one):
            return list(hints.values())[key] if isinstance(key, int) else hints[key]
    return Any


@functools.cache
def _hints(kind: Any) -> dict[str, Any]:
    """The types of a structure's fields, by their names in a document; empty when it is none."""
    for one in _alternatives(kind):
        if dataclasses.is_dataclass(one):
            return get_type_hints(one, include_extras=True)
        if isinstance(one, type) and issubclass(one, msgspec.Struct):
            hints = get_type_hints(one, include_extras=True)
            names = zip(one.__struct_fields__, one.__struct_encode_fields__, strict=True)
            return {encoded: hints[name] for name, encoded in names}
    return {}


def _dotted(path: Path) -> str:
    """As it would be written: ``runs[0].curves['a b']``."""
    steps = (f".{key}" if str(key).isidentifier() else f"[{key!r}]" for key in path)
    return clean("".join(steps)).removeprefix(".") or "the document"
