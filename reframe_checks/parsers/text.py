"""Read benchmark output as trustworthy lines: complete, printable, and of bounded length."""

import re
from dataclasses import dataclass
from enum import Enum

from reframe_checks.parsers.foreign_lines import ForeignLine, cuts_table, foreign_lines

# Far above the lines of any benchmark; bounds the work that one damaged line can cause.
MAX_LINE_CHARS = 100_000

# What launchers put before each line of a program, and how to run without it.
_PREFIXES = (
    (re.compile(r" {0,8}[0-9]{1,8}: ?.*"), "the label of `srun --label`"),
    (re.compile(r"\[[0-9]{1,8},[0-9]{1,8}\]<std(?:out|err|diag)>: ?.*"), "the tag of `mpirun --tag-output`"),
)

# Numbers in printf's formats (%d, %g). Bounded lengths keep matching and conversion cheap.
INTEGER = r"[0-9]{1,18}"
GENERAL = r"[0-9]{1,15}(?:\.[0-9]{1,20})?(?:e[+-][0-9]{2,3})?"


class ParseError(ValueError):
    """Benchmark output that cannot be trusted.

    :param what: name of the parsed output.
    :param expected: the content that the line should have had.
    :param text, line: the parsed text, and the number (from 1) of the faulty line.
    """

    def __init__(self, what: str, expected: str, *, text: str = "", line: int = 1) -> None:
        lines = text.split("\n", line)
        found = lines[line - 1] if len(lines) >= line else ""
        shown = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in found[:120])
        super().__init__(f"{what}, line {line}: expected {expected}; found {shown!r}")


class Unit(Enum):
    """The kind of a figure: its unit as programs print it, and a ceiling.

    Each ceiling leaves room for machines a hundred times larger; a figure above it is damaged output on any machine.
    """

    #: One message, step or start of MPI: a day; every job ends earlier.
    OPERATION_NS = "ns", 86_400e9
    OPERATION_US = "us", 86_400e6
    OPERATION_MS = "ms", 86_400e3
    #: A whole run: a year.
    RUN_S = "s", 3.2e7
    RUN_MS = "ms", 3.2e10
    #: Time since a node's start: a century.
    UPTIME_S = "s", 3.2e9
    #: Error of a clock: a clock of 1970 compared with one of 2070.
    CLOCK_US = "us", 3.2e15
    #: A petabyte per second: ten times the memory bandwidth of a rack of GPUs, a hundred times the fastest file system.
    BYTES_S = "bytes/s", 1e15
    KIB_S = "KiB/s", 1e12
    MIB_S = "MiB/s", 1e9
    MB_S = "MB/s", 1e9
    GB_S = "GB/s", 1e6
    #: Two hundred exaflop/s; NPB counts operations in the same way.
    MOP_S = "Mop/s", 2e14
    GFLOP_S = "Gflop/s", 2e11
    #: Floating-point operations of one run: the ceiling of ``GFLOP_S`` for a year.
    OPERATIONS = "operations", 6.4e27
    #: Updates of random words: a thousand times the fastest list of HPC Challenge.
    GUP_S = "GUP/s", 1e6
    #: Messages: 100,000 nodes that send 10^9 each.
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
    #: Ranks, threads, cores, nodes, and speed-ups over one of them.
    RANKS = "of ranks, cores or nodes", 1e8
    #: Iterations, files, packets, elements: 10^9 per second for ten days.
    COUNT = "in number", 1e15
    #: Order of a dense system of equations: 8 exabytes.
    ORDER = "unknowns", 1e9
    #: HPL's scaled residual: ||Ax-b|| is at most ||A|| ||x|| + ||b||, so it is at most 1 / eps.
    RESIDUAL = "times eps", 2.0**53
    #: Runnable processes of a node: Linux permits four million.
    LOAD = "processes", 1e8
    #: Power of a node: a hundred times a node with eight GPUs.
    WATTS = "W", 1e6
    PERCENT = "%", 100

    def __init__(self, unit: str, ceiling: float) -> None:
        self.unit = unit
        self.ceiling = ceiling

    def __str__(self) -> str:
        return f"{self.ceiling:.12g} {self.unit}"


