"""Random damage of many lines to recorded output, and what may still be read from it."""

import dataclasses
import math
import re
from collections.abc import Callable, Iterator, Sequence

import msgspec
from hypothesis import strategies as st
from msgspec.structs import fields

Draw = Callable[[st.SearchStrategy], object]

INTRUDERS = ["\x00", "\x07", "\x1b[31m", "\x7f", "\r", "\x85", "\u2028", "\N{REPLACEMENT CHARACTER}", "\t", "\n", " "]
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")


def truncate(draw: Draw, text: str) -> str:
    return text[: draw(st.integers(0, len(text) - 1))]


def swap_lines(draw: Draw, text: str) -> str:
    lines = text.splitlines(keepends=True)
    first, second = draw(st.tuples(*2 * [st.integers(0, len(lines) - 1)]))
    lines[first], lines[second] = lines[second], lines[first]
    return "".join(lines)


def interleave_lines(draw: Draw, text: str) -> str:
    """Two ranks print the same output; the lines come in turns of random length."""
    lines = text.splitlines(keepends=True)
    length = draw(st.integers(1, len(lines)))
    return "".join("".join(2 * lines[start : start + length]) for start in range(0, len(lines), length))


def mix_writes(draw: Draw, text: str) -> str:
    """A second writer breaks in at any byte."""
    position = draw(st.integers(0, len(text)))
    return text[:position] + text + text[position:]


def lose_span(draw: Draw, text: str) -> str:
    start, end = sorted(draw(st.tuples(*2 * [st.integers(0, len(text))])))
    return text[:start] + text[min(end, start + 4096) :]


def change_digit(draw: Draw, text: str) -> str:
    digit = draw(st.sampled_from(list(re.finditer("[0-9]", text))))
    return text[: digit.start()] + draw(st.sampled_from("0123456789")) + text[digit.end() :]


def intrude(draw: Draw, text: str) -> str:
    position = draw(st.integers(0, len(text)))
    return text[:position] + draw(st.sampled_from(INTRUDERS)) + text[position:]


KINDS = [truncate, swap_lines, interleave_lines, mix_writes, lose_span, change_digit, intrude]


@st.composite
def damaged(draw: Draw, text: str) -> str:
    """``text`` with one or two kinds of damage."""
    for kind in draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=2)):
        if re.search("[0-9]", text):
            text = kind(draw, text)
    return text


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
    """What an entry of a list is known by, whatever its place."""
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
