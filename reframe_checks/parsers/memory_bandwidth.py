"""Benchmarks of memory bandwidth: STREAM, BabelStream and ``likwid-bench``.

- STREAM in C, version 5.10 (McCalpin, "Memory Bandwidth and Machine Balance", 1995).
- BabelStream 4 and 5: STREAM's kernels on a GPU (Deakin et al., IJCSE 17(3), 2018).
- ``likwid-bench`` of LIKWID 5, one work group.

MB are 10^6 bytes.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from reframe_checks.parsers.text import GENERAL, INTEGER, Output, Unit


@dataclass(frozen=True)
class KernelTimes:
    """Best rate in MB/s; minimum, mean and maximum time of one pass in seconds."""

    rate_mb_s: float
    min_s: float
    mean_s: float
    max_s: float


def _kernel(output: Output, number: int, tokens: Sequence[str], moved_mb: float) -> KernelTimes:
    """Parse rate, minimum, mean and maximum time of a pass that moves ``moved_mb`` MB."""
    rate = output.positive(number, "rate", tokens[0], Unit.MB_S)
    times = [output.positive(number, "time", token, Unit.RUN_S) for token in tokens[1:]]
    if times != sorted(times):
        raise output.error(number, "minimum <= mean <= maximum time")
    # Tolerance: two units of the last digit of the time; a thousandth for the digits of sizes and rates.
    digits_s = 2 * 10.0 ** -len(tokens[1].partition(".")[2])
    slowest, fastest = moved_mb / (times[0] + digits_s), moved_mb / max(times[0] - digits_s, 1e-9)
    if not slowest * 0.999 <= rate <= fastest * 1.001:
        raise output.error(number, f"the rate of {moved_mb:g} MB in the minimum time")
    return KernelTimes(rate, *times)


@dataclass(frozen=True)
class StreamResult:
    """``threads`` is ``None`` without OpenMP. Arrays have ``array_elements`` numbers of ``element_bytes``."""

    array_elements: int
    element_bytes: int
    threads: int | None
    copy: KernelTimes
    scale: KernelTimes
    add: KernelTimes
    triad: KernelTimes


_STREAM_VERSION = re.compile(r"STREAM version \$Revision: 5\.10 \$")
_ELEMENT = re.compile(r"This system uses (4|8|16) bytes per array element\.")
_ELEMENTS = re.compile(rf"Array size = ({INTEGER}) \(elements\), Offset = {INTEGER} \(elements\)")
_THREADS = {name: re.compile(rf"Number of Threads {name} = ({INTEGER})") for name in ("requested", "counted")}
_STREAM_HEADER = re.compile(r"Function    Best Rate MB/s  Avg time     Min time     Max time")
_STREAM_ROW = re.compile(r"(Copy|Scale|Add|Triad): +([0-9]{1,12}\.[0-9])" + 3 * r" +([0-9]{1,9}\.[0-9]{6})")
_VALID = re.compile(r"Solution Validates: avg error less than [0-9.e+-]{1,20} on all three arrays")
# Number of arrays that a kernel moves, as STREAM counts them (no write-allocate).
_STREAM_ARRAYS = {"Copy": 2, "Scale": 2, "Add": 3, "Triad": 3}


def stream(text: str) -> StreamResult:
    """Parse STREAM's output.

    :raises ParseError: STREAM did not validate the solution, a figure is missing or not above 0, rates and times
        contradict each other, requested threads did not run, or the text mixes several runs.
    """
    output = Output.read("STREAM output", text)
    for number, line in enumerate(output.lines, start=1):
        if line.startswith("Failed Validation"):
            raise output.error(number, "`Solution Validates`: the arrays hold wrong values")
    output.one(_STREAM_VERSION, "`STREAM version $Revision: 5.10 $`")
    _, found = output.one(_ELEMENT, "`This system uses … bytes per array element.`")
    element_bytes = int(found[1])
    number, found = output.one(_ELEMENTS, "`Array size = … (elements)`")
    elements = output.positive_integer(number, "array size", found[1], Unit.COUNT)
    header, _ = output.one(_STREAM_HEADER, "the heading `Function    Best Rate MB/s  Avg time …`")
    rows = _rows(output, _STREAM_ROW, header, range(1, len(output.lines) + 1), _STREAM_ARRAYS)
    array_mb = element_bytes * elements / 1e6
    kernels = [
        _kernel(output, number, row.group(2, 4, 3, 5), _STREAM_ARRAYS[row[1]] * array_mb) for number, row in rows
    ]
    number, _ = output.one(_VALID, "`Solution Validates: …`")
    if number < header:
        raise output.error(number, "the validation behind the results")
    return StreamResult(elements, element_bytes, _threads(output), *kernels)


def _rows(
    output: Output, pattern: re.Pattern[str], heading: int, within: range, names: dict[str, int]
) -> list[tuple[int, re.Match[str]]]:
    """Return the row of each kernel; the rows must follow the heading in the order of ``names``."""
    rows = output.find(pattern, within)
    if [(number, match[1]) for number, match in rows] != list(enumerate(names, start=heading + 1)):
        raise output.error(heading, f"the rows {', '.join(names)} once each below the heading")
    return rows


def _threads(output: Output) -> int | None:
    if not any(output.find(pattern) for pattern in _THREADS.values()):
        return None
    counts = []
    for name, pattern in _THREADS.items():
        number, found = output.one(pattern, f"`Number of Threads {name} = …`")
        counts.append(output.positive_integer(number, f"threads {name}", found[1], Unit.RANKS))
    if counts[0] != counts[1]:
        raise output.error(number, f"{counts[0]} threads, as requested")
    return counts[1]


@dataclass(frozen=True)
class BabelStreamResult:
    """One run. ``array_mb``: size of one of the three arrays, rounded to one decimal."""

    device: str
    array_mb: float
    copy: KernelTimes
    mul: KernelTimes
    add: KernelTimes
    triad: KernelTimes
    dot: KernelTimes


_BABEL_ARRAYS = {"Copy": 2, "Mul": 2, "Add": 3, "Triad": 3, "Dot": 2}
_BABEL_BEGIN = re.compile(r"BabelStream")
_BABEL_VERSION = re.compile(r"Version: [45]\.[0-9]{1,3}")
_PRECISION = re.compile(r"Precision: double")
_ARRAY, _TOTAL = (
    re.compile(rf"{name} size: ({INTEGER}\.[0-9]) MB \(=[0-9]{{1,9}}\.[0-9] GB\)") for name in ("Array", "Total")
)
_DEVICE = re.compile(r"Using \w{1,20} device ([\w()/+. -]{1,100})")
_BABEL_HEADING = re.compile(r"Function    MBytes/sec  Min \(sec\)   Max         Average *")
_BABEL_ROW = re.compile(r"(Copy|Mul|Add|Triad|Dot) +([0-9]{1,12}\.[0-9]{3})" + 3 * r" +([0-9]{1,6}\.[0-9]{5})" + " *")
_INVALID = "Validation failed"


def babelstream(text: str, *, expect_runs: int = 1) -> tuple[BabelStreamResult, ...]:
    """Parse BabelStream's runs, in order.

    The program reports wrong results on standard error: see :func:`failed_validation`.

    :raises ParseError: the number of runs is another, a figure is missing or not above 0, rates and times contradict
        each other, or results were wrong.
    """
    output = Output.read("BabelStream output", text)
    begins = [number for number, _ in output.find(_BABEL_BEGIN)]
    if len(begins) != expect_runs or begins[0] != 1:
        raise output.missing(f"{expect_runs} outputs that begin with `BabelStream`, found {len(begins)}")
    ends = [*begins[1:], len(output.lines) + 1]
    return tuple(_babelstream_run(output, range(begin, end)) for begin, end in zip(begins, ends, strict=True))


def failed_validation(text: str) -> str:
    """Return the first report of wrong results on BabelStream's standard error; empty without one."""
    return next((line.strip() for line in text.splitlines() if _INVALID in line), "")


