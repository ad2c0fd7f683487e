"""Read YAML and JSON as typed data. Each error names the file, the line or key, the expected and the found value.

Size and depth are limited, each key may occur once, and no text may have control or invisible characters. YAML 1.1 and
1.2 must read each number and each truth value alike.
"""

import contextlib
import dataclasses
import functools
import json
import math
import pathlib
import re
import reprlib
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec
import msgspec.inspect
import yaml

from kappa.core.ground.clean_text import clean, clean_object, hidden_at, one_line
from kappa.core.ground.errors import InputError, suggestion
from kappa.core.ground.whole_files import read_text

T = TypeVar("T")
Path = tuple[str | int, ...]
#: Largest YAML file of a site, in bytes.
SIZE_LIMIT = 1 << 20
# Largest JSON file that the suite itself writes beside the reports.
_SMALL_BYTES = 16 << 20
# Far above any site's file. A few lines of nested aliases ("billion laughs") can expand to more than the memory.
_MOST_VALUES = 200_000
#: A larger number in a record is infinite, and its reciprocal 0: no measured value has more digits before its point.
MOST_DIGITS = 100
# Characters of a number. Python needs a time that grows faster than their number.
_NUMBER_LIMIT = 100
_MOST_PROBLEMS = 20
# The forms that YAML 1.1 and the core schema of YAML 1.2 read alike, and digits in groups of three. Only 1.1 reads
# 0100 as 64, 1:30 as 90, and yes as true.
_UNAMBIGUOUS = {
    "int": re.compile(r"[-+]?(?:0|[1-9][0-9]*|[1-9][0-9]{0,2}(?:_[0-9]{3})+)|0x[0-9a-fA-F]+"),
    "float": re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?|[-+]?\.inf|\.nan", re.IGNORECASE),
    "bool": re.compile("true|false", re.IGNORECASE),
}
_PATH_IN_MESSAGE = re.compile(r" - at `(?:key in )?\$(?:.*)`$")
_EXPECTED = re.compile(r"Expected `([^`]*)`(.*?)(?:, got .*)?")
_JSON_WORDS = {"str": "string", "int": "integer", "float": "number", "bool": "boolean"}
_MISSING: Any = object()


class MisfitError(InputError):
    """A value that does not fit its type; ``path`` is its key, the message has the expected type."""

    def __init__(self, path: Path, words: str) -> None:
        super().__init__(f"{_dotted(path)}: {words}")
        self.path = path


def load_json(path: pathlib.Path, kind: type[T]) -> T:
    """Return a small JSON file as ``kind``, with every string clean.

    :raises InputError: the file is not readable or does not fit ``kind``; names the file and the key.
    """
    source = clean(str(path))
    return fit(parse_json(json_text(path, source, _SMALL_BYTES), source), kind, source)


def json_text(path: pathlib.Path, source: str, limit_bytes: int) -> str:
    """Return the text of the JSON file at ``path``, which messages call ``source``.

    :raises InputError: the file is not readable, is larger than ``limit_bytes`` or is not UTF-8.
    """
    try:
        return read_text(path, limit_bytes)
    except OSError as err:
        raise InputError(f"cannot read {source}: {err.strerror}") from err
    except UnicodeDecodeError as err:
        raise InputError(f"{source}: not valid JSON ({err.reason} at byte {err.start})") from err


def parse_json(text: str, source: str) -> Any:
    """Return the document in a JSON text, with every string clean.

    :raises InputError: the text is not valid JSON.
    """
    try:
        integer = lambda digits: int(digits) if len(digits) <= MOST_DIGITS else _measurable(digits)  # noqa: E731
        return json.loads(text, object_pairs_hook=clean_object, parse_int=integer, parse_float=_measurable)
    except json.JSONDecodeError as err:
        raise InputError(f"{source}: line {err.lineno}: not valid JSON ({err.msg}); is the file complete?") from err
    except (ValueError, RecursionError) as err:
        raise InputError(f"{source}: not valid JSON ({one_line(clean(str(err)), 200)})") from err


