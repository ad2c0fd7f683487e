"""Results of NPB 3.4 BT with I/O (BT-IO: ``SUBTYPE=full``, ``simple`` …)."""

import re
from dataclasses import dataclass

from reframe_checks.parsers.text import INTEGER, Output, Quantity

_FIXED = r"[0-9]{1,12}\.[0-9]{2}"
_BTIO = re.compile(r" BTIO -- ([A-Z][A-Z0-9/ -]{1,40}) write interval: +([0-9]{1,6})")
_STATISTICS = {
    "io_s": (Quantity.RUN_S, re.compile(rf"   I/O timing in seconds   : +({_FIXED})")),
    "io_percent": (Quantity.PERCENT, re.compile(rf"   I/O timing percentage   : +({_FIXED})")),
    "written_mb": (Quantity.MB, re.compile(rf"   Total data written \(MB\) : +({_FIXED})")),
    "mb_s": (Quantity.MB_S, re.compile(rf"   I/O data rate  \(MB/sec\) : +({_FIXED})")),
    "total_s": (Quantity.RUN_S, re.compile(rf" Time in seconds = +({_FIXED})")),
    "mop_s": (Quantity.MOP_S, re.compile(rf" Mop/s total     = +({_FIXED})")),
    "mop_s_process": (Quantity.MOP_S, re.compile(rf" Mop/s/process   = +({_FIXED})")),
}
_CLASS = re.compile(r" Class           = +([SWABCDEF])")
_TOTAL = re.compile(rf" Total processes = +({INTEGER})")
_ACTIVE = re.compile(rf" Active proc(?:s    |esses)= +({INTEGER})")
_STARTED = re.compile(rf" Total number of processes: +({INTEGER})")
_VERIFIED = re.compile(r" Verification    = +SUCCESSFUL")
# Half a unit of the last printed digit.
_HALF = 0.005


@dataclass(frozen=True)
class BtioResult:
    """``mb_s``: data written over the time of I/O, MB of 10^6 bytes; ``io_percent``: share of the total time."""

    problem_class: str
    processes: int
    method: str
    total_s: float
    io_s: float
    io_percent: float
    written_mb: float
    mb_s: float
    mop_s: float


def parse(text: str) -> BtioResult:
    """
    :raises ParseError: not verified; fewer active than started processes (their number is no square); a figure
        missing, twice, or 0.00 (the run is too short for NPB's two decimals); figures that contradict each other.
    """
    output = Output.read("BT-IO output", text)
    _, method = output.one(_BTIO, "`BTIO -- METHOD write interval: N`")
    output.one(_VERIFIED, "`Verification = SUCCESSFUL`")
    counts = {}
    for name, pattern in (("started", _STARTED), ("total", _TOTAL), ("active", _ACTIVE)):
        number, match = output.one(pattern, f"the number of {name} processes")
        counts[name] = output.positive_integer(number, f"{name} processes", match[1], Quantity.RANKS)
    if len(set(counts.values())) != 1:
        raise output.error(number, f"all {counts['total']} processes active: BT needs a square number of ranks")
    figures, where = {}, {}
    for name, (quantity, pattern) in _STATISTICS.items():
        where[name], match = output.one(pattern, f"{name} in two decimals")
        figures[name] = output.positive(where[name], name, match[1], quantity)
    _, problem_class = output.one(_CLASS, "the class")
    _agree(output, where, figures, counts["total"])
    del figures["mop_s_process"]
    return BtioResult(problem_class=problem_class[1], processes=counts["total"], method=method[1].strip(), **figures)


def _agree(output: Output, where: dict[str, int], figures: dict[str, float], processes: int) -> None:
    """Each figure against those it is made of, within what rounding to two decimals allows."""
    io, total, written = figures["io_s"], figures["total_s"], figures["written_mb"]
    shares = ((io - _HALF) / (total + _HALF) * 100, (io + _HALF) / max(total - _HALF, _HALF) * 100)
    rates = ((written - _HALF) / (io + _HALF), (written + _HALF) / max(io - _HALF, _HALF / 100))
    speeds = tuple(processes * (figures["mop_s_process"] + sign * _HALF) for sign in (-1, 1))
    for name, (low, high) in {"io_percent": shares, "mb_s": rates, "mop_s": speeds}.items():
        if not low - 2 * _HALF <= figures[name] <= high + 2 * _HALF:
            raise output.error(where[name], f"{name} between {low:.2f} and {high:.2f}, from the other figures")
