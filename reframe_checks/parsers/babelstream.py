"""Output of BabelStream 4 and 5: STREAM's kernels on a GPU (Deakin et al., IJCSE 17(3), 2018)."""

import re
from dataclasses import dataclass

from reframe_checks.parsers.text import INTEGER, Output, Quantity


@dataclass(frozen=True)
class Kernel:
    """Best rate in MB/s (10^6 bytes per second); minimum, maximum and mean time of one pass in seconds."""

    rate_mb_s: float
    min_s: float
    max_s: float
    mean_s: float


@dataclass(frozen=True)
class BabelStreamResult:
    """One run. ``array_mb``: size of one of the three arrays, rounded to a decimal."""

    device: str
    array_mb: float
    copy: Kernel
    mul: Kernel
    add: Kernel
    triad: Kernel
    dot: Kernel


# Arrays that a kernel moves, in STREAM's way of counting; in the order of the output.
_ARRAYS_MOVED = {"Copy": 2, "Mul": 2, "Add": 3, "Triad": 3, "Dot": 2}

_BEGIN = re.compile(r"BabelStream")
_VERSION = re.compile(r"Version: [45]\.[0-9]{1,3}")
_PRECISION = re.compile(r"Precision: double")
_ARRAY = re.compile(rf"Array size: ({INTEGER}\.[0-9]) MB \(=[0-9]{{1,9}}\.[0-9] GB\)")
_TOTAL = re.compile(rf"Total size: ({INTEGER}\.[0-9]) MB \(=[0-9]{{1,9}}\.[0-9] GB\)")
_DEVICE = re.compile(r"Using \w{1,20} device ([\w()/+. -]{1,100})")
_HEADING = re.compile(r"Function    MBytes/sec  Min \(sec\)   Max         Average *")
_COLUMNS = (Quantity.MB_S, *3 * (Quantity.RUN_S,))
_ROW = re.compile(r"(Copy|Mul|Add|Triad|Dot) +([0-9]{1,12}\.[0-9]{3})" + 3 * r" +([0-9]{1,6}\.[0-9]{5})" + " *")
_INVALID = "Validation failed"


def parse(text: str, *, expect_runs: int = 1) -> tuple[BabelStreamResult, ...]:
    """The runs, in order.

    The program writes that its results are wrong to standard error: see :func:`failed_validation`.

    :raises ParseError: there is another number of runs, a figure is missing or not above 0, rates and times contradict
        each other, or results were wrong.
    """
    output = Output.read("BabelStream output", text)
    begins = [number for number, _ in output.find(_BEGIN)]
    if len(begins) != expect_runs or begins[0] != 1:
        raise output.missing(f"{expect_runs} outputs that begin with `BabelStream`, found {len(begins)}")
    ends = [*begins[1:], len(output.lines) + 1]
    return tuple(_run(output, range(begin, end)) for begin, end in zip(begins, ends, strict=True))


def failed_validation(text: str) -> str:
    """The first complaint about wrong results in what the program wrote to standard error; empty when there is none."""
    return next((line.strip() for line in text.splitlines() if _INVALID in line), "")


def _run(output: Output, within: range) -> BabelStreamResult:
    for number in within:
        if _INVALID in output.lines[number - 1]:
            raise output.error(number, "no `Validation failed`: the arrays hold wrong values")
    output.one(_VERSION, "`Version: 4.…` or `Version: 5.…`", within)
    output.one(_PRECISION, "`Precision: double`", within)
    number, found = output.one(_ARRAY, "`Array size: … MB`", within)
    array_mb = output.positive(number, "array size", found[1], Quantity.MB)
    number, found = output.one(_TOTAL, "`Total size: … MB`", within)
    if abs(float(found[1]) - 3 * array_mb) > 0.21:
        raise output.error(number, f"a total size of three arrays of {array_mb} MB")
    _, device = output.one(_DEVICE, "`Using CUDA device …`", within)
    heading, _ = output.one(_HEADING, "the heading `Function    MBytes/sec  Min (sec)   Max         Average`", within)
    rows = output.find(_ROW, within)
    if [(number, match[1]) for number, match in rows] != list(enumerate(_ARRAYS_MOVED, start=heading + 1)):
        raise output.error(heading, f"the rows {', '.join(_ARRAYS_MOVED)} once each below the heading")
    kernels = [_kernel(output, number, match, array_mb) for number, match in rows]
    return BabelStreamResult(device[1], array_mb, *kernels)


def _kernel(output: Output, number: int, match: re.Match[str], array_mb: float) -> Kernel:
    kernel = Kernel(
        *(
            output.positive(number, match[1], token, quantity)
            for token, quantity in zip(match.groups()[1:], _COLUMNS, strict=True)
        )
    )
    if not kernel.min_s <= kernel.mean_s <= kernel.max_s:
        raise output.error(number, "minimum <= mean <= maximum time")
    # Half of the last printed digit of the size and of the time.
    arrays = _ARRAYS_MOVED[match[1]]
    slowest = arrays * (array_mb - 0.05) / (kernel.min_s + 5.1e-6)
    fastest = arrays * (array_mb + 0.05) / max(kernel.min_s - 5.1e-6, 1e-9)
    if not slowest <= kernel.rate_mb_s <= fastest:
        raise output.error(number, f"the rate of {arrays} arrays of {array_mb} MB in the minimum time")
    return kernel
