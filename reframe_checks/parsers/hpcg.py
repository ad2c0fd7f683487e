"""Parse the report of HPCG 3.1 (``HPCG-Benchmark_3.1_DATE.txt``) or HPCG 3.0 (``HPCG-Benchmark-3.0_DATE.yaml``).

Tried with the reference build of 3.1 (recorded) and Intel's builds of 3.0 and 3.1 (``n104-96p-1t_V3.1_DATE.txt``,
published). NVIDIA's report lacks the height of a process's grid; its support follows its source ``ReportResults.cpp``.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from reframe_checks.parsers.text import GENERAL, INTEGER, Output, Unit

#: HPCG's rule: minimum time of the timed iterations of an official result, s.
OFFICIAL_S = 1800
#: Test -> section of the report with its ``Result``.
TESTS = {
    "convergence": "Spectral Convergence Tests",
    "symmetry": "Departure from Symmetry |x'Ay-y'Ax|/(2*||x||*||A||*||y||)/epsilon",
    "iterations": "Iteration Count Information",
    "reproducibility": "Reproducibility Information",
}
# The report repeats these sections for each coarse grid; the parser skips them.
_REPEATED = ("Multigrid Information::Coarse Grids", "Memory Use Information::Coarse Grids")
_OVERHEAD = "Total with convergence and optimization phase overhead"
_HEIGHT = "Local Domain Dimensions::nz"
_VALID = "Final Summary::HPCG result is VALID with a GFLOP/s rating of"
_INVALID = "Final Summary::HPCG result is"
# Times, speeds and operations have six digits each; their rounding errors add up.
_SAME = 2e-5

# Intel's build begins with the size of the grid and the numbers of processes and threads.
_NAME = re.compile(r"[\w.-]{1,80}")
_VERSION_3_0 = re.compile(r"[\w.-]{1,80} version: V?([0-9.]{1,20})")
_VERSION_3_1 = re.compile(r"version=V?([0-9.]{1,20})")
_INDENTED = re.compile(r"( {0,8})([^: ](?:[^:]|:(?! )){0,150}): ?(.*)")


@dataclass(frozen=True)
class HpcgResult:
    """``gflops`` is the rating: it adds a tenth of the set-up and optimisation time to each set of iterations, and
    leaves out iterations beyond the reference's. ``raw_gflops`` and ``raw_gb_s`` have neither correction.

    ``total_s``: time of all sets of iterations. ``memory_gb``: memory by HPCG's model, in 10^9 bytes.
    ``passed``: whether each of ``TESTS`` passed.
    """

    version: str
    ranks: int
    threads: int
    local_grid: tuple[int, int, int]
    memory_gb: float
    total_s: float
    gflops: float
    raw_gflops: float
    raw_gb_s: float
    passed: dict[str, bool]


def parse(text: str) -> HpcgResult:
    """Parse the report. A failed test is a result, not an error.

    :raises ParseError: the version is unknown; a needed line is missing; a line occurs twice, as in two reports; a
        figure is impossible; or a grid, a speed or a summary contradicts other lines.
    """
    report = _Report(Output.read("HPCG report", text))
    figure, whole = report.figure, report.whole
    ranks = whole("Machine Summary::Distributed Processes", Unit.RANKS)
    local_grid = _local_grid(report, ranks)
    passed = {name: report.passed(f"{section}::Result") for name, section in TESTS.items()}
    total_s = figure("Benchmark Time Summary::Total", Unit.RUN_S)
    operations = figure("Floating Point Operations Summary::Total", Unit.OPERATIONS)
    raw_gflops, gflops = (figure(f"GFLOP/s Summary::{key}", Unit.GFLOP_S) for key in ("Raw Total", _OVERHEAD))
    same = math.isclose(raw_gflops, operations / total_s / 1e9, rel_tol=_SAME)
    report.require("GFLOP/s Summary::Raw Total", same, "the operations over the time, in 10^9 a second")
    report.require(f"GFLOP/s Summary::{_OVERHEAD}", gflops <= raw_gflops * (1 + _SAME), "at most the raw speed")
    if all(passed.values()):
        report.require(_VALID, figure(_VALID, Unit.GFLOP_S) == gflops, f"the rating {gflops:g}, as above")
    else:
        report.require(_INVALID, report.value(_INVALID) == "INVALID.", "INVALID., as a test failed")
    return HpcgResult(
        version=report.version,
        ranks=ranks,
        threads=whole("Machine Summary::Threads per processes", Unit.RANKS),
        local_grid=local_grid,
        memory_gb=figure("Memory Use Information::Total memory used for data (Gbytes)", Unit.GB),
        total_s=total_s,
        gflops=gflops,
        raw_gflops=raw_gflops,
        raw_gb_s=figure("GB/s Summary::Raw Total B/W", Unit.GB_S),
        passed=passed,
    )


class _Report:
    """The lines of a report by their paths, ``SECTION::KEY``."""

    def __init__(self, output: Output) -> None:
        self.output = output
        self.version, lines = _paths(output)
        self.lines: dict[str, tuple[int, str]] = {}
        for number, told, value in lines:
            # Builds differ in the blanks and underscores around names.
            path = "::".join(part.strip("_ ") for part in told.split("::"))
            if path.startswith(_REPEATED):
                continue
            if path in self.lines:
                raise output.error(number, f"`{path}` once, as in one report")
            self.lines[path] = number, value

    def value(self, path: str) -> str:
        if path not in self.lines:
            raise self.output.missing(f"`{path}`")
        return self.lines[path][1]

    def require(self, path: str, holds: bool, expected: str) -> None:
        if not holds:
            raise self.output.error(self.lines[path][0], expected)

    def figure(self, path: str, unit: Unit) -> float:
        token = self.value(path)
        self.require(path, re.fullmatch(GENERAL, token) is not None, f"{path}, a number")
        return self.output.positive(self.lines[path][0], path, token, unit)

    def whole(self, path: str, unit: Unit) -> int:
        token = self.value(path)
        self.require(path, re.fullmatch(INTEGER, token) is not None, f"{path}, a whole number")
        return self.output.positive_integer(self.lines[path][0], path, token, unit)

    def passed(self, path: str) -> bool:
        said = self.value(path)
        self.require(path, said in ("PASSED", "FAILED"), "PASSED or FAILED")
        return said == "PASSED"


def _paths(output: Output) -> tuple[str, Iterator[tuple[int, str, str]]]:
    """Return HPCG's version, then number, path and value of each line after it."""
    begin, second = (*output.lines, "")[:2]
    if told := _VERSION_3_0.fullmatch(begin):
        version, at, lines = "3.0", 1, _of_indents(output)
    elif _NAME.fullmatch(begin) and (told := _VERSION_3_1.fullmatch(second)):
        version, at, lines = "3.1", 2, _of_pairs(output)
    else:
        raise output.error(1, "`HPCG-Benchmark` and `version=3.1`, or `NAME version: 3.0`")
    if told[1] != version:
        raise output.error(at, "version 3.1, or 3.0 as YAML: no other version's report is known")
    return version, lines


