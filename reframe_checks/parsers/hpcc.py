"""Summary section of HPC Challenge's ``hpccoutf.txt``. Its HPL results in full: :mod:`reframe_checks.parsers.hpl`."""

import re
from dataclasses import dataclass

from reframe_checks.parsers import hpl
from reframe_checks.parsers.errors import ParseError
from reframe_checks.parsers.text import GENERAL, INTEGER, Output, Quantity


@dataclass(frozen=True)
class StreamRates:
    """STREAM bandwidth of one process in GB/s (10^9 bytes per second)."""

    copy_gb_s: float
    scale_gb_s: float
    add_gb_s: float
    triad_gb_s: float


@dataclass(frozen=True)
class Transport:
    """Latency and bandwidth (10^9 bytes per second) per process."""

    latency_us: float
    bandwidth_gb_s: float


@dataclass(frozen=True)
class HpccSummary:
    """``star`` figures are means over processes that all work, ``single`` ones those of one process alone.

    ``stream_elements`` is the length of a STREAM array in 8-byte numbers; it follows from N, so a small N
    measures the cache. The rings are ``None`` with one process. ``success`` is the program's own verdict; it is
    False, for instance, when a residual of HPL failed.
    """

    success: bool
    processes: int
    hpl_n: int
    hpl_nb: int
    hpl_p: int
    hpl_q: int
    hpl_time_s: float
    hpl_gflops: float
    stream_elements: int
    stream_threads: int
    star_stream: StreamRates
    single_stream: StreamRates
    star_dgemm_gflops: float
    single_dgemm_gflops: float
    natural_ring: Transport | None
    random_ring: Transport | None


_PAIR = re.compile(r"([A-Za-z][A-Za-z0-9_]{0,60})=(.{0,200})")
_GENERAL = re.compile(GENERAL)
_INTEGER = re.compile(INTEGER)
_MARKS = {
    name: re.compile(re.escape(name))
    for name in ("Begin of Summary section.", "End of Summary section.", "End of HPC Challenge tests.")
}
_BANNER = re.compile(r"This is the DARPA/DOE HPC Challenge Benchmark version .{1,100}")


def parse(text: str) -> HpccSummary:
    """
    :raises ParseError: the summary or a figure is missing or not above 0, HPL's figures contradict each other, or
        the file holds several runs (HPC Challenge appends: remove ``hpccoutf.txt`` before each run).
    """
    output = Output.read("hpccoutf.txt", text)
    output.one(_BANNER, "the program's banner (remove hpccoutf.txt before each run)")
    begin, end, _ = (output.one(mark, f"`{name}`")[0] for name, mark in _MARKS.items())
    summary = _Summary(output, begin, end)
    processes = summary.integer("CommWorldProcs", Quantity.RANKS)
    hpl_n = summary.integer("HPL_N", Quantity.ORDER)
    hpl_time_s = summary.number("HPL_time", Quantity.RUN_S)
    hpl_gflops = 1e3 * summary.number("HPL_Tflops", Quantity.TFLOP_S)
    if abs(hpl.gflop(hpl_n) / hpl_time_s / hpl_gflops - 1) > 1e-4:
        raise summary.error("HPL_Tflops", f"Tflop/s that agree with HPL_N={hpl_n} in {hpl_time_s} s")
    return HpccSummary(
        success=summary.flag("Success"),
        processes=processes,
        hpl_n=hpl_n,
        hpl_nb=summary.integer("HPL_NB", Quantity.ORDER),
        hpl_p=summary.integer("HPL_nprow", Quantity.RANKS),
        hpl_q=summary.integer("HPL_npcol", Quantity.RANKS),
        hpl_time_s=hpl_time_s,
        hpl_gflops=hpl_gflops,
        stream_elements=summary.integer("STREAM_VectorSize", Quantity.COUNT),
        stream_threads=summary.integer("STREAM_Threads", Quantity.RANKS),
        star_stream=summary.stream("StarSTREAM"),
        single_stream=summary.stream("SingleSTREAM"),
        star_dgemm_gflops=summary.number("StarDGEMM_Gflops", Quantity.GFLOP_S),
        single_dgemm_gflops=summary.number("SingleDGEMM_Gflops", Quantity.GFLOP_S),
        natural_ring=summary.ring("NaturallyOrderedRing", processes),
        random_ring=summary.ring("RandomlyOrderedRing", processes),
    )


class _Summary:
    """The lines ``key=value`` between two lines of ``output``."""

    def __init__(self, output: Output, begin: int, end: int) -> None:
        self._output = output
        self._end = end
        self._values: dict[str, tuple[int, str]] = {}
        for number in range(begin + 1, end):
            found = _PAIR.fullmatch(output.lines[number - 1])
            if not found or found[1] in self._values:
                raise output.error(number, "key=value, each key once")
            self._values[found[1]] = (number, found[2])

    def error(self, key: str, expected: str) -> ParseError:
        return self._output.error(self._values[key][0], expected)

    def _value(self, key: str, pattern: re.Pattern[str], expected: str) -> tuple[int, str]:
        if key not in self._values:
            raise self._output.error(self._end, f"{key} in the summary")
        number, value = self._values[key]
        if not pattern.fullmatch(value):
            raise self._output.error(number, f"{key} as {expected}")
        return number, value

    def flag(self, key: str) -> bool:
        return self._value(key, re.compile("[01]"), "0 or 1")[1] == "1"

    def integer(self, key: str, quantity: Quantity) -> int:
        number, value = self._value(key, _INTEGER, "an integer above 0")
        return self._output.positive_integer(number, key, value, quantity)

    def number(self, key: str, quantity: Quantity) -> float:
        number, value = self._value(key, _GENERAL, "a number above 0")
        return self._output.positive(number, key, value, quantity)

    def stream(self, prefix: str) -> StreamRates:
        return StreamRates(
            *(self.number(f"{prefix}_{kernel}", Quantity.GB_S) for kernel in ("Copy", "Scale", "Add", "Triad"))
        )

    def ring(self, prefix: str, processes: int) -> Transport | None:
        keys = f"{prefix}Latency_usec", f"{prefix}Bandwidth_GBytes"
        if processes == 1:
            for key in keys:
                self._value(key, re.compile("-1"), "-1 with one process")
            return None
        return Transport(self.number(keys[0], Quantity.OPERATION_US), self.number(keys[1], Quantity.GB_S))