def _measurable(digits: str) -> float:
    """Return the number; infinite or 0 where no value is measured, because sums, squares and shares of it would be."""
    number = float(digits)
    if 10.0**-MOST_DIGITS < abs(number) < 10.0**MOST_DIGITS:
        return number
    return 0.0 if abs(number) < 1 else math.copysign(math.inf, number)


def fit(document: Any, kind: type[T], source: str, line_of: Callable[[Path], int] | None = None) -> T:
    """Return a parsed file as ``kind``.

    :raises InputError: a value does not fit; names ``source``, the key, the line if known, and the expected type.
    """
    try:
        return converted(document, kind)
    except MisfitError as err:
        line = f"line {line_of(err.path)}: " if line_of else ""
        raise InputError(f"{source}: {line}{err}") from err


def converted(document: Any, kind: type[T]) -> T:
    """Return plain data as ``kind``.

    :raises MisfitError: a value does not fit; names the first one.
    """
    try:
        return msgspec.convert(document, kind)
    except msgspec.ValidationError as err:
        misfit = next(_misfits(document, kind, (), strict=False))
        raise MisfitError(misfit.path, one_line(clean(misfit.of_record), 300)) from err


class YamlFile:
    """A YAML file: ``value`` is the document, ``problems`` are the errors found in it.

    ``moved`` maps a path of the document to the path where the file has the value, if the two differ.
    """

    def __init__(self, path: pathlib.Path, limit: int = SIZE_LIMIT, *, aliases: bool = True) -> None:
        """Read the file.

        :param aliases: whether ``*name`` and ``<<`` are allowed.

        :raises InputError: the file is not readable, is larger than ``limit`` bytes, is not valid YAML, has an alias
            that is not allowed or expands to too much, a key twice or a control character; names the file and the line.
        """
        self.source = clean(str(path))
        self.moved: dict[Path, Path] = {}
        self.problems: list[str] = []
        try:
            text = read_text(path, limit).removeprefix("\ufeff")
        except OSError as err:
            raise InputError(f"cannot read {self.source}: {err.strerror}") from err
        except UnicodeDecodeError as err:
            found = f"expected UTF-8, found {err.object[err.start : err.end]!r}"
            raise self._broken(err.object.count(b"\n", 0, err.start), found) from err
        self.value, self._root = self._loaded(text, aliases)

    def _loaded(self, text: str, aliases: bool) -> tuple[Any, yaml.Node | None]:
        loader = None
        if (at := hidden_at(text)) is not None:
            found = f"expected no control or invisible characters, found {text[at]!a}"
            raise self._broken(text.count("\n", 0, at), found)
        try:
            loader = _Loader(text)
            loader.aliases = aliases
            root = loader.get_single_node()
            if root is None:
                return None, None
            _size(root, {})
            return loader.construct_document(root), root
        except yaml.MarkedYAMLError as err:
            line = err.problem_mark.line if err.problem_mark else 0
            raise self._broken(line, one_line(clean(err.problem or str(err)), 300)) from err
        except RecursionError as err:
            raise self._broken(loader.line if loader else 0, "found values that are nested too deeply") from err
        finally:
            if loader:
                loader.dispose()

    def _broken(self, lines_before: int, problem: str) -> InputError:
        return InputError(f"{self.source}: line {lines_before + 1}: {problem}")

    @functools.cached_property
    def _lines(self) -> dict[Path, int]:
        """Return the line of each key and list item by its path."""
        return dict(_lines_of(self._root, ())) if self._root else {}

    def line_of(self, path: Path) -> int:
        """Return the line of ``path``, or of the nearest enclosing key that has one."""
        while path and path not in self._lines:
            path = path[:-1]
        return self._lines.get(path, 1)

    def error(self, path: Path, words: str) -> InputError:
        """Return the error ``words`` about the key ``path``, for the caller to raise."""
        return InputError(f"{self.source}: line {self.line_of(path)}: {_dotted(path)}: {words}")

    def fit(self, kind: type[T]) -> T:
        """Return the document as ``kind``.

        :raises InputError: a value does not fit; names the first key, its line, and the expected type.
        """
        return fit(self.value, kind, self.source, self.line_of)

    def refuse(self, path: Path, words: str) -> None:
        """Add the problem ``words`` about the key ``path``. Name the place in the file if ``moved`` has another."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.moved:
                path = (*self.moved[path[:length]], *path[length:])
        where = ".".join(map(str, path)) or "the document"
        problem = f"{self.source}: line {self.line_of(path)}: {one_line(clean(f'{where}: {words}'), 400)}"
        if problem not in self.problems:
            self.problems.append(problem)

    def require_known(self, path: Path, name: Any, legal: Iterable[str], what: str) -> bool:
        """Return whether ``name`` is among the legal names of ``what``. Add a problem if it is not."""
        legal = list(legal)
        if name in legal:
            return True
        self.refuse(path, f"unknown {what} {name!r}: {suggestion(str(name), legal)}")
        return False

    def decode(self, kind: Any, value: Any = _MISSING, path: Path = ()) -> Any:
        """Return ``value`` (by default the whole document) as ``kind``. Add each problem and then return ``None``.

        No list may contain a text twice.
        """
        value = self.value if value is _MISSING else value
        misfits = list(_misfits(value, kind, path, strict=True))
        for misfit in misfits:
            self.refuse(misfit.path, misfit.of_site)
        return None if misfits else msgspec.convert(value, kind)


def require_sound(files: Iterable[YamlFile]) -> None:
    """Raise an error if one of the files has a problem.

    :raises InputError: it has a line for each problem.
    """
    problems = [problem for file in files for problem in file.problems]
    more = len(problems) - _MOST_PROBLEMS
    if problems:
        raise InputError("\n".join(problems[:_MOST_PROBLEMS] + ([f"and {more} more"] if more > 0 else [])))


class _Loader(yaml.SafeLoader):
    """PyYAML's safe loader: dates stay text, aliases are allowed only if ``aliases`` is set, each key occurs once."""

    aliases = False
    yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        # Nested aliases can expand to any size, and a clause of a contract must be readable in place.
        if not self.aliases and self.check_event(yaml.AliasEvent):
            event = self.get_event()  # type: ignore[no-untyped-call]
            raise _problem(event, f"expected the value itself, found the alias *{event.anchor}")
        return super().compose_node(parent, index)

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        kind = str(node.tag).rpartition(":")[2]
        if isinstance(node, yaml.ScalarNode):
            if hidden_at(node.value) is not None:
                raise _problem(node, f"expected no control or invisible characters, found {node.value[:80]!a}")
            if kind in ("int", "float") and len(node.value) > _NUMBER_LIMIT:
                raise _problem(node, f"expected a number of at most {_NUMBER_LIMIT} characters")
        try:
            value = super().construct_object(node, deep)
        # PyYAML's errors for a scalar that does not fit its tag.
        except (ValueError, LookupError, AttributeError) as err:
            raise _problem(node, f"expected a valid {kind}, found {reprlib.repr(node.value)}") from err
        if kind in _UNAMBIGUOUS and not _UNAMBIGUOUS[kind].fullmatch(node.value):
            written, text = json.dumps(value), json.dumps(node.value)
            words = f"found {node.value}, which YAML 1.1 and 1.2 read differently: write {written}, or {text} for text"
            raise _problem(node, words)
        return value

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        # Check before `<<` adds the keys of another mapping, which a key here may replace.
        node: yaml.MappingNode = super().compose_mapping_node(anchor)
        seen = set()
        for key, _ in node.value:
            merges = self.aliases and key.tag == "tag:yaml.org,2002:merge"
            plain = isinstance(key, yaml.ScalarNode) and (merges or key.tag == "tag:yaml.org,2002:str")
            if not plain or key.value in seen:
                raise _problem(key, f"expected each key once, and as text; found {key.value!r}")
            seen.add(key.value)
        return node


