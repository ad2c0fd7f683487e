"""The table of IOzone 3 for ``-i 0 -i 1``: write, rewrite, read and reread over file size and request size."""

import re
from dataclasses import dataclass

from reframe_checks.parsers.text import INTEGER, Output, Quantity

OPERATIONS = ("write", "rewrite", "read", "reread")
_TITLES = re.compile(r" +kB +reclen +write +rewrite +read +reread +.*")
_ROW = re.compile(rf" +({INTEGER})" * 6 + " *")
_COMMAND = re.compile(r"\tCommand line used: \S+ (.*)")
_UNIT = re.compile(r"\tOutput is in kBytes/sec")
_END = "iozone test complete."
# Options, and what IOzone says in its header when they are in effect.
_SAYS = {
    "direct": ("-I", "O_DIRECT feature enabled"),
    "sync": ("-o", "SYNC Mode."),
    "fsync": ("-e", "Include fsync in write timing"),
    "close": ("-c", "Include close in write timing"),
}


@dataclass(frozen=True)
class IozoneResult:
    """``rates``: operation -> (file size in KiB, request size in KiB) -> MB/s (10^6 bytes)."""

    options: str
    direct: bool
    sync: bool
    fsync: bool
    close: bool
    rates: dict[str, dict[tuple[int, int], float]]


def parse(text: str, *, expect_cells: set[tuple[int, int]]) -> IozoneResult:
    """
    :param expect_cells: (file size, request size) in KiB that the table has to hold.
    :raises ParseError: the end, the titles, a cell or a rate missing; a cell twice or not asked for; a rate of
        0; an option that the header does not confirm.
    """
    output = Output.read("iozone output", text)
    _, command = output.one(_COMMAND, "`Command line used: …`")
    output.one(_UNIT, "`Output is in kBytes/sec`")
    titles, _ = output.one(_TITLES, "the titles of the table")
    ends = [number for number, line in enumerate(output.lines, start=1) if line == _END]
    if len(ends) != 1 or ends[0] < titles:
        raise output.missing(f"`{_END}` once, behind the table")
    rates: dict[str, dict[tuple[int, int], float]] = {operation: {} for operation in OPERATIONS}
    for number in range(titles + 1, ends[0]):
        line = output.lines[number - 1]
        if not line.strip():
            continue
        row = _ROW.fullmatch(line)
        if not row:
            raise output.error(number, "a row of file size, request size and four rates")
        cell = int(row[1]), int(row[2])
        if cell not in expect_cells or cell in rates["write"]:
            raise output.error(number, f"a cell that was asked for, once; found {cell[0]} KiB by {cell[1]} KiB")
        for operation, token in zip(OPERATIONS, row.groups()[2:], strict=True):
            rates[operation][cell] = output.positive_integer(number, operation, token, Quantity.KIB_S) * 1.024e-3
    if missing := expect_cells - set(rates["write"]):
        file_kib, request_kib = min(missing)
        raise output.missing(f"a row for {file_kib} KiB by {request_kib} KiB")
    options = command[1].split()
    header = [line.strip() for line in output.lines[:titles]]
    for option, said in _SAYS.values():
        if (option in options) != (said in header):
            raise output.error(titles, f"`{said}` in the header if and only if {option} was given")
    return IozoneResult(
        options=command[1], rates=rates, **{name: option in options for name, (option, _) in _SAYS.items()}
    )
