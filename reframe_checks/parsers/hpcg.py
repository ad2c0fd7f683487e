"""The report of HPCG 3.1 (``HPCG-Benchmark_3.1_DATE.txt``) and of HPCG 3.0 (``HPCG-Benchmark-3.0_DATE.yaml``).

Tried with the reference of 3.1 (recorded) and with Intel's builds of 3.0 and of 3.1 (``n104-96p-1t_V3.1_DATE.txt``),
which users published; NVIDIA's, whose report has no height of a process's grid, by its source (``ReportResults.cpp``).

Its figures follow from each other by the models of HPCG's ``ReportResults.cpp``, which counts operations by the grid
and the iterations; each is held against them to the six digits that HPCG prints.
"""

import math
import re
from dataclasses import dataclass
from itertools import zip_longest

from reframe_checks.parsers.text import INTEGER, Output, Quantity

#: HPCG's rule: the timed iterations of an official result take at least this long, s.
OFFICIAL_S = 1800
_LEVELS = 4
#: The variance of the scaled residuals above which HPCG finds that the sets of iterations differ.
_MOST_VARIANCE = 1e-6

_SYMMETRY = "Departure from Symmetry |x'Ay-y'Ax|/(2*||x||*||A||*||y||)/epsilon"
_OVERHEAD = "Total with convergence and optimization phase overhead"
#: Test -> the section whose ``Result`` tells of it.
TESTS = {
    "convergence": "Spectral Convergence Tests",
    "symmetry": _SYMMETRY,
    "iterations": "Iteration Count Information",
    "reproducibility": "Reproducibility Information",
}
_PARTS = ("DDOT", "WAXPBY", "SpMV", "MG")
_COARSE = "Multigrid Information::Coarse Grids"
_MEMORY = "Memory Use Information"
_TIMES, _FLOPS, _SPEEDS, _BYTES = (
    "Benchmark Time Summary", "Floating Point Operations Summary", "GFLOP/s Summary", "GB/s Summary"
)  # fmt: skip
_CONVERGENCE, _COUNTS, _NORMS = (TESTS[name] for name in ("convergence", "iterations", "reproducibility"))

_WHOLE = re.compile(INTEGER)
_NUMBER = re.compile(r"[0-9]{1,18}(?:\.[0-9]{1,20})?(?:e[+-][0-9]{2,3})?")
# Intel's build begins with the size of the grid and the numbers of processes and threads.
_NAME = re.compile(r"[\w.-]{1,80}")
_VERSION_3_0 = re.compile(r"[\w.-]{1,80} version: V?([0-9.]{1,20})")
_VERSION_3_1 = re.compile(r"version=V?([0-9.]{1,20})")
_INDENTED = re.compile(r"( {0,8})([^: ](?:[^:]|:(?! )){0,150}): ?(.*)")


def _section(name: str, *keys: str) -> list[str]:
    return [name, *(f"{name}::{key}" for key in keys)]


def _coarse(name: str, *keys: str) -> list[str]:
    """Of each coarse grid the same keys."""
    return [
        name, *(f"{name}::{key}" + (f" #{level}" if level > 1 else "") for level in range(1, _LEVELS) for key in keys)
    ]  # fmt: skip