def _babelstream_run(output: Output, within: range) -> BabelStreamResult:
    for number in within:
        if _INVALID in output.lines[number - 1]:
            raise output.error(number, "no `Validation failed`: the arrays hold wrong values")
    output.one(_BABEL_VERSION, "`Version: 4.…` or `Version: 5.…`", within)
    output.one(_PRECISION, "`Precision: double`", within)
    number, found = output.one(_ARRAY, "`Array size: … MB`", within)
    array_mb = output.positive(number, "array size", found[1], Unit.MB)
    number, found = output.one(_TOTAL, "`Total size: … MB`", within)
    if abs(float(found[1]) - 3 * array_mb) > 0.21:
        raise output.error(number, f"a total size of three arrays of {array_mb} MB")
    _, device = output.one(_DEVICE, "`Using CUDA device …`", within)
    heading, _ = output.one(_BABEL_HEADING, "the heading `Function    MBytes/sec  Min (sec)   Max   Average`", within)
    kernels = [
        _kernel(output, number, row.group(2, 3, 5, 4), _BABEL_ARRAYS[row[1]] * array_mb)
        for number, row in _rows(output, _BABEL_ROW, heading, within, _BABEL_ARRAYS)
    ]
    return BabelStreamResult(device[1], array_mb, *kernels)


