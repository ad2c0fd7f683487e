"""Output of STREAM in C, version 5.10 (McCalpin, "Memory Bandwidth and Machine Balance", 1995)."""

import re
from dataclasses import dataclass

from reframe_checks.parsers.text import INTEGER, Output, Quantity


@dataclass(frozen=True)
class StreamKernel:
    """Best rate in MB/s (10^6 bytes per second); mean, minimum and maximum time of one pass in seconds."""

    best_rate_mb_s: float
    avg_s: float
    min_s: float
    max_s: float


@dataclass(frozen=True)
class StreamResult:
    """``threads`` is ``None`` without OpenMP. Arrays have ``array_elements`` numbers of ``element_bytes``."""

    array_elements: int
    element_bytes: int
    threads: int | None
    copy: StreamKernel
    scale: StreamKernel
    add: StreamKernel
    triad: StreamKernel


_VERSION = re.compile(r"STREAM version \$Revision: 5\.10 \$")
_ELEMENT = re.compile(r"This system uses (4|8|16) bytes per array element\.")
_ARRAY = re.compile(rf"Array size = ({INTEGER}) \(elements\), Offset = {INTEGER} \(elements\)")
_THREADS = {name: re.compile(rf"Number of Threads {name} = ({INTEGER})") for name in ("requested", "counted")}
_HEADER = re.compile(r"Function    Best Rate MB/s  Avg time     Min time     Max time")
_SECONDS = r" +([0-9]{1,9}\.[0-9]{6})"
_COLUMNS = (Quantity.MB_S, *3 * (Quantity.RUN_S,))
_ROW = re.compile(r"(Copy|Scale|Add|Triad): +([0-9]{1,12}\.[0-9])" + 3 * _SECONDS)
_VALID = re.compile(r"Solution Validates: avg error less than [0-9.e+-]{1,20} on all three arrays")

# Arrays that a kernel moves, in STREAM's way of counting (no write-allocate).
_ARRAYS_MOVED = {"Copy": 2, "Scale": 2, "Add": 3, "Triad": 3}


def parse(text: str) -> StreamResult:
    """
    :raises ParseError: the solution was not validated, a figure is missing or not above 0, rates and times
        contradict each other, threads asked for did not run, or the outputs of several runs are mixed.
    """
    output = Output.read("STREAM output", text)
    for number, line in enumerate(output.lines, start=1):
        if line.startswith("Failed Validation"):
            raise output.error(number, "`Solution Validates`: the arrays hold wrong values")
    output.one(_VERSION, "`STREAM version $Revision: 5.10 $`")
    number, found = output.one(_ELEMENT, "`This system uses … bytes per array element.`")
    element_bytes = int(found[1])
    number, found = output.one(_ARRAY, "`Array size = … (elements)`")
    elements = output.positive_integer(number, "array size", found[1], Quantity.COUNT)
    header, _ = output.one(_HEADER, "the heading `Function    Best Rate MB/s  Avg time …`")
    kernels = [
        _kernel(output, header + row, name, arrays * element_bytes * elements)
        for row, (name, arrays) in enumerate(_ARRAYS_MOVED.items(), start=1)
    ]
    number, _ = output.one(_VALID, "`Solution Validates: …`")
    if number < header:
        raise output.error(number, "the validation behind the results")
    return StreamResult(elements, element_bytes, _threads(output), *kernels)


def _kernel(output: Output, number: int, name: str, moved_bytes: int) -> StreamKernel:
    found = _ROW.fullmatch(output.lines[number - 1]) if number <= len(output.lines) else None
    if not found or found[1] != name:
        raise output.error(number, f"`{name}:` and its rate, mean, minimum and maximum time")
    kernel = StreamKernel(
        *(
            output.positive(number, name, token, quantity)
            for token, quantity in zip(found.groups()[1:], _COLUMNS, strict=True)
        )
    )
    if not kernel.min_s <= kernel.avg_s <= kernel.max_s:
        raise output.error(number, "minimum <= mean <= maximum time")
    # Half of the last printed digit of the time, and of the rate.
    slowest, fastest = (moved_bytes / 1e6 / (kernel.min_s + shift) for shift in (0.5e-6, -0.5e-6))
    if not slowest - 0.06 <= kernel.best_rate_mb_s <= fastest + 0.06:
        raise output.error(number, f"the rate of {moved_bytes} bytes in the minimum time")
    return kernel


def _threads(output: Output) -> int | None:
    if not any(output.find(pattern) for pattern in _THREADS.values()):
        return None
    counts = []
    for name, pattern in _THREADS.items():
        number, found = output.one(pattern, f"`Number of Threads {name} = …`")
        counts.append(output.positive_integer(number, f"threads {name}", found[1], Quantity.RANKS))
    if counts[0] != counts[1]:
        raise output.error(number, f"{counts[0]} threads, as requested")
    return counts[1]
