"""Fold and expand lists of nodes as Slurm does."""

import functools
import re
from collections.abc import Iterable
from math import prod

from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet, NodeSetException

# ClusterShell could read any other name as a range or a group of nodes.
_PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
#: More nodes than any machine has (Fugaku: 158,976); such a list expands within seconds.
MAX_NODES = 200_000
# Longest host name, and more ranges than Slurm's names have; for ClusterShell, each number in a name is a dimension.
_MAX_NAME_CHARS, _MAX_BRACKETS = 255, 4

_RANGE = "([0-9]{1,15})(?:-([0-9]{1,15}))?"
_RANGES = re.compile(_RANGE)
_BRACKETS = re.compile(rf"\[{_RANGE}(?:,{_RANGE})*\]")
_LISTED = re.compile(rf"(?:[A-Za-z0-9._-]|{_BRACKETS.pattern})+")
_LIST = re.compile(rf"{_LISTED.pattern}(?:,{_LISTED.pattern})*")


def folded(nodes: Iterable[str]) -> str:
    """Return ``node[1-3,7]`` for node1, node2, node3 and node7; append names that are not host names unchanged."""
    return _folded(frozenset(nodes))


@functools.lru_cache(64)  # a page names all nodes of a partition again and again
def _folded(nodes: frozenset[str]) -> str:
    unique = sorted(nodes)
    plain = [node for node in unique if _PLAIN_NAME.fullmatch(node)]
    odd = [node for node in unique if not _PLAIN_NAME.fullmatch(node)]
    return ",".join([*([str(NodeSet.fromlist(plain, resolver=RESOLVER_NOGROUP))] if plain else []), *odd])


def unfolded(text: str, most: int) -> tuple[str, ...]:
    """The names of ``node[1-3,7]``, sorted as Slurm folds them.

    :raises ValueError: it is no list of 1 to ``most`` nodes.
    """
    try:
        _parts(text, most)
        return tuple(NodeSet(text, resolver=RESOLVER_NOGROUP))
    except (ValueError, NodeSetException):
        raise ValueError(f"expected 1 to {most} nodes such as node[1-4], found {text[:80]!r}") from None


def expand_nodes(text: str, at_most: int = MAX_NODES) -> list[str]:
    """Expand a list of nodes; return each name once, in order.

    Only Slurm's syntax is allowed. Other operators of ClusterShell are refused; one of them (``@group``) runs programs.

    :raises ValueError: the text is no such list, or has more than ``at_most`` names. The error gives the expected form.
    """
    parts = _parts(text, at_most)
    try:
        # One by one: ClusterShell folds names with several numbers together in quadratic time.
        return list(dict.fromkeys(name for part in parts for name in NodeSet(part, resolver=RESOLVER_NOGROUP)))
    except NodeSetException as err:
        raise ValueError(f"a list of nodes, for instance tux[0-3,12] ({err})") from None


def _parts(text: str, at_most: int) -> list[str]:
    """Return the parts of a list of nodes between its commas.

    A part is a few characters and may stand for more names than a memory holds.

    :raises ValueError: as ``expand_nodes``.
    """
    if not _LIST.fullmatch(text):
        raise ValueError("a list of nodes, for instance tux[0-3,12]")
    parts = [found[0] for found in _LISTED.finditer(text)]
    if sum(map(_number_of_nodes, parts)) > at_most:
        raise ValueError(f"a list of at most {at_most:,} nodes")
    return parts


def _number_of_nodes(part: str) -> int:
    """Return a lower bound of the number of names in ``part``; a backward range counts as one name."""
    brackets = [found[0] for found in _BRACKETS.finditer(part)]
    if len(brackets) > _MAX_BRACKETS or len(part) - len("".join(brackets)) > _MAX_NAME_CHARS:
        raise ValueError(f"names of at most {_MAX_NAME_CHARS} characters and {_MAX_BRACKETS} ranges")
    return prod(
        sum(max(1, int(last or first) - int(first) + 1) for first, last in _RANGES.findall(ranges))
        for ranges in brackets
    )
