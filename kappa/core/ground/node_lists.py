"""Write and read lists of nodes in Slurm's syntax, for instance ``node[01-16,20]``."""

import functools
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from math import inf, prod

from kappa.core.ground.clean_text import one_line

#: More nodes than Slurm manages (65,533).
MAX_NODES = 100_000
#: The expected text, for errors.
NODE_LIST = f"a list of 1 to {MAX_NODES:,} nodes such as node[1-4]"
_MAX_NAME_CHARS = 255

_DIGITS = "[0-9]{1,15}"
_RANGES = f"{_DIGITS}(?:-{_DIGITS})?(?:,{_DIGITS}(?:-{_DIGITS})?)*"
_RANGE = re.compile(f"({_DIGITS})(?:-({_DIGITS}))?")
_BRACKETS = re.compile(rf"\[({_RANGES})\]")
_ITEM = re.compile(rf"(?:[A-Za-z0-9._-]|\[{_RANGES}\])+")
_LIST = re.compile(f"{_ITEM.pattern}(?:,{_ITEM.pattern})*")
_HOST_NAME = re.compile(f"[A-Za-z0-9._-]{{1,{_MAX_NAME_CHARS}}}")
_NUMBER = re.compile(f"(?<![0-9])({_DIGITS})(?![0-9])")

# A name as texts and numbers in turn, texts first and last: rack, 01, -, 16, and an empty text.
_Parts = tuple[str, ...]


def folded(nodes: Iterable[str]) -> str:
    """Return ``node[1-3,7]`` for node1, node2, node3 and node7. Every version of Slurm reads it.

    Slurm before 23.11 reads brackets only in a name that ends in one, for instance ``rack[1-2]-[5]``. So names that do
    not end in a number are listed one by one. Names that are not host names come last, unchanged.
    """
    return _folded(frozenset(nodes))


@functools.lru_cache(64)  # a page names all nodes of a partition again and again
def _folded(nodes: frozenset[str]) -> str:
    hosts = {node for node in nodes if _HOST_NAME.fullmatch(node)}
    names = sorted((tuple(_NUMBER.split(host)) for host in hosts), key=_in_order)
    for place in range(2, max(map(len, names), default=0), 2):
        names = _folded_at(place, names)
    return ",".join([*map(_closed, names), *sorted(nodes - hosts)])


def _in_order(parts: _Parts) -> list[object]:
    return [(int(part), len(part)) if number % 2 else part for number, part in enumerate(parts)]


def _folded_at(place: int, names: Iterable[_Parts]) -> list[_Parts]:
    """Join the names that differ only in their number at ``place``, counted from the end."""
    groups: dict[tuple[_Parts, _Parts], list[str]] = {}
    for parts in names:
        folds = not parts[-1] and place < len(parts)
        key = (parts[:-place], parts[1 - place :]) if folds else (parts, ())
        groups.setdefault(key, []).append(parts[-place] if folds else "")
    return [(*before, _ranges(numbers), *after) if after else before for (before, after), numbers in groups.items()]


def _ranges(numbers: Sequence[str]) -> str:
    """Return ``[08-11]`` for the sorted numbers 08, 09, 10 and 11, and a single number as it is."""
    if len(numbers) == 1:
        return numbers[0]
    ranges: list[tuple[str, str]] = []
    for number in numbers:
        first, last = ranges[-1] if ranges else ("", "")
        if last and number == str(int(last) + 1).zfill(len(first)):
            ranges[-1] = (first, number)
        else:
            ranges.append((number, number))
    return f"[{','.join(first if first == last else f'{first}-{last}' for first, last in ranges)}]"


def _closed(parts: _Parts) -> str:
    """Return the name. If it has brackets, its last number has, too."""
    text = "".join(parts)
    return f"{''.join(parts[:-2])}[{parts[-2]}]" if "[" in text and not text.endswith("]") else text


def expand_nodes(text: str) -> list[str]:
    """Expand a list of nodes; return each name once, in the order of the list.

    A name may have several brackets, also before other text.

    :raises ValueError: the text is no such list, or has more than ``MAX_NODES`` names.
    """
    # Each comma adds a number or a name at least.
    fits = text.count(",") < MAX_NODES and _LIST.fullmatch(text)
    items = [item[0] for item in _ITEM.finditer(text)] if fits else []
    if not items or sum(map(_number_of_names, items)) > MAX_NODES:
        raise ValueError(f"expected {NODE_LIST}, found {one_line(text, 80)!r}")
    return list(dict.fromkeys(name for item in items for name in _names(item)))


def _number_of_names(item: str) -> float:
    """Return how many names an item of the list has; infinite if it cannot be expanded."""
    ranges = [_RANGE.findall(numbers) for numbers in _BRACKETS.findall(item)]
    forward = all(
        int(first) <= int(last) and last == str(int(last)).zfill(len(first))
        for bracket in ranges for first, last in bracket if last
    )  # fmt: skip
    if not forward or len(_BRACKETS.sub("0", item)) > _MAX_NAME_CHARS:
        return inf
    return prod(sum(int(last or first) - int(first) + 1 for first, last in bracket) for bracket in ranges)


def _names(item: str) -> Iterator[str]:
    pieces = _BRACKETS.split(item)
    choices = [_numbers(piece) if place % 2 else [piece] for place, piece in enumerate(pieces)]
    return map("".join, itertools.product(*choices))


def _numbers(ranges: str) -> list[str]:
    return [
        str(number).zfill(len(first))
        for first, last in _RANGE.findall(ranges)
        for number in range(int(first), int(last or first) + 1)
    ]
