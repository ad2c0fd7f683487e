"""Summary section of HPC Challenge's ``hpccoutf.txt``, for what it measures besides HPL (:mod:`…parsers.hpl`)."""

import re
from dataclasses import dataclass

from reframe_checks.parsers.text import GENERAL, INTEGER, Output, Quantity


@dataclass(frozen=True)
class Hpcc:
    """``star`` is the mean of processes that all work at the same time; rates in 10^9 a second, updates in GUP/s.

    The ring, in which each process sends to a random other one, is ``None`` with one process.
    """

    processes: int
    ptrans_gb_s: float
    random_access_gup_s: float
    fft_gflop_s: float
    star_stream_triad_gb_s: float
    ring_latency_us: float | None
    ring_bandwidth_gb_s: float | None


_PAIR = re.compile(r"([A-Za-z][A-Za-z0-9_]{0,60})=(.{0,200})")
_NUMBER, _WHOLE = re.compile(GENERAL), re.compile(INTEGER)
_BEGIN, _END = re.compile(r"Begin of Summary section\."), re.compile(r"End of Summary section\.")


def parse(text: str) -> Hpcc:
    """
    :raises ParseError: the summary or a figure is missing, twice, not above 0 or more than any machine reaches; the
        program calls its run no success; or the file holds several runs, as it appends.
    """
    output = Output.read("hpccoutf.txt", text)
    begin, end = (output.one(mark, mark.pattern.replace("\\", ""))[0] for mark in (_BEGIN, _END))
    found: dict[str, tuple[int, str]] = {}
    for number in range(begin + 1, end):
        pair = _PAIR.fullmatch(output.lines[number - 1])
        if not pair or pair[1] in found:
            raise output.error(number, "key=value, each key once")
        found[pair[1]] = number, pair[2]

    def value(key: str, pattern: re.Pattern[str]) -> tuple[int, str]:
        if key not in found:
            raise output.error(end, f"{key} in the summary")
        number, token = found[key]
        if not pattern.fullmatch(token):
            raise output.error(number, f"{key} as {pattern.pattern}")
        return number, token

    def figure(key: str, quantity: Quantity) -> float:
        number, token = value(key, _NUMBER)
        return output.positive(number, key, token, quantity)

    value("Success", re.compile("1"))
    number, token = value("CommWorldProcs", _WHOLE)
    processes = output.positive_integer(number, "CommWorldProcs", token, Quantity.RANKS)
    several = processes > 1
    return Hpcc(
        processes=processes,
        ptrans_gb_s=figure("PTRANS_GBs", Quantity.GB_S),
        random_access_gup_s=figure("MPIRandomAccess_GUPs", Quantity.GUP_S),
        fft_gflop_s=figure("MPIFFT_Gflops", Quantity.GFLOP_S),
        star_stream_triad_gb_s=figure("StarSTREAM_Triad", Quantity.GB_S),
        ring_latency_us=figure("RandomlyOrderedRingLatency_usec", Quantity.OPERATION_US) if several else None,
        ring_bandwidth_gb_s=figure("RandomlyOrderedRingBandwidth_GBytes", Quantity.GB_S) if several else None,
    )