@dataclass(frozen=True)
class LikwidResult:
    """One kernel; ``hwthreads``: the hardware thread of each thread that ran it.

    If the requested threads exceed the threads of the domain, LIKWID uses hardware threads twice without a warning.
    """

    kernel: str
    hwthreads: tuple[int, ...]
    bandwidth_mb_s: float


_BANNER = re.compile(r"LIKWID MICRO BENCHMARK")
_KERNEL = re.compile(r"Test: (\w{1,60})")
_GROUPS = re.compile(r"Using 1 work groups")
_LIKWID_THREADS = re.compile(rf"Using ({INTEGER}) threads")
_LIKWID_THREAD = re.compile(
    rf"Group: 0 Thread ({INTEGER}) Global Thread {INTEGER} running on hwthread ([0-9]{{1,6}})"
    rf" - Vector length {INTEGER} Offset {INTEGER}"
)
_LIKWID_FIGURES = {
    "working_set_bytes": (rf"Size \(Byte\):\t+({INTEGER})", Unit.BYTES),
    "iterations": (rf"Iterations per thread:\t+({INTEGER})", Unit.COUNT),
    "time_s": (rf"Time:\t+({GENERAL}) sec", Unit.RUN_S),
    "data_volume_bytes": (rf"Data volume \(Byte\):\t+({INTEGER})", Unit.BYTES),
    "bandwidth_mb_s": (r"MByte/s:\t+([0-9]{1,15}\.[0-9]{2})", Unit.MB_S),
}


def likwid(text: str) -> LikwidResult:
    """Parse the output of ``likwid-bench``.

    :raises ParseError: a figure is missing, repeated or not above 0, there are several work groups or runs, a thread
        did not start, or rate, volume and time contradict each other.
    """
    output = Output.read("likwid-bench output", text)
    output.one(_BANNER, "`LIKWID MICRO BENCHMARK`")
    _, kernel = output.one(_KERNEL, "`Test: KERNEL`")
    output.one(_GROUPS, "`Using 1 work groups`")
    number, found = output.one(_LIKWID_THREADS, "`Using N threads`")
    threads = output.positive_integer(number, "threads", found[1], Unit.RANKS)
    lines = output.find(_LIKWID_THREAD)
    started = {int(match[1]): int(match[2]) for _, match in lines}
    if len(lines) != threads or sorted(started) != list(range(threads)):
        raise output.missing(f"a line for each of {threads} threads, found threads {sorted(started)}")
    figures = {}
    for name, (pattern, unit) in _LIKWID_FIGURES.items():
        number, found = output.one(re.compile(pattern), f"`{name}` and its figure")
        figures[name] = output.positive(number, name, found[1], unit)
    volume = figures["working_set_bytes"] * figures["iterations"]
    if volume != figures["data_volume_bytes"]:
        raise output.missing(f"a data volume of working set x iterations = {volume:.0f} bytes")
    expected = volume / figures["time_s"] / 1e6
    if abs(figures["bandwidth_mb_s"] - expected) > 0.01 + 1e-6 * expected:
        raise output.missing(f"MByte/s near {expected:.2f}, from volume and time")
    hwthreads = tuple(started[thread] for thread in range(threads))
    return LikwidResult(kernel[1], hwthreads, figures["bandwidth_mb_s"])
