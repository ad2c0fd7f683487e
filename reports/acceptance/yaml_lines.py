"""YAML whose every key remembers its line; refuses what could surprise who signs it, or exhaust memory."""

import pathlib
from collections.abc import Hashable
from typing import Any

import yaml

from reports.errors import InputError
from reports.untrusted import clean, one_line

SIZE_LIMIT = 1 << 20
Path = tuple[str | int, ...]


class _Loader(yaml.SafeLoader):
    """PyYAML's safe loader, with dates left as text, without aliases, and with each key once."""

    yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        # An alias of aliases expands to any size, and a clause has to be readable where it stands.
        if self.check_event(yaml.AliasEvent):
            event = self.get_event()  # type: ignore[no-untyped-call]
            problem = f"expected the value itself, found the alias *{event.anchor}"
            raise yaml.composer.ComposerError(None, None, problem, event.start_mark)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.tag != "tag:yaml.org,2002:str" or key.value in seen:
                problem = f"expected each key once, and as text; found {key.value!r}"
                raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep=deep)


def load_yaml(path: pathlib.Path) -> tuple[Any, dict[Path, int]]:
    """The document at ``path``, and the line of each key and list item by its path.

    :raises InputError: it cannot be read, is larger than ``SIZE_LIMIT`` bytes, is no valid YAML, or has an alias or a
        key twice; names the file and the line.
    """
    source = clean(str(path))
    try:
        with path.open("rb") as file:
            data = file.read(SIZE_LIMIT + 1)
        text = data.decode("utf-8")
    except OSError as err:
        raise InputError(f"cannot read {source}: {err.strerror}") from err
    except UnicodeDecodeError as err:
        raise InputError(f"{source}: expected UTF-8: {err.reason} at byte {err.start}") from err
    if len(data) > SIZE_LIMIT:
        raise InputError(f"{source}: expected at most {SIZE_LIMIT} bytes")
    loader = None
    try:
        loader = _Loader(text)
        root = loader.get_single_node()
        return (None, {}) if root is None else (loader.construct_document(root), dict(_lines(root, ())))
    except yaml.MarkedYAMLError as err:
        line = f"line {err.problem_mark.line + 1}: " if err.problem_mark else ""
        raise InputError(f"{source}: {line}{one_line(clean(err.problem or str(err)), 300)}") from err
    except (yaml.YAMLError, RecursionError, ValueError) as err:
        raise InputError(f"{source}: not valid YAML: {one_line(clean(str(err)), 300)}") from err
    finally:
        if loader:
            loader.dispose()


def line_of(path: Path, lines: dict[Path, int]) -> int:
    """The line of ``path``, or of the nearest thing around it that has one."""
    while path and path not in lines:
        path = path[:-1]
    return lines.get(path, 1)


def _lines(node: yaml.Node, path: Path) -> list[tuple[Path, int]]:
    found = [(path, node.start_mark.line + 1)]
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            inner = _lines(value, (*path, key.value))
            found += [((*path, key.value), key.start_mark.line + 1), *inner[1:]]
    elif isinstance(node, yaml.SequenceNode):
        for number, value in enumerate(node.value):
            found += _lines(value, (*path, number))
    return found
