"""What changed in ``site.yaml`` from format to format: read in its new form if it has one, else named with its line."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kappa.core.ground.yaml_file import YamlFile
from kappa.core.ground.yaml_lines import Path

KEY = "format"
OLDEST = 1
"""Of a file that does not say."""


@dataclass(frozen=True)
class Change:
    """What files before ``format`` may hold.

    The last part of ``path`` is a key, or an item of a list; ``*`` is any key. ``instead``: what it is read as; empty
    where nothing else means the same, and ``words`` say what to write.
    """

    format: int
    path: tuple[str, ...]
    instead: str = ""
    words: str = ""


CHANGES = (
    Change(2, ("environments", "*", "features", "emt-other-mpi"), instead="emt-build"),
    Change(
        2,
        ("environments", "*", "modes"),
        words="a partition has `modes`: give one of its own, with `slurm_partition`, to this environment",
    ),
)
CURRENT = max(change.format for change in CHANGES)


def read_as_current(file: YamlFile, changes: Sequence[Change] = CHANGES) -> None:
    """Put the document of an older format into the form of this one; notes what has to be changed by hand."""
    document = file.value
    if not isinstance(document, Mapping):
        return
    current = max(change.format for change in changes)
    stated = document.get(KEY, OLDEST)
    if not isinstance(stated, int) or isinstance(stated, bool) or not OLDEST <= stated <= current:
        newer = isinstance(stated, int) and stated > current
        hint = "a newer Kappa wrote it: upgrade this one" if newer else f"found {stated!r}"
        file.refuse((KEY,), f"expected a format from {OLDEST} to {current}; {hint}")
        return
    for change in changes:
        if change.format <= stated:
            continue
        for holder, path in list(_places(document, change.path, ())):
            if not change.instead:
                file.refuse(path, f"no key since format {change.format}: {change.words}")
            elif isinstance(holder, list):
                holder[int(path[-1])] = change.instead
            else:
                holder[change.instead] = holder.pop(path[-1])
                file.moved[(*path[:-1], change.instead)] = path


def _places(value: Any, pattern: tuple[str, ...], path: Path) -> Iterator[tuple[Any, Path]]:
    """What holds the last part of the pattern, and the path of that part."""
    first, *rest = pattern
    if isinstance(value, list) and not rest:
        yield from ((value, (*path, number)) for number, item in enumerate(value) if item == first)
    elif isinstance(value, dict):
        for key in list(value) if first == "*" else [first] if first in value else []:
            if rest:
                yield from _places(value[key], tuple(rest), (*path, key))
            else:
                yield value, (*path, key)
