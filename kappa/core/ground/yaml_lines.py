"""YAML whose every key remembers its line; refuses what could surprise who signs it, or exhaust memory."""

import pathlib
import reprlib
from typing import Any

import yaml

from kappa.core.ground import bounded_yaml
from kappa.core.ground.bounded_file import read_text
from kappa.core.ground.clean_text import clean, one_line
from kappa.core.ground.errors import InputError

SIZE_LIMIT = 1 << 20
# The largest float has 309; Python takes ever longer for more.
_NUMBER_LIMIT = 100
Path = tuple[str | int, ...]


class _Loader(yaml.SafeLoader):
    """PyYAML's safe loader, with dates left as text, with aliases only where ``aliases`` says so, and each key once."""

    aliases = False

    yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        # An alias of aliases expands to any size, and a clause has to be readable where it stands.
        if not self.aliases and self.check_event(yaml.AliasEvent):
            event = self.get_event()  # type: ignore[no-untyped-call]
            problem = f"expected the value itself, found the alias *{event.anchor}"
            raise yaml.composer.ComposerError(None, None, problem, event.start_mark)
        return super().compose_node(parent, index)

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        if isinstance(node, yaml.ScalarNode):
            self._require_plain(node)
        try:
            return super().construct_object(node, deep)
        # What PyYAML has for a scalar that its tag does not fit.
        except (ValueError, LookupError, AttributeError) as err:
            problem = f"expected a valid {_kind(node)}, found {reprlib.repr(node.value)}"
            raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark) from err

    def _require_plain(self, node: yaml.ScalarNode) -> None:
        problem = ""
        if clean(node.value) != node.value:
            problem = f"expected no control or invisible characters, found {node.value[:80]!a}"
        elif _kind(node) in ("int", "float") and len(node.value) > _NUMBER_LIMIT:
            problem = f"expected a number of at most {_NUMBER_LIMIT} characters"
        if problem:
            raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark)

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        # Before `<<` adds the keys of another mapping, which a key here may replace.
        node: yaml.MappingNode = super().compose_mapping_node(anchor)
        seen = set()
        for key, _ in node.value:
            merges = self.aliases and key.tag == "tag:yaml.org,2002:merge"
            plain = isinstance(key, yaml.ScalarNode) and (merges or key.tag == "tag:yaml.org,2002:str")
            if not plain or key.value in seen:
                problem = f"expected each key once, and as text; found {key.value!r}"
                raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
            seen.add(key.value)
        return node


class _AliasLoader(_Loader):
    aliases = True


def _kind(node: yaml.Node) -> str:
    return str(node.tag).rpartition(":")[2]


def load_yaml(path: pathlib.Path, *, aliases: bool = False, limit: int = SIZE_LIMIT) -> tuple[Any, dict[Path, int]]:
    """The document at ``path``, and the line of each key and list item by its path.

    :param aliases: whether ``*name`` and ``<<`` may stand for what is written elsewhere.
    :raises InputError: it cannot be read, is larger than ``limit`` bytes, is no valid YAML, or has an alias that is not
        allowed or stands for too much, a key twice or a control character; names the file and the line.
    """
    source = clean(str(path))
    try:
        text = read_text(path, limit)
    except OSError as err:
        raise InputError(f"cannot read {source}: {err.strerror}") from err
    except UnicodeDecodeError as err:
        line = err.object.count(b"\n", 0, err.start) + 1
        raise InputError(f"{source}: line {line}: expected UTF-8, found {err.object[err.start : err.end]!r}") from err
    loader = None
    try:
        loader = (_AliasLoader if aliases else _Loader)(text)
        root = loader.get_single_node()
        if root is not None:
            bounded_yaml.require_bounded(root)
        return (None, {}) if root is None else (loader.construct_document(root), dict(_lines(root, ())))
    except yaml.MarkedYAMLError as err:
        line = err.problem_mark.line + 1 if err.problem_mark else 1
        raise InputError(f"{source}: line {line}: {one_line(clean(err.problem or str(err)), 300)}") from err
    except yaml.reader.ReaderError as err:
        line, found = text.count("\n", 0, err.position) + 1, ascii(text[err.position])
        raise InputError(f"{source}: line {line}: expected no control characters, found {found}") from err
    except RecursionError as err:
        line = loader.line + 1 if loader else 1
        raise InputError(f"{source}: line {line}: found what is nested without end") from err
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