def _problem(at: Any, problem: str) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=at.start_mark)


def _size(node: yaml.Node, sizes: dict[yaml.Node, int]) -> int:
    """Return the number of values that ``node`` expands to. Visit each node once, however many aliases refer to it.

    :raises yaml.MarkedYAMLError: the node contains itself, or its aliases expand to too many values.
    """
    if node in sizes:
        if not sizes[node]:
            raise _problem(node, "found an alias to something that contains it")
        return sizes[node]
    sizes[node], total = 0, 1
    inner = node.value if isinstance(node, yaml.CollectionNode) else []
    for child in [part for pair in inner for part in pair] if isinstance(node, yaml.MappingNode) else inner:
        total += _size(child, sizes)
        if total > _MOST_VALUES:
            raise _problem(node, f"found more than {_MOST_VALUES:,} values with its aliases written out")
    sizes[node] = total
    return total


def _lines_of(node: yaml.Node, path: Path) -> Iterator[tuple[Path, int]]:
    yield path, node.start_mark.line + 1
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield from _lines_of(value, (*path, key.value))
            yield (*path, key.value), key.start_mark.line + 1
    elif isinstance(node, yaml.SequenceNode):
        for number, value in enumerate(node.value):
            yield from _lines_of(value, (*path, number))


class _Misfit(NamedTuple):
    """``value`` at ``path`` does not fit ``kind``; ``message`` is msgspec's, or the ``missing`` or ``unknown`` key."""

    path: Path
    value: Any
    kind: Any
    message: str
    fault: Literal["missing", "unknown", "twice", ""] = ""

    @property
    def _choices(self) -> list[Any]:
        kinds = _alternatives(self.value, self.kind)
        return [one for kind in kinds if get_origin(kind) is Literal for one in get_args(kind)]

    @property
    def of_site(self) -> str:
        """Return the error message for a site's file."""
        shown = f"the keys {', '.join(map(str, self.value))}" if isinstance(self.value, Mapping) else repr(self.value)
        if self.fault == "missing":
            return f"expected the key {self.message}"
        if self.fault == "twice":
            return f"expected each item once, found {shown} again"
        if self.fault == "unknown":
            return f"unknown key {self.message!r}: {suggestion(self.message, _fields(self.kind))}"
        if self._choices and isinstance(self.value, str):
            return f"unknown name {self.value!r}: {suggestion(self.value, self._choices)}"
        if self.message.startswith("Expected `object` of length"):
            return "expected at least one entry"
        found = "" if self.value is None or isinstance(self.value, list) else f", found {shown}"
        return self.message.replace("`", "") + found

    @property
    def of_record(self) -> str:
        """Return the error message for a record: in JSON's words, or with the type's own description."""
        if self.fault == "missing":
            return f"'{self.message}' is a required property"
        if self.fault == "unknown":
            return self.of_site
        expected = next(_descriptions(self.kind), "") or " or ".join(map(str, self._choices))
        if match := _EXPECTED.fullmatch(self.message):
            expected = expected or " or ".join(_JSON_WORDS.get(one, one) for one in match[1].split(" | ")) + match[2]
        elif not (expected and self.message.startswith("Invalid ")):
            return self.message
        return f"expected {expected}, found {reprlib.repr(self.value)}"


