"""Slurm's compact lists of names (``node[1-8,12]``), expanded only after they were found short enough."""

import re
from math import prod

from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet, NodeSetException

#: More than any machine has nodes (Fugaku: 158,976), and expanded within seconds.
MAX_NAMES = 200_000
# A host's name is no longer, and Slurm's has few ranges; every number in a name is a dimension to ClusterShell.
_MAX_NAME_CHARS, _MAX_BRACKETS = 255, 4

_RANGE = "([0-9]{1,15})(?:-([0-9]{1,15}))?"
_RANGES = re.compile(_RANGE)
_BRACKETS = re.compile(rf"\[{_RANGE}(?:,{_RANGE})*\]")
_NAMES = re.compile(rf"(?:[A-Za-z0-9._-]|{_BRACKETS.pattern})+")
_LIST = re.compile(rf"{_NAMES.pattern}(?:,{_NAMES.pattern})*")


def expand(text: str, at_most: int = MAX_NAMES) -> list[str]:
    """The names that ``text`` stands for, each once, in its order.

    Only what Slurm writes: other operators of ClusterShell, of which one (``@group``) runs programs, are refused.

    :raises ValueError: not such a list, or one of more than ``at_most`` names; it says what was expected.
    """
    if not _LIST.fullmatch(text):
        raise ValueError("a list of nodes, for instance tux[0-3,12]")
    parts = [found[0] for found in _NAMES.finditer(text)]
    if sum(map(_count, parts)) > at_most:
        raise ValueError(f"a list of at most {at_most:,} nodes")
    try:
        # One by one: together, names with several numbers are folded in quadratic time.
        return list(dict.fromkeys(name for part in parts for name in NodeSet(part, resolver=RESOLVER_NOGROUP)))
    except NodeSetException as err:
        raise ValueError(f"a list of nodes, for instance tux[0-3,12] ({err})") from None


def _count(part: str) -> int:
    """How many names ``part`` stands for, at least; a range that runs backwards counts as one."""
    brackets = [found[0] for found in _BRACKETS.finditer(part)]
    if len(brackets) > _MAX_BRACKETS or len(part) - len("".join(brackets)) > _MAX_NAME_CHARS:
        raise ValueError(f"names of at most {_MAX_NAME_CHARS} characters and {_MAX_BRACKETS} ranges")
    return prod(
        sum(max(1, int(last or first) - int(first) + 1) for first, last in _RANGES.findall(ranges))
        for ranges in brackets
    )
