"""Random damage of many lines to recorded output, and what may still be read from it."""

import dataclasses
import math
import random
import re
from collections.abc import Callable, Iterator, Sequence

import msgspec
from msgspec.structs import fields

#: Draws an integer from 0 to below the one that it is given.
Draw = Callable[[int], int]

INTRUDERS = ["\x00", "\x07", "\x1b[31m", "\x7f", "\r", "\x85", "\u2028", "\N{REPLACEMENT CHARACTER}", "\t", "\n", " "]
# Lines that are exchanged, and bytes that get lost: half of them are at most so far apart.
NEAR_LINES, NEAR_BYTES = 4, 200
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")


def truncate(draw: Draw, text: str) -> str:
    return text[: draw(len(text))]


def swap_lines(draw: Draw, text: str) -> str:
    lines = text.splitlines(keepends=True)
    first, second = _two_places(draw, len(lines), NEAR_LINES)
    lines[first], lines[second] = lines[second], lines[first]
    return "".join(lines)


def interleave_lines(draw: Draw, text: str) -> str:
    """Two ranks print the same output; the lines come in turns of random length."""
    lines = text.splitlines(keepends=True)
    length = 1 + draw(len(lines))
    return "".join("".join(2 * lines[start : start + length]) for start in range(0, len(lines), length))


def mix_writes(draw: Draw, text: str) -> str:
    """A second writer breaks in at any byte."""
    position = draw(len(text) + 1)
    return text[:position] + text + text[position:]


def lose_span(draw: Draw, text: str) -> str:
    start, end = _two_places(draw, len(text) + 1, NEAR_BYTES)
    return text[:start] + text[min(end, start + 4096) :]


def change_digit(draw: Draw, text: str) -> str:
    places = [digit.start() for digit in re.finditer("[0-9]", text)]
    place = places[draw(len(places))]
    return text[:place] + str(draw(10)) + text[place + 1 :]


def intrude(draw: Draw, text: str) -> str:
    position = draw(len(text) + 1)
    return text[:position] + INTRUDERS[draw(len(INTRUDERS))] + text[position:]


KINDS = [truncate, swap_lines, interleave_lines, mix_writes, lose_span, change_digit, intrude]


def damaged(text: str, seed: str) -> tuple[str, str]:
    """``text`` with one or two kinds of damage, and their names; the same for the same ``seed`` wherever it runs."""
    rng = random.Random(seed)

    def draw(below: int) -> int:
        # Python promises for this generator function alone that no version changes it.
        return int(rng.random() * below)

    names = []
    for _ in range(1 + draw(2)):
        kind = KINDS[draw(len(KINDS))]
        if re.search("[0-9]", text):
            text = kind(draw, text)
            names.append(kind.__name__)
    return text, " and ".join(names)


def _two_places(draw: Draw, places: int, near: int) -> tuple[int, int]:
    """In their order, every second time at most ``near`` apart."""
    first = draw(places)
    second = min(first + draw(near + 1), places - 1) if draw(2) else draw(places)
    return min(first, second), max(first, second)


def leaves(value: object, path: str = "") -> Iterator[tuple[str, object]]:
    """Path and value of everything in a parser's result; records of hosts go by the host's name."""
    if dataclasses.is_dataclass(value) or isinstance(value, msgspec.Struct):
        names = [field.name for field in (dataclasses.fields if dataclasses.is_dataclass(value) else fields)(value)]
        for name in names:
            yield from leaves(getattr(value, name), f"{path}.{name}")
    elif isinstance(value, dict):
        for key, entry in value.items():
            yield from leaves(entry, f"{path}[{key}]")
    elif isinstance(value, tuple | list):
        keyed = len({_key(entry) for entry in value} - {None}) == len(value)
        for index, entry in enumerate(value):
            yield from leaves(entry, f"{path}[{_key(entry) if keyed else index}]")
    else:
        yield path, None if value is msgspec.UNSET else value


def _key(entry: object) -> object:
    """Return the identity of an entry of a list, whatever its place."""
    if hasattr(entry, "host"):
        return f"{entry.host}/{getattr(entry, 'index', '')}"
    # Ranks come in their order.
    return getattr(entry, "pair", None if hasattr(entry, "rank") else getattr(entry, "node", None))


def is_written(value: object, lines: Sequence[str], scales: Sequence[float]) -> bool:
    """Whether ``value`` stands on one of ``lines``, in one of the units that the parser converts from."""
    if value is None:
        return any("null" in line for line in lines)
    if isinstance(value, str):
        return any(value in line for line in lines)
    tokens = [float(token) for line in lines for token in _NUMBER.findall(line)]
    return any(math.isclose(token * scale, value, rel_tol=1e-12) for token in tokens for scale in scales)