def _dotted(path: Path) -> str:
    """Return the path as text, for instance ``runs[0].curves['a b']``."""
    steps = (f".{key}" if str(key).isidentifier() else f"[{key!r}]" for key in path)
    return clean("".join(steps)).removeprefix(".") or "the document"


def _misfits(value: Any, kind: Any, path: Path, *, strict: bool) -> Iterator[_Misfit]:
    """Yield the innermost values that do not fit ``kind``; if ``strict``, also each text that a list has twice."""
    message = _refusal(value, kind)
    if not (message or strict):
        return
    told = False
    if isinstance(value, Mapping) and (one := next((one for one in _alternatives(value, kind) if _fields(one)), None)):
        info: Any = msgspec.inspect.type_info(one)
        closed, tag = (getattr(info, name, None) for name in ("forbid_unknown_fields", "tag_field"))
        unknown = [key for key in value if closed and key not in (*_fields(one), tag)]
        yield from (_Misfit((*path, key), value, one, str(key), "unknown") for key in unknown)
        missing = next((key for key, (_, required) in _fields(one).items() if required and key not in value), None)
        if told := missing is not None:
            yield _Misfit(path, value, one, str(missing), "missing")
        if unknown:
            value = {key: item for key, item in value.items() if key not in unknown}
            message = _refusal(value, kind)
    for key, item, of_item in _inside(value, kind):
        at = (*path, key)
        if strict and isinstance(value, list) and isinstance(item, str) and item in value[: int(key)]:
            told = True
            yield _Misfit(at, item, kind, "", "twice")
        for misfit in _misfits(item, of_item, at, strict=strict):
            told = True
            # For a list of plain values the line and the place are enough.
            plain = strict and isinstance(value, list) and not _fields(of_item)
            yield misfit._replace(value=value) if plain else misfit
    if message and not told:
        yield _Misfit(path, value, kind, message)