@dataclass(frozen=True)
class Output:
    """The output of one benchmark; ``what``: its name in errors.

    ``lines``: the benchmark's own lines, numbered from 1. ``foreign``: lines of other programs, which the parser
    ignores. Errors give the number of the line in ``text``.
    """

    what: str
    text: str
    lines: tuple[str, ...]
    foreign: tuple[ForeignLine, ...]

    @classmethod
    def read(cls, what: str, text: str) -> "Output":
        """
        :raises ParseError: the text is empty, is cut off inside its last line, has control characters, bytes that are
            not UTF-8 or a line longer than ``MAX_LINE_CHARS``; or a foreign line cuts a table in two.
        """
        if not text or text.isspace():
            raise ParseError(what, "output, found none", text="", line=1)
        *lines, rest = text.split("\n")
        for number, line in enumerate(lines, start=1):
            if line.endswith("\r"):
                raise ParseError(what, "line ends of Unix, not of Windows (`dos2unix`)", text=text, line=number)
            if len(line) > MAX_LINE_CHARS:
                raise ParseError(what, f"a line of at most {MAX_LINE_CHARS} characters", text=text, line=number)
            if not line.replace("\t", " ").isprintable() or "\N{REPLACEMENT CHARACTER}" in line:
                raise ParseError(what, "text without control characters", text=text, line=number)
        if rest:
            raise ParseError(what, "a line end: the output is cut off here", text=text, line=len(lines) + 1)
        for prefix, name in _PREFIXES:
            if all(map(prefix.fullmatch, filter(None, lines))):
                raise ParseError(what, f"lines without {name}: run without this option", text=text, line=1)
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
        """Return the number in ``text`` of the benchmark's own line ``number``."""
        for line in self.foreign:
            number += line.number <= number
        return number

    def error(self, number: int, expected: str) -> ParseError:
        """Return the error for line ``number``."""
        return ParseError(self.what, expected, text=self.text, line=self.number_in_text(number))

    def missing(self, expected: str) -> ParseError:
        """Return the error for missing content; it points behind the last line."""
        return self.error(len(self.lines) + 1, expected)

    def find(self, pattern: re.Pattern[str], within: range | None = None) -> list[tuple[int, re.Match[str]]]:
        """Return number and match of every line (in ``within``, if given) that matches ``pattern`` as a whole."""
        numbers = within or range(1, len(self.lines) + 1)
        matches = ((number, pattern.fullmatch(self.lines[number - 1])) for number in numbers)
        return [(number, match) for number, match in matches if match]

    def one(self, pattern: re.Pattern[str], expected: str, within: range | None = None) -> tuple[int, re.Match[str]]:
        """Return number and match of the only line that matches ``pattern``.

        :raises ParseError: no line matches, or several do, as in mixed outputs.
        """
        found = self.find(pattern, within)
        if not found:
            raise self.missing(expected)
        if len(found) > 1:
            raise self.error(found[1][0], f"{expected} once only (also on line {self.number_in_text(found[0][0])})")
        return found[0]

    def positive(self, number: int, name: str, token: str, unit: Unit) -> float:
        """Return ``token`` as a number above zero and up to the ceiling of ``unit``."""
        value = float(token)
        if not 0 < value <= unit.ceiling:
            raise self.error(number, f"{name} above 0 and at most {unit}, found {token[:40]}")
        return value

    def positive_integer(self, number: int, name: str, token: str, unit: Unit) -> int:
        """Return ``token`` (an ``INTEGER``) as an integer above zero and up to the ceiling of ``unit``."""
        self.positive(number, name, token, unit)
        return int(token)