#: Paths of the lines up to the summary, in HPCG's order.
_ORDER = [
    "Release date",
    *_section("Machine Summary", "Distributed Processes", "Threads per processes"),
    *_section("Global Problem Dimensions", "Global nx", "Global ny", "Global nz"),
    *_section("Processor Dimensions", "npx", "npy", "npz"),
    *_section("Local Domain Dimensions", "nx", "ny", "Lower ipz", "Upper ipz", "nz"),
    "########## Problem Summary  ##########",
    *_section("Setup Information", "Setup Time"),
    *_section("Linear System Information", "Number of Equations", "Number of Nonzero Terms"),
    *_section("Multigrid Information", "Number of coarse grid levels"),
    *_coarse(
        _COARSE, "Grid Level", "Number of Equations", "Number of Nonzero Terms", "Number of Presmoother Steps",
        "Number of Postsmoother Steps",
    ),
    "########## Memory Use Summary  ##########",
    *_section(
        _MEMORY, "Total memory used for data (Gbytes)", "Memory used for OptimizeProblem data (Gbytes)",
        "Bytes per equation (Total memory / Number of Equations)", "Memory used for linear system and CG (Gbytes)",
    ),
    *_coarse(f"{_MEMORY}::Coarse Grids", "Grid Level", "Memory used"),
    "########## V&V Testing Summary  ##########",
    *_section(_CONVERGENCE, "Result"),
    *_section(f"{_CONVERGENCE}::Unpreconditioned", "Maximum iteration count", "Expected iteration count"),
    *_section(f"{_CONVERGENCE}::Preconditioned", "Maximum iteration count", "Expected iteration count"),
    *_section(_SYMMETRY, "Result", "Departure for SpMV", "Departure for MG"),
    "########## Iterations Summary  ##########",
    *_section(
        _COUNTS, "Result", "Reference CG iterations per set", "Optimized CG iterations per set",
        "Total number of reference iterations", "Total number of optimized iterations",
    ),
    "########## Reproducibility Summary  ##########",
    *_section(_NORMS, "Result", "Scaled residual mean", "Scaled residual variance"),
    "########## Performance Summary (times in sec) ##########",
    *_section(_TIMES, "Optimization phase", *_PARTS, "Total"),
    *_section(_FLOPS, *(f"Raw {part}" for part in _PARTS), "Total", "Total with convergence overhead"),
    *_section(_BYTES, "Raw Read B/W", "Raw Write B/W", "Raw Total B/W", _OVERHEAD),
    *_section(
        _SPEEDS, *(f"Raw {part}" for part in _PARTS), "Raw Total", "Total with convergence overhead", _OVERHEAD
    ),
    *_section(
        "User Optimization Overheads", "Optimization phase time (sec)",
        "Optimization phase time vs reference SpMV+MG time",
    ),
    *_section(
        "DDOT Timing Variations", "Min DDOT MPI_Allreduce time", "Max DDOT MPI_Allreduce time",
        "Avg DDOT MPI_Allreduce time",
    ),
]  # fmt: skip
#: Lines of planes of processes with other heights, which only the reference of 3.1 has.
_PLANES = {"Local Domain Dimensions::Lower ipz", "Local Domain Dimensions::Upper ipz"}
_HEIGHT = "Local Domain Dimensions::nz"


@dataclass(frozen=True)
class HpcgResult:
    """``gflops`` is the rating: with the time of setting up and optimising, a tenth of which each set of iterations
    bears, and without iterations beyond the reference's. ``raw_gflops`` and ``raw_gb_s`` are without both.

    ``total_s`` is the time of all sets of iterations, ``part_s`` that of their parts on rank 0. ``memory_gb`` is what
    HPCG's model counts, in 10^9 bytes. ``passed`` has each of ``TESTS``.
    """

    version: str
    ranks: int
    threads: int
    local_grid: tuple[int, int, int]
    equations: int
    memory_gb: float
    setup_s: float
    sets: int
    reference_iterations: int
    optimized_iterations: int
    total_s: float
    part_s: dict[str, float]
    gflops: float
    raw_gflops: float
    raw_gb_s: float
    passed: dict[str, bool]

    @property
    def valid(self) -> bool:
        """HPCG calls a result valid whose tests all passed; an official one also takes ``OFFICIAL_S``."""
        return all(self.passed.values())


def parse(text: str) -> HpcgResult:
    """
    A test that failed is a result, not an error.

    :raises ParseError: a line missing, twice or out of place, a figure that cannot be or contradicts the others, or a
        summary that does not say what follows from the tests and the time.
    """
    output = Output.read("HPCG report", text)
    version, lines = _paths(output)
    summary = next((at for at, (_, path, _) in enumerate(lines) if path.strip("_ ") == "Final Summary"), len(lines))
    paths = {path for _, path, _ in lines}
    absent = (set() if paths & _PLANES else _PLANES) | (set() if paths & {*_PLANES, _HEIGHT} else {_HEIGHT})
    known = _in_order(output, [path for path in _ORDER if path not in absent], lines[:summary])
    result = _result(_Report(output, known), version)
    _final(output, lines[summary:], result)
    return result


