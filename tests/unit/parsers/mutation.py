"""Every small damage to a recorded output: each line, and each figure in it, one at a time."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_FIGURE = re.compile(r"[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
ABSURD = ["1e300", "9e99", "1" + 30 * "0", "inf", "nan"]


@dataclass(frozen=True)
class Mutation:
    """``text[start:end]`` becomes ``instead``.

    ``other``: a figure may have become another one, which nothing tells from the true one where it stands alone.
    ``absurd``: a figure became as high as none can be.
    """

    what: str
    start: int
    end: int
    instead: str
    other: bool = False
    absurd: bool = False

    def __call__(self, text: str) -> str:
        return text[: self.start] + self.instead + text[self.end :]


def mutations(text: str) -> Iterator[Mutation]:
    """All of them, in the order of the text, which has to end with a line end."""
    start = 0
    lines = text.splitlines(keepends=True)
    for number, line in enumerate(lines, start=1):
        after = lines[number] if number < len(lines) else ""
        for what, end, instead in _of_line(number, line, after):
            yield Mutation(f"line {number} {what}", start, start + end, instead)
        for figure in _FIGURE.finditer(line):
            where = (start + figure.start(), start + figure.end())
            for what, instead in _no_figure(figure[0]):
                yield Mutation(f"line {number}: {figure[0]} {what}", *where, instead)
            for what, instead in _another(figure[0]):
                yield Mutation(f"line {number}: {figure[0]} {what}", *where, instead, other=True)
            for instead in _absurd(figure[0]):
                yield Mutation(f"line {number}: {figure[0]} set to {instead}", *where, instead, absurd=True)
        start += len(line)


def _of_line(number: int, line: str, after: str) -> list[tuple[str, int, str]]:
    """A mutation: its kind, its place from the beginning of the line, and the new text."""
    content = line.rstrip("\n")
    middle = len(content) // 2
    # Other places in each line, so that every part of similar lines has its turn.
    damaged = [
        content[:place] + char + content[place + 1 :] + "\n"
        for char, third in zip("?x;", range(3), strict=True)
        for place in [(7 * number + third * len(content) // 3) % max(len(content), 1)]
    ]
    return [
        *[(f"damaged to {instead!r}", len(line), instead) for instead in damaged],
        ("cut off", len(line), line[:middle] + "\n"),
        ("running into the next", len(line), line[:middle]),
        ("dropped", len(line), ""),
        ("doubled", len(line), 2 * line),
        *([("exchanged with the next", len(line + after), after + line)] if after else []),
    ]


def _no_figure(figure: str) -> list[tuple[str, str]]:
    middle = len(figure) // 2
    return [
        ("with a letter", figure[:middle] + "x" + figure[middle + 1 :]),
        ("dropped", ""),
        ("written twice", f"{figure} {figure}"),
    ]


def _another(figure: str) -> list[tuple[str, str]]:
    return [("cut", figure[:-1]), ("with a sign", "-" + figure), ("doubled", 2 * figure)]


def _absurd(figure: str) -> list[str]:
    """Also in the form of the figure, so that it is not refused for its form."""
    _, point, rest = figure.partition(".")
    nines = ["9" * 12, "9" * 15, "9" * 18] if point else ["9" * 18]
    return [*ABSURD, *(digits + point + rest for digits in nines)]
