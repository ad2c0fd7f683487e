"""A file of a site as data that remembers its lines, and the problems that were found in it."""

import contextlib
import pathlib
import re
from collections.abc import Iterable, Mapping
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from kappa.core.ground.clean_text import clean, one_line
from kappa.core.ground.errors import InputError
from kappa.core.ground.nearest import suggestion
from kappa.core.ground.yaml_lines import SIZE_LIMIT, Path, line_of, load_yaml

_MOST_PROBLEMS = 20
_PATH_IN_MESSAGE = re.compile(r" - at `(?:key in )?\$(.*)`$")
_MISSING: Any = object()


class YamlFile:
    """``value`` is the document; ``lines`` maps the path of each key to its line.

    ``moved`` maps the path of what was taken from elsewhere in the file to where it is written.
    """

    def __init__(self, path: pathlib.Path, limit: int = SIZE_LIMIT, *, aliases: bool = True) -> None:
        """:raises InputError: the file is no valid YAML; names the file and the line."""
        self.source = clean(str(path))
        self.value, self.lines = load_yaml(path, aliases=aliases, limit=limit)
        self.moved: dict[Path, Path] = {}
        self.problems: list[str] = []

    def refuse(self, path: Path, words: str) -> None:
        """Note what is wrong at the key ``path``."""
        path = self.written(path)
        where = ".".join(map(str, path)) or "the document"
        problem = f"{self.source}: line {line_of(path, self.lines)}: {one_line(clean(f'{where}: {words}'), 400)}"
        if problem not in self.problems:
            self.problems.append(problem)

    def written(self, path: Path) -> Path:
        """The path in the file of what is at ``path`` of ``value``."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.moved:
                path = (*self.moved[path[:length]], *path[length:])
        return path

    def require_known(self, path: Path, name: Any, legal: Iterable[str], what: str) -> bool:
        """Whether ``name`` is among the legal names of ``what``; notes it otherwise."""
        legal = list(legal)
        if name in legal:
            return True
        self.refuse(path, f"unknown {what} {name!r}: {suggestion(str(name), legal)}")
        return False

    def decode(self, kind: Any, value: Any = _MISSING, path: Path = ()) -> Any:
        """``value`` (the whole document by default) as ``kind``; ``None`` after problems, each noted with its line."""
        value = self.value if value is _MISSING else value
        before = len(self.problems)
        found = self._decoded(kind, value, path)
        return found if len(self.problems) == before else None

    def _decoded(self, kind: Any, value: Any, path: Path) -> Any:
        plain = _plain(kind)
        if isinstance(plain, type) and issubclass(plain, msgspec.Struct) and isinstance(value, Mapping):
            return self._struct(plain, value, path)
        if get_origin(plain) is dict and isinstance(value, Mapping):
            if not value and any(getattr(said, "min_length", None) for said in get_args(kind)[1:]):
                self.refuse(path, "expected at least one entry")
            of_key, of_value = get_args(plain)
            return {
                self._decoded(of_key, key, (*path, key)): self._decoded(of_value, inner, (*path, key))
                for key, inner in value.items()
            }
        if get_origin(plain) is list and isinstance(value, list):
            self._require_once(value, path)
            of_item = get_args(plain)[0]
            if isinstance(of_item, type) and issubclass(of_item, msgspec.Struct):
                return [self._decoded(of_item, item, (*path, number)) for number, item in enumerate(value)]
        if get_origin(plain) is Literal and isinstance(value, str):
            return value if self.require_known(path, value, get_args(plain), "name") else None
        with contextlib.suppress(RecursionError):
            try:
                return msgspec.convert(value, kind)
            except msgspec.ValidationError as err:
                message = str(err)
                at = _PATH_IN_MESSAGE.search(message)
                inner = tuple(int(number) for number in re.findall(r"\[(\d+)\]", at[1])) if at else ()
                shown = f"the keys {', '.join(map(str, value))}" if isinstance(value, Mapping) else repr(value)
                found = "" if value is None or isinstance(value, list) else f", found {shown}"
                self.refuse((*path, *inner), _PATH_IN_MESSAGE.sub("", message).replace("`", "") + found)
        return None

    def _struct(self, kind: type[msgspec.Struct], value: Mapping[str, Any], path: Path) -> Any:
        hints = get_type_hints(kind, include_extras=True)
        fields = msgspec.structs.fields(kind)
        names = [field.encode_name for field in fields]
        for key in value:
            self.require_known((*path, key), key, names, "key")
        given = {
            field.name: self._decoded(hints[field.name], value[field.encode_name], (*path, field.encode_name))
            for field in fields
            if field.encode_name in value
        }
        missing = [field.encode_name for field in fields if field.required and field.encode_name not in value]
        if missing:
            self.refuse(path, f"expected the key {missing[0]}")
            return None
        try:
            return kind(**given)
        except ValueError as err:  # of what its keys are together
            self.refuse(path, str(err))
            return None

    def _require_once(self, value: list[Any], path: Path) -> None:
        seen: list[Any] = []
        for number, item in enumerate(value):
            if isinstance(item, str) and item in seen:
                self.refuse((*path, number), f"expected each item once, found {item!r} again")
            seen.append(item)


def require_sound(files: Iterable[YamlFile]) -> None:
    """:raises InputError: something is wrong in one of the files; a line for each problem."""
    problems = [problem for file in files for problem in file.problems]
    more = len(problems) - _MOST_PROBLEMS
    if problems:
        raise InputError("\n".join(problems[:_MOST_PROBLEMS] + ([f"and {more} more"] if more > 0 else [])))


def _plain(kind: Any) -> Any:
    """``kind`` without what only constrains or describes it, and without ``None``."""
    while get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    if isinstance(kind, UnionType) or get_origin(kind) is Union:
        others = [part for part in get_args(kind) if part is not NoneType]
        return _plain(others[0]) if len(others) == 1 else kind
    return kind
