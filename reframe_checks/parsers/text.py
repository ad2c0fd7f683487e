"""Benchmark output as lines that can be trusted: whole, printable, and of bounded length."""

import math
import re
from dataclasses import dataclass

from reframe_checks.parsers.errors import ParseError

# Far above any line that a benchmark prints; bounds the work that one damaged line can cause.
MAX_LINE_CHARS = 100_000

# Numbers as printf writes them (%d, %g). Bounded, so that none is costly to match or to convert.
INTEGER = r"[0-9]{1,18}"
GENERAL = r"[0-9]{1,15}(?:\.[0-9]{1,20})?(?:e[+-][0-9]{2,3})?"


@dataclass(frozen=True)
class Output:
    """The output of one benchmark; ``what`` names it in errors, line numbers count from 1."""

    what: str
    text: str
    lines: tuple[str, ...]

    @classmethod
    def read(cls, what: str, text: str) -> "Output":
        """
        :raises ParseError: the text is empty, is cut off inside its last line, holds control characters or bytes
            that were not UTF-8, or a line longer than ``MAX_LINE_CHARS``.
        """
        if not text or text.isspace():
            raise ParseError(what, "output, found none", text="", line=1)
        *lines, rest = text.split("\n")
        for number, line in enumerate(lines, start=1):
            if len(line) > MAX_LINE_CHARS:
                raise ParseError(what, f"a line of at most {MAX_LINE_CHARS} characters", text=text, line=number)
            if not line.replace("\t", " ").isprintable() or "\N{REPLACEMENT CHARACTER}" in line:
                raise ParseError(what, "text without control characters", text=text, line=number)
        if rest:
            raise ParseError(what, "a line end: the output is cut off here", text=text, line=len(lines) + 1)
        return cls(what, text, tuple(lines))

    def error(self, number: int, expected: str) -> ParseError:
        """The error to raise for line ``number``."""
        return ParseError(self.what, expected, text=self.text, line=number)

    def missing(self, expected: str) -> ParseError:
        """The error to raise for something that no line holds; it points behind the last line."""
        return self.error(len(self.lines) + 1, expected)

    def find(self, pattern: re.Pattern[str], within: range | None = None) -> list[tuple[int, re.Match[str]]]:
        """Number and match of every line (of those numbered ``within``) that matches ``pattern`` from end to end."""
        numbers = within or range(1, len(self.lines) + 1)
        matches = ((number, pattern.fullmatch(self.lines[number - 1])) for number in numbers)
        return [(number, match) for number, match in matches if match]

    def one(self, pattern: re.Pattern[str], expected: str, within: range | None = None) -> tuple[int, re.Match[str]]:
        """The only line that matches ``pattern``.

        :raises ParseError: there is none, or there are several, as when two outputs are mixed.
        """
        found = self.find(pattern, within)
        if not found:
            raise self.missing(expected)
        if len(found) > 1:
            raise self.error(found[1][0], f"{expected} once only (also on line {found[0][0]})")
        return found[0]

    def positive(self, number: int, name: str, token: str) -> float:
        """``token`` as a finite number above zero."""
        value = float(token)
        if not 0 < value < math.inf:
            raise self.error(number, f"{name} above 0 and finite, found {token}")
        return value

    def positive_integer(self, number: int, name: str, token: str) -> int:
        """``token`` as an integer above zero."""
        value = int(token)
        if value <= 0:
            raise self.error(number, f"{name} above 0, found {token}")
        return value
