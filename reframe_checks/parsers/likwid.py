"""Output of ``likwid-bench`` (LIKWID 5), one work group."""

import re
from dataclasses import dataclass

from reframe_checks.parsers.text import GENERAL, INTEGER, Output, Quantity


@dataclass(frozen=True)
class LikwidResult:
    """One kernel run by ``threads`` threads; ``hwthreads`` names the hardware thread of each.

    A hardware thread occurs twice when LIKWID was asked for more threads than the domain has: it does so without a
    word. MB are 10^6 bytes. ``working_set_bytes`` is the size of all streams together; ``mflops_s`` is 0 for a
    kernel without arithmetic. Cycles are those of the time stamp counter.
    """

    kernel: str
    threads: int
    hwthreads: tuple[int, ...]
    working_set_bytes: int
    iterations_per_thread: int
    time_s: float
    cycles: int
    clock_hz: int
    data_volume_bytes: int
    bandwidth_mb_s: float
    flops: int
    mflops_s: float


_RATE = r"([0-9]{1,15}\.[0-9]{2})"
_BANNER = re.compile(r"LIKWID MICRO BENCHMARK")
_KERNEL = re.compile(r"Test: (\w{1,60})")
_GROUPS = re.compile(rf"Using ({INTEGER}) work groups")
_THREADS = re.compile(rf"Using ({INTEGER}) threads")
_THREAD = re.compile(
    rf"Group: 0 Thread ({INTEGER}) Global Thread {INTEGER} running on hwthread ([0-9]{{1,6}})"
    rf" - Vector length {INTEGER} Offset {INTEGER}"
)


def parse(text: str) -> LikwidResult:
    """
    :raises ParseError: a figure is missing, repeated or not above 0, there are several work groups or runs, not
        every thread started, or rate, volume and time contradict each other.
    """
    output = Output.read("likwid-bench output", text)
    output.one(_BANNER, "`LIKWID MICRO BENCHMARK`")
    kernel = output.one(_KERNEL, "`Test: KERNEL`")[1][1]
    number, found = output.one(_GROUPS, "`Using 1 work groups`")
    if found[1] != "1":
        raise output.error(number, "one work group")
    number, found = output.one(_THREADS, "`Using N threads`")
    threads = output.positive_integer(number, "threads", found[1], Quantity.RANKS)
    lines = output.find(_THREAD)
    started = {int(match[1]): int(match[2]) for _, match in lines}
    if len(lines) != threads or sorted(started) != list(range(threads)):
        raise output.missing(f"a line for each of {threads} threads, found threads {sorted(started)}")
    result = LikwidResult(
        kernel=kernel,
        threads=threads,
        hwthreads=tuple(started[thread] for thread in range(threads)),
        working_set_bytes=_integer(output, "Size (Byte)", Quantity.BYTES),
        iterations_per_thread=_integer(output, "Iterations per thread", Quantity.COUNT),
        time_s=_number(output, "Time", rf"({GENERAL}) sec", Quantity.RUN_S),
        cycles=_integer(output, "Cycles", Quantity.CYCLES),
        clock_hz=_integer(output, "CPU Clock", Quantity.HERTZ),
        data_volume_bytes=_integer(output, "Data volume (Byte)", Quantity.BYTES),
        bandwidth_mb_s=_number(output, "MByte/s", _RATE, Quantity.MB_S),
        flops=int(_one(output, "Number of Flops", rf"({INTEGER})")[1]),
        mflops_s=float(_one(output, "MFlops/s", _RATE)[1]),
    )
    _check(output, result)
    return result


def _one(output: Output, key: str, value: str) -> tuple[int, str]:
    number, found = output.one(re.compile(rf"{re.escape(key)}:\t+{value}"), f"`{key}:` and its figure")
    return number, found[1]


def _integer(output: Output, key: str, quantity: Quantity) -> int:
    number, token = _one(output, key, rf"({INTEGER})")
    return output.positive_integer(number, key, token, quantity)


def _number(output: Output, key: str, value: str, quantity: Quantity) -> float:
    number, token = _one(output, key, value)
    return output.positive(number, key, token, quantity)


def _check(output: Output, result: LikwidResult) -> None:
    """The printed figures depend on each other; MB/s and Mflop/s have two decimals, the time seven digits."""
    volume = result.working_set_bytes * result.iterations_per_thread
    if volume != result.data_volume_bytes:
        raise output.missing(f"a data volume of working set x iterations = {volume} bytes")
    for name, rate, amount in (
        ("MByte/s", result.bandwidth_mb_s, result.data_volume_bytes),
        ("MFlops/s", result.mflops_s, result.flops),
    ):
        expected = amount / result.time_s / 1e6
        if abs(rate - expected) > 0.01 + 1e-6 * expected:
            raise output.missing(f"{name} near {expected:.2f}, from volume and time; found {rate}")
    if abs(result.cycles / result.clock_hz / result.time_s - 1) > 1e-5:
        raise output.missing(f"a time of {result.cycles} cycles at {result.clock_hz} Hz, found {result.time_s} s")