def _in_order(output: Output, order: list[str], lines: list[tuple[int, str, str]]) -> dict[str, tuple[int, str]]:
    """The lines of these paths, in this order; builds of vendors have lines of their own between them."""
    known = {path: (number, value) for number, path, value in lines if path in set(order)}
    for number, path, _ in lines:
        if path not in known and path.partition(" #")[0] in known:
            raise output.error(number, f"`{path.partition(' #')[0]}` no more than that often")
    for expected, found in zip_longest(order, known):
        if expected != found:
            number = known[found][0] if found else len(output.lines) + 1
            raise output.error(number, f"`{expected}`")
    return known


def _paths(output: Output) -> tuple[str, list[tuple[int, str, str]]]:
    """HPCG's version, and number, path and value of each line behind; a path has `` #2`` where it comes again."""
    begin, second = (*output.lines, "")[:2]
    if told := _VERSION_3_0.fullmatch(begin):
        version, at, found = "3.0", 1, _of_indents(output)
    elif _NAME.fullmatch(begin) and (told := _VERSION_3_1.fullmatch(second)):
        version, at = "3.1", 2
        found = [(number, *_split(output, number)) for number in range(3, len(output.lines) + 1)]
    else:
        raise output.error(1, "`HPCG-Benchmark` and `version=3.1`, or `NAME version: 3.0`")
    if told[1] != version:
        raise output.error(at, "version 3.1, or 3.0 as YAML: no other version's report is known")
    seen: dict[str, int] = {}
    lines = []
    for number, path, value in found:
        seen[path] = seen.get(path, 0) + 1
        lines.append((number, path if seen[path] == 1 else f"{path} #{seen[path]}", value))
    return version, lines


def _split(output: Output, number: int) -> tuple[str, str]:
    path, equals, value = output.lines[number - 1].partition("=")
    if not equals:
        raise output.error(number, "`KEY=VALUE`")
    return path, value


