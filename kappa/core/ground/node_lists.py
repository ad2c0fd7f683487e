"""Fold lists of nodes as Slurm does."""

import functools
import re
from collections.abc import Iterable

from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet

# ClusterShell could read any other name as a range or a group of nodes.
_PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def folded(nodes: Iterable[str]) -> str:
    """Return ``node[1-3,7]`` for node1, node2, node3 and node7; append names that are not host names unchanged."""
    return _folded(frozenset(nodes))


@functools.lru_cache(64)  # a page names all nodes of a partition again and again
def _folded(nodes: frozenset[str]) -> str:
    unique = sorted(nodes)
    plain = [node for node in unique if _PLAIN_NAME.fullmatch(node)]
    odd = [node for node in unique if not _PLAIN_NAME.fullmatch(node)]
    return ",".join([*([str(NodeSet.fromlist(plain, resolver=RESOLVER_NOGROUP))] if plain else []), *odd])
