"""YAML of a site, safe to load: no Python objects, bounded when its aliases are written out, and errors of one kind."""

from typing import Any

import yaml

#: Far above any site's file; a few lines of nested aliases ("billion laughs") stand for more than a memory holds.
MAX_VALUES = 200_000


def load_yaml(text: str) -> Any:
    """The document, as ``yaml.safe_load`` gives it.

    :raises yaml.YAMLError: it is not valid, holds an impossible date or number, is nested too deep, contains itself,
        or holds more than ``MAX_VALUES`` values with its aliases written out.
    """
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        if root is None:
            return None
        require_bounded(root)
        return yaml.safe_load(text)
    except RecursionError:
        raise yaml.YAMLError("nested too deep") from None
    except ValueError as err:
        # The 30th of February, an integer of a million digits, a character that YAML forbids.
        raise yaml.YAMLError(str(err)) from err


def require_bounded(root: yaml.Node) -> None:
    """:raises yaml.MarkedYAMLError: the document contains itself, or its aliases stand for too many values."""
    _size(root, {})


def _size(node: yaml.Node, sizes: dict[yaml.Node, int]) -> int:
    """How many values ``node`` stands for; each node is visited once, however often it is referred to."""
    if node in sizes:
        if not sizes[node]:
            raise _problem(node, "an alias to something that contains it")
        return sizes[node]
    sizes[node] = 0
    children: list[yaml.Node] = []
    if isinstance(node, yaml.MappingNode):
        children = [part for pair in node.value for part in pair]
    elif isinstance(node, yaml.SequenceNode):
        children = node.value
    total = 1
    for child in children:
        total += _size(child, sizes)
        if total > MAX_VALUES:
            raise _problem(node, f"more than {MAX_VALUES:,} values with its aliases written out")
    sizes[node] = total
    return total


def _problem(node: yaml.Node, problem: str) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=f"found {problem}", problem_mark=node.start_mark)