def _of_indents(output: Output) -> list[tuple[int, str, str]]:
    above: list[str] = []
    lines = []
    for number, line in enumerate(output.lines[1:], start=2):
        found = _INDENTED.fullmatch(line)
        if not found:
            raise output.error(number, "`KEY: VALUE`, two spaces further in than what it belongs to")
        above = [*above[: len(found[1]) // 2], found[2]]
        lines.append((number, "::".join(above), found[3]))
    return lines


def _half_digit(figure: float) -> float:
    """Half of its sixth digit, as a share of it."""
    return 0.5 * 10 ** (math.floor(math.log10(figure)) - 5) / figure if figure else 0.0


@dataclass(frozen=True)
class _Report:
    output: Output
    lines: dict[str, tuple[int, str]]

    def figure(self, path: str, quantity: Quantity, *, may_be_zero: bool = False) -> float:
        number, token = self.lines[path]
        if not _NUMBER.fullmatch(token):
            raise self.output.error(number, f"{path}, a number")
        if may_be_zero and float(token) == 0:
            return 0.0
        return self.output.positive(number, path, token, quantity)

    def whole(self, path: str, quantity: Quantity) -> int:
        number, token = self.lines[path]
        if not _WHOLE.fullmatch(token):
            raise self.output.error(number, f"{path}, a whole number")
        return self.output.positive_integer(number, path, token, quantity)

    def demand(self, path: str, found: float, computed: float, *printed: float) -> None:
        """``found`` is ``computed`` from figures that were ``printed``, each with six digits."""
        slack = 1.01 * sum(map(_half_digit, (found, *printed))) + 1e-9
        if not math.isclose(found, computed, rel_tol=slack, abs_tol=1e-12):
            raise self.output.error(self.lines[path][0], f"{computed:.6g}, which follows from the other figures")

    def follows(
        self, path: str, quantity: Quantity, computed: float, *printed: float, may_be_zero: bool = False
    ) -> float:
        found = self.figure(path, quantity, may_be_zero=may_be_zero)
        self.demand(path, found, computed, *printed)
        return found

    def holds(self, path: str, whether: bool, expected: str) -> None:
        if not whether:
            raise self.output.error(self.lines[path][0], expected)

    def passed(self, section: str, should: bool | None = None) -> bool:
        """What the section's test says, which is what its figures tell where ``should`` is given."""
        said = self.lines[f"{section}::Result"][1]
        self.holds(f"{section}::Result", said in ("PASSED", "FAILED"), "PASSED or FAILED")
        told = said == "PASSED"
        self.holds(f"{section}::Result", should in (None, told), "the result that follows from the figures below")
        return told


def _result(report: _Report, version: str) -> HpcgResult:
    ranks = report.whole("Machine Summary::Distributed Processes", Quantity.RANKS)
    threads = report.whole("Machine Summary::Threads per processes", Quantity.RANKS)
    local, cells = _grid(report, ranks)
    rows, nonzeros = _systems(report, cells)
    memory_gb = _memory(report, rows[0])
    passed = _tests(report)
    reference, optimized, sets = _iterations(report)
    setup_s = report.figure("Setup Information::Setup Time", Quantity.RUN_S)
    optimization_s = report.figure(f"{_TIMES}::Optimization phase", Quantity.RUN_S, may_be_zero=True)
    report.follows(
        "User Optimization Overheads::Optimization phase time (sec)", Quantity.RUN_S, optimization_s, may_be_zero=True
    )
    times = {part: report.figure(f"{_TIMES}::{part}", Quantity.RUN_S) for part in (*_PARTS, "Total")}
    parts_s = sum(times[part] for part in _PARTS)
    report.holds(f"{_TIMES}::Total", parts_s <= times["Total"] * 1.001, f"at least its parts, {parts_s:.6g} s")
    flops = _operations(report, rows[0], nonzeros, sets, optimized, reference)
    for part in _PARTS:
        report.follows(f"{_SPEEDS}::Raw {part}", Quantity.GFLOP_S, flops[part] / times[part] / 1e9, times[part])
    total_s = times.pop("Total")
    raw = report.follows(f"{_SPEEDS}::Raw Total", Quantity.GFLOP_S, flops["Total"] / total_s / 1e9, total_s)
    corrected = raw * reference / optimized
    report.follows(f"{_SPEEDS}::Total with convergence overhead", Quantity.GFLOP_S, corrected, raw)
    share = total_s / (total_s + sets * (optimization_s + setup_s) / 10)
    gflops = report.follows(f"{_SPEEDS}::{_OVERHEAD}", Quantity.GFLOP_S, corrected * share, raw, setup_s)
    read, write = (report.figure(f"{_BYTES}::Raw {way} B/W", Quantity.GB_S) for way in ("Read", "Write"))
    raw_gb_s = report.follows(f"{_BYTES}::Raw Total B/W", Quantity.GB_S, read + write, max(read, write))
    report.follows(f"{_BYTES}::{_OVERHEAD}", Quantity.GB_S, raw_gb_s * reference / optimized * share, raw_gb_s, setup_s)
    return HpcgResult(
        version=version, ranks=ranks, threads=threads, local_grid=local, equations=rows[0], memory_gb=memory_gb,
        setup_s=setup_s, sets=sets, reference_iterations=reference, optimized_iterations=optimized,
        total_s=total_s, part_s=times, gflops=gflops, raw_gflops=raw, raw_gb_s=raw_gb_s, passed=passed,
    )  # fmt: skip


def _grid(report: _Report, ranks: int) -> tuple[tuple[int, int, int], list[int]]:
    """The cells of each process and of all, in each direction."""
    processes = [report.whole(f"Processor Dimensions::np{axis}", Quantity.RANKS) for axis in "xyz"]
    report.holds("Processor Dimensions::npz", math.prod(processes) == ranks, f"a grid of {ranks} processes")
    cells = [report.whole(f"Global Problem Dimensions::Global n{axis}", Quantity.ORDER) for axis in "xyz"]
    x, y = (report.whole(f"Local Domain Dimensions::n{axis}", Quantity.ORDER) for axis in "xy")
    z = report.whole(_HEIGHT, Quantity.ORDER) if _HEIGHT in report.lines else cells[2] // processes[2]
    for axis, here, there, all_of_it in zip("xyz", (x, y, z), processes, cells, strict=True):
        report.holds(f"Global Problem Dimensions::Global n{axis}", here * there == all_of_it, f"{here} x {there} cells")
    if report.lines.keys() & _PLANES:
        # Planes of processes may have other heights: with this switch the suite runs nothing.
        for bound, plane in (("Lower", 0), ("Upper", processes[2] - 1)):
            path = f"Local Domain Dimensions::{bound} ipz"
            report.holds(path, report.lines[path][1] == str(plane), str(plane))
    return (x, y, z), cells


def _systems(report: _Report, cells: list[int]) -> tuple[list[int], list[int]]:
    """Equations and nonzero terms of each grid, the finest first."""
    levels = report.whole("Multigrid Information::Number of coarse grid levels", Quantity.COUNT)
    report.holds("Multigrid Information::Number of coarse grid levels", levels == _LEVELS - 1, str(_LEVELS - 1))
    rows, nonzeros = [], []
    for level in range(_LEVELS):
        section = _COARSE if level else "Linear System Information"
        again = f" #{level}" if level > 1 else ""
        edges = [edge >> level for edge in cells]
        # A cell has the 27 neighbours of a cube, itself among them, as far as the domain goes.
        found = {"Equations": math.prod(edges), "Nonzero Terms": math.prod(3 * edge - 2 for edge in edges)}
        for name, computed in found.items():
            path = f"{section}::Number of {name}{again}"
            report.holds(path, report.whole(path, Quantity.COUNT) == computed, f"{computed} by the grid")
        rows.append(found["Equations"])
        nonzeros.append(found["Nonzero Terms"])
        steps = {"Number of Presmoother Steps": 1, "Number of Postsmoother Steps": 1}
        for name, value in {"Grid Level": level, **steps}.items():
            path = f"{section}::{name}{again}"
            report.holds(path, not level or report.lines[path][1] == str(value), f"{value}, as HPCG has it")
    return rows, nonzeros


def _memory(report: _Report, rows: int) -> float:
    total = report.figure(f"{_MEMORY}::Total memory used for data (Gbytes)", Quantity.GB)
    each = f"{_MEMORY}::Bytes per equation (Total memory / Number of Equations)"
    report.follows(each, Quantity.BYTES, total * 1e9 / rows, total)
    levels = report.figure(f"{_MEMORY}::Memory used for linear system and CG (Gbytes)", Quantity.GB)
    levels += report.figure(f"{_MEMORY}::Memory used for OptimizeProblem data (Gbytes)", Quantity.GB, may_be_zero=True)
    for level in range(1, _LEVELS):
        again = f" #{level}" if level > 1 else ""
        path = f"{_MEMORY}::Coarse Grids::Grid Level{again}"
        report.holds(path, report.lines[path][1] == str(level), str(level))
        levels += report.figure(f"{_MEMORY}::Coarse Grids::Memory used{again}", Quantity.GB)
    report.demand(f"{_MEMORY}::Total memory used for data (Gbytes)", total, levels, levels, levels)
    return total


def _tests(report: _Report) -> dict[str, bool]:
    most, expected = (
        [report.whole(f"{_CONVERGENCE}::{way}::{which} iteration count", Quantity.COUNT) for way in
         ("Unpreconditioned", "Preconditioned")] for which in ("Maximum", "Expected")
    )  # fmt: skip
    departures = [
        report.figure(f"{_SYMMETRY}::Departure for {of}", Quantity.RESIDUAL, may_be_zero=True) for of in ("SpMV", "MG")
    ]
    report.figure(f"{_NORMS}::Scaled residual mean", Quantity.RESIDUAL)
    variance = report.figure(f"{_NORMS}::Scaled residual variance", Quantity.RESIDUAL, may_be_zero=True)
    return {
        "convergence": report.passed(_CONVERGENCE, all(a <= b for a, b in zip(most, expected, strict=True))),
        "symmetry": report.passed(_SYMMETRY, max(departures) <= 1),
        "iterations": report.passed(_COUNTS),
        "reproducibility": report.passed(_NORMS, variance < _MOST_VARIANCE),
    }


def _iterations(report: _Report) -> tuple[int, int, int]:
    """Iterations of a set by the reference and as optimised, and the number of sets."""
    reference, optimized, all_reference, all_optimized = (
        report.whole(f"{_COUNTS}::{name}", Quantity.COUNT)
        for name in (
            "Reference CG iterations per set", "Optimized CG iterations per set",
            "Total number of reference iterations", "Total number of optimized iterations",
        )
    )  # fmt: skip
    sets = all_reference // reference
    report.holds(f"{_COUNTS}::Total number of reference iterations", sets * reference == all_reference, "whole sets")
    path = f"{_COUNTS}::Total number of optimized iterations"
    report.holds(path, sets * optimized == all_optimized, f"{sets} sets of {optimized}")
    return reference, optimized, sets


def _operations(
    report: _Report, rows: int, nonzeros: list[int], sets: int, optimized: int, reference: int
) -> dict[str, float]:
    """Floating-point operations of each part, and all: a smoother takes 4 a term, a product or a residual 2."""
    iterations = sets * optimized
    vectors = (3 * iterations + sets) * 2 * rows
    computed = {
        "DDOT": vectors,
        "WAXPBY": vectors,
        "SpMV": (iterations + sets) * 2 * nonzeros[0],
        "MG": iterations * (10 * sum(nonzeros[:-1]) + 4 * nonzeros[-1]),
    }
    total = sum(computed.values())
    for part, operations in computed.items():
        report.follows(f"{_FLOPS}::Raw {part}", Quantity.OPERATIONS, operations)
    report.follows(f"{_FLOPS}::Total", Quantity.OPERATIONS, total)
    report.follows(f"{_FLOPS}::Total with convergence overhead", Quantity.OPERATIONS, total * reference / optimized)
    return {**computed, "Total": total}


def _final(output: Output, lines: list[tuple[int, str, str]], result: HpcgResult) -> None:
    """The summary says what follows from the tests and the time; what advice it gives besides is passed over."""
    found = {path.rpartition("::")[2]: (number, value) for number, path, value in lines}

    def demand(key: str, expected: str) -> str:
        number, value = found.get(key, (len(output.lines) + 1, ""))
        if not re.fullmatch(expected, value):
            raise output.error(number, f"`{key}` to be {expected}, as the tests and the time have it")
        return value

    def number(key: str, computed: float) -> None:
        if float(demand(key, _NUMBER.pattern)) != computed:
            raise output.error(found[key][0], f"{computed:.6g}, as above")

    if any("#" in path.rpartition("::")[2] for _, path, _ in lines):
        raise output.error(lines[0][0], "each line of the summary once")
    if not result.valid:
        demand("HPCG result is", r"INVALID\.")
        return
    number("HPCG result is VALID with a GFLOP/s rating of", result.gflops)
    if result.total_s < OFFICIAL_S:
        number("Results are valid but execution time (sec) is", result.total_s)
    else:
        # Builds of vendors name another file.
        key = next((key for key in found if key.startswith("Please upload results")), "Please upload results …")
        demand(key, r"https?://(?:www\.)?hpcg-benchmark\.org/?")