def _of_pairs(output: Output) -> Iterator[tuple[int, str, str]]:
    for number, line in enumerate(output.lines[2:], start=3):
        path, equals, value = line.partition("=")
        if not equals:
            raise output.error(number, "`KEY=VALUE`")
        yield number, path, value


def _of_indents(output: Output) -> Iterator[tuple[int, str, str]]:
    above: list[str] = []
    for number, line in enumerate(output.lines[1:], start=2):
        found = _INDENTED.fullmatch(line)
        if not found:
            raise output.error(number, "`KEY: VALUE`, two spaces further in than what it belongs to")
        above = [*above[: len(found[1]) // 2], found[2]]
        yield number, "::".join(above), found[3]


def _local_grid(report: _Report, ranks: int) -> tuple[int, int, int]:
    """Return the number of cells of a process in each direction."""
    processes = [report.whole(f"Processor Dimensions::np{axis}", Unit.RANKS) for axis in "xyz"]
    report.require("Processor Dimensions::npz", math.prod(processes) == ranks, f"a grid of {ranks} processes")
    cells = [report.whole(f"Global Problem Dimensions::Global n{axis}", Unit.ORDER) for axis in "xyz"]
    x, y = (report.whole(f"Local Domain Dimensions::n{axis}", Unit.ORDER) for axis in "xy")
    z = report.whole(_HEIGHT, Unit.ORDER) if _HEIGHT in report.lines else cells[2] // processes[2]
    for axis, here, there, together in zip("xyz", (x, y, z), processes, cells, strict=True):
        path = f"Global Problem Dimensions::Global n{axis}"
        report.require(path, here * there == together, f"{here} x {there} cells")
    equations = "Linear System Information::Number of Equations"
    found = report.whole(equations, Unit.COUNT)
    report.require(equations, found == math.prod(cells), f"{math.prod(cells)}, one for each cell")
    return x, y, z
