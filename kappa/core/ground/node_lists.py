"""Fold lists of nodes as Slurm does."""

import functools
import re
from collections.abc import Iterable

from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet, NodeSetException

# ClusterShell could read any other name as a range or a group of nodes.
_PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
# One bracket at most, so that the sizes of all ranges add up to the number of nodes.
_FOLDED = re.compile(r"[A-Za-z0-9._-]+(\[[0-9]{1,9}(-[0-9]{1,9})?(,[0-9]{1,9}(-[0-9]{1,9})?)*\][A-Za-z0-9._-]*)?")
_BETWEEN_NAMES = re.compile(r",(?![^\[]*\])")
_RANGE = re.compile(r"(?<=[\[,])([0-9]{1,9})-([0-9]{1,9})(?=[\],])")


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
    # A range is a few characters and may stand for more names than a memory holds.
    sizes = [int(last) - int(first) + 1 for first, last in _RANGE.findall(text)]
    plain = all(_FOLDED.fullmatch(name) for name in _BETWEEN_NAMES.split(text))
    try:
        nodes = NodeSet(text, resolver=RESOLVER_NOGROUP) if plain and sum(sizes) <= most else None
    except NodeSetException:
        nodes = None
    if not nodes or len(nodes) > most:
        raise ValueError(f"expected 1 to {most} nodes such as node[1-4], found {text[:80]!r}")
    return tuple(nodes)