def _refusal(value: Any, kind: Any) -> str:
    """Return msgspec's reason why ``value`` does not fit ``kind``; empty if it fits."""
    with contextlib.suppress(RecursionError):
        try:
            msgspec.convert(value, kind)
        except msgspec.ValidationError as err:
            return _PATH_IN_MESSAGE.sub("", str(err))
    return ""


def _inside(value: Any, kind: Any) -> Iterator[tuple[str | int, Any, Any]]:
    """Yield each value inside ``value``: its key, the value, and its type in ``kind``."""
    for one in _alternatives(value, kind):
        origin, inner, fields = get_origin(one), get_args(one), _fields(one)
        if isinstance(value, Mapping) and origin is dict:
            for key, item in value.items():
                yield key, key, inner[0]
                yield key, item, inner[1]
        elif isinstance(value, Mapping):
            yield from ((key, item, fields[key][0]) for key, item in value.items() if key in fields)
        elif isinstance(value, list | tuple) and (origin is list or (origin is tuple and inner[-1] is Ellipsis)):
            yield from ((number, item, inner[0]) for number, item in enumerate(value))
        elif isinstance(value, list | tuple) and not dataclasses.is_dataclass(one):
            of_items = inner if origin is tuple else [of_field for of_field, _ in fields.values()]
            if origin is not tuple or len(value) == len(inner):
                yield from ((number, *pair) for number, pair in enumerate(zip(value, of_items, strict=False)))


def _alternatives(value: Any, kind: Any) -> Iterator[Any]:
    """Yield the members of a union without annotations, and without structures that ``value`` cannot be."""
    if get_origin(kind) is Annotated:
        yield from _alternatives(value, get_args(kind)[0])
    elif get_origin(kind) in (Union, types.UnionType):
        for one in get_args(kind):
            yield from _alternatives(value, one)
    else:
        config, named = getattr(kind, "__struct_config__", None), isinstance(value, Mapping)
        tag_field = config and config.tag_field
        if config is None or (config.array_like is not named and (not tag_field or value.get(tag_field) == config.tag)):
            yield kind


def _descriptions(kind: Any) -> Iterator[str]:
    """Yield the descriptions in a type's annotations."""
    if get_origin(kind) is Annotated:
        yield from (meta.description for meta in kind.__metadata__ if meta.description)
    elif get_origin(kind) in (Union, types.UnionType):
        for one in get_args(kind):
            yield from _descriptions(one)


@functools.cache
def _fields(kind: Any) -> dict[str, tuple[Any, bool]]:
    """Return a structure's fields: name in a document -> type, and whether it is required. Empty for other types."""
    if not (isinstance(kind, type) and (issubclass(kind, msgspec.Struct) or dataclasses.is_dataclass(kind))):
        return {}
    hints, info = get_type_hints(kind, include_extras=True), msgspec.inspect.type_info(kind)
    return {one.encode_name: (hints[one.name], one.required) for one in getattr(info, "fields", ())}
