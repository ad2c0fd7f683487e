"""Benchmark output as lines that can be trusted: whole, printable, and of bounded length."""

import re
from dataclasses import dataclass
from enum import Enum

from reframe_checks.parsers.foreign_lines import ForeignLine, cuts_table, foreign_lines

# Far above any line that a benchmark prints; bounds the work that one damaged line can cause.
MAX_LINE_CHARS = 100_000

# Numbers as printf writes them (%d, %g). Bounded, so that none is costly to match or to convert.
INTEGER = r"[0-9]{1,18}"
GENERAL = r"[0-9]{1,15}(?:\.[0-9]{1,20})?(?:e[+-][0-9]{2,3})?"


class ParseError(ValueError):
    """Benchmark output that cannot be trusted.

    :param what: what was being parsed.
    :param expected: what should have been there.
    :param text, line: the text and the number (from 1) of the line where it was not.
    """

    def __init__(self, what: str, expected: str, *, text: str = "", line: int = 1) -> None:
        lines = text.split("\n", line)
        found = lines[line - 1] if len(lines) >= line else ""
        shown = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in found[:120])
        super().__init__(f"{what}, line {line}: expected {expected}; found {shown!r}")


class Unit(Enum):
    """What figures are of: the unit in which a program prints them, and the ceiling that none passes.

    Each ceiling leaves room for machines to grow a hundredfold, so what is above it is damage, whatever the machine.
    """

    #: One message, step or start of MPI: a day, when every job was ended long ago.
    OPERATION_NS = "ns", 86_400e9
    OPERATION_US = "us", 86_400e6
    OPERATION_MS = "ms", 86_400e3
    #: A whole run: a year.
    RUN_S = "s", 3.2e7
    RUN_MS = "ms", 3.2e10
    #: Since a node was started: a century.
    UPTIME_S = "s", 3.2e9
    #: By which a clock is wrong: one of 1970 beside one of 2070.
    CLOCK_US = "us", 3.2e15
    #: A petabyte a second: ten times the memory of a rack of GPUs, a hundred times the fastest file system.
    BYTES_S = "bytes/s", 1e15
    KIB_S = "KiB/s", 1e12
    MIB_S = "MiB/s", 1e9
    MB_S = "MB/s", 1e9
    GB_S = "GB/s", 1e6
    #: Two hundred exaflop/s; NPB counts operations in the same way.
    MOP_S = "Mop/s", 2e14
    GFLOP_S = "Gflop/s", 2e11
    #: Floating-point operations of one run: that for a year.
    OPERATIONS = "operations", 6.4e27
    #: Updates of random words: a thousand times the fastest list of HPC Challenge.
    GUP_S = "GUP/s", 1e6
    #: Messages: 100,000 nodes that send a milliard each.
    MESSAGES_S = "messages/s", 1e14
    #: Operations on files: a hundred times the best of the IO500's file systems.
    IO_S = "operations/s", 1e11
    #: Written in one run: as much as the largest file system holds.
    BYTES = "bytes", 9e17
    MB = "MB", 9e11
    #: Memory of all nodes of a machine: a thousand times the largest.
    GB = "GB", 1e10
    MIB = "MiB", 9e11
    #: Memory of a node or a GPU: a petabyte.
    MEMORY_KIB = "KiB", 1e12
    MEMORY_MIB = "MiB", 1e9
    #: Ranks, threads, cores, nodes, and how much faster than one of them they are together.
    RANKS = "of ranks, cores or nodes", 1e8
    #: Iterations, files, packets, elements: a milliard a second for ten days.
    COUNT = "in number", 1e15
    #: Of a dense system of equations: 8 exabytes.
    ORDER = "unknowns", 1e9
    #: HPL's scaled residual: ||Ax-b|| is at most ||A|| ||x|| + ||b||, so it is at most 1 / eps.
    RESIDUAL = "times eps", 2.0**53
    #: Processes of a node that want to run, of which Linux numbers four million.
    LOAD = "processes", 1e8
    #: Of a node: a hundred times one of eight GPUs.
    WATTS = "W", 1e6
    PERCENT = "%", 100

    def __init__(self, unit: str, ceiling: float) -> None:
        self.unit = unit
        self.ceiling = ceiling

    def __str__(self) -> str:
        return f"{self.ceiling:.12g} {self.unit}"


@dataclass(frozen=True)
class Output:
    """The output of one benchmark; ``what`` names it in errors.

    ``lines`` are those of the benchmark, counted from 1 here; ``foreign`` are those of other programs, which were set
    aside. Errors have the number that a line has in ``text``.
    """

    what: str
    text: str
    lines: tuple[str, ...]
    foreign: tuple[ForeignLine, ...]

    @classmethod
    def read(cls, what: str, text: str) -> "Output":
        """
        :raises ParseError: the text is empty, is cut off inside its last line, holds control characters or bytes
            that were not UTF-8, or a line longer than ``MAX_LINE_CHARS``; a foreign line cuts a table in two.
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
        foreign = foreign_lines(lines)
        if cut := cuts_table(lines, foreign):
            whole = f"a table in one piece, which this line of {cut.speaker.name} cuts in two ({cut.speaker.remedy})"
            raise ParseError(what, whole, text=text, line=cut.number)
        aside = {line.number for line in foreign}
        own = tuple(line for number, line in enumerate(lines, start=1) if number not in aside)
        if not any(line.strip() for line in own):
            raise ParseError(what, "output, found lines of other programs only", text=text, line=1)
        return cls(what, text, own, tuple(foreign))

    def number_in_text(self, number: int) -> int:
        """The number in ``text`` of the benchmark's own line ``number``."""
        for line in self.foreign:
            number += line.number <= number
        return number

    def error(self, number: int, expected: str) -> ParseError:
        """The error to raise for line ``number``."""
        return ParseError(self.what, expected, text=self.text, line=self.number_in_text(number))

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
            raise self.error(found[1][0], f"{expected} once only (also on line {self.number_in_text(found[0][0])})")
        return found[0]

    def positive(self, number: int, name: str, token: str, unit: Unit) -> float:
        """``token`` as a number above zero that ``unit`` can be."""
        value = float(token)
        if not 0 < value <= unit.ceiling:
            raise self.error(number, f"{name} above 0 and at most {unit}, found {token[:40]}")
        return value

    def positive_integer(self, number: int, name: str, token: str, unit: Unit) -> int:
        """``token``, which is one of ``INTEGER``, as an integer above zero that ``unit`` can be."""
        self.positive(number, name, token, unit)
        return int(token)
