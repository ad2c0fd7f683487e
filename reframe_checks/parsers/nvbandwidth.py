"""Output of NVIDIA's nvbandwidth: copies between host and GPUs, and between GPUs (versions 0.5 to 0.10)."""

import math
import re
from collections.abc import Collection
from dataclasses import dataclass

from reframe_checks.parsers.text import INTEGER, Output, Quantity


@dataclass(frozen=True)
class Bandwidths:
    """Bandwidth of one kind of copy in GB/s (10^9 bytes per second).

    ``gb_s`` has a row for the host or for each GPU, and a column for each GPU; ``None`` where there is no copy.
    """

    gb_s: tuple[tuple[float | None, ...], ...]
    sum_gb_s: float

    def values(self) -> dict[tuple[int, int], float]:
        """(row, column) -> bandwidth, where there is a copy."""
        return {
            (row, column): value
            for row, values in enumerate(self.gb_s)
            for column, value in enumerate(values)
            if value is not None
        }


_VERSION = re.compile(r"nvbandwidth Version: v0\.[0-9]{1,3}(?:\.[0-9]{1,3})?")
_BEGIN = re.compile(r"Running (\w{1,80})\.")
_TITLE = re.compile(r"memcpy (?:CE|SM) (?:CPU|GPU)\(row\) (?:->|<-) GPU\(column\) bandwidth \(GB/s\)")
_CELL = r"(?: +(?:N/A|[0-9]{1,9}\.[0-9]{2}))"
_COLUMNS = re.compile(r"(?: +[0-9]{1,3}){1,256}")
_ROW = re.compile(rf" *({INTEGER})({_CELL}{{1,256}})")
_SUM = re.compile(r"SUM (\w{1,80}) ([0-9]{1,12}\.[0-9]{2})")


def parse(text: str, *, expect: Collection[str], expect_gpus: int) -> dict[str, Bandwidths]:
    """The bandwidths of each test by its name.

    :param expect: names of the tests, each of which prints one matrix.
    :raises ParseError: another set of tests ran, one was waived or failed, a matrix is not that of ``expect_gpus``
        GPUs, or its sum does not agree.
    """
    output = Output.read("nvbandwidth output", text)
    output.one(_VERSION, "`nvbandwidth Version: v0.…`")
    begins = output.find(_BEGIN)
    names = [match[1] for _, match in begins]
    if sorted(names) != sorted(expect):
        raise output.missing(f"the tests {', '.join(sorted(expect))} once each, found {', '.join(names) or 'none'}")
    return {match[1]: _bandwidths(output, number, match[1], expect_gpus) for number, match in begins}


def _bandwidths(output: Output, begin: int, name: str, gpus: int) -> Bandwidths:
    """The matrix of the test ``name``, which line ``begin`` announces."""
    rows = 1 if "host" in name else gpus
    last = begin + 2 + rows
    if len(output.lines) < last + 2:
        raise output.missing(f"the matrix of {name} and its sum")
    if not _TITLE.fullmatch(output.lines[begin]):
        raise output.error(begin + 1, f"the title of the matrix of {name}")
    heading = output.lines[begin + 1]
    if not _COLUMNS.fullmatch(heading) or heading.split() != [str(gpu) for gpu in range(gpus)]:
        raise output.error(begin + 2, f"columns for GPUs 0 to {gpus - 1}")
    cells = tuple(_row(output, begin + 3 + row, row, gpus, between_gpus=rows > 1) for row in range(rows))
    found = _SUM.fullmatch(output.lines[last + 1])
    if output.lines[last] or not found or found[1] != name:
        raise output.error(last + 2, f"`SUM {name} …` behind the matrix")
    values = [value for row in cells for value in row if value is not None]
    total = output.positive(last + 2, "the sum", found[2], Quantity.GB_S)
    if abs(total - math.fsum(values)) > 0.0051 * (len(values) + 1):
        raise output.error(last + 2, f"the sum of the matrix, {math.fsum(values):.2f}")
    return Bandwidths(cells, total)


def _row(output: Output, number: int, row: int, gpus: int, *, between_gpus: bool) -> tuple[float | None, ...]:
    found = _ROW.fullmatch(output.lines[number - 1])
    if not found or int(found[1]) != row:
        raise output.error(number, f"row {row} of the matrix")
    cells = tuple(
        None if token == "N/A" else output.positive(number, "a bandwidth", token, Quantity.GB_S)
        for token in found[2].split()
    )
    expected_none = {row} if between_gpus else set()
    if len(cells) != gpus or {column for column, cell in enumerate(cells) if cell is None} != expected_none:
        raise output.error(number, f"{gpus} bandwidths, N/A only from a GPU to itself")
    return cells
