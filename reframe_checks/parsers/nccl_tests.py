"""Output of NVIDIA's nccl-tests (``all_reduce_perf`` and its siblings), with checked data (``-c 1``).

Formats: versions up to 2.18. Bus bandwidth is algorithm bandwidth times a factor of the collective that makes it
comparable with the hardware's (the project's ``PERFORMANCE.md``); GB are 10^9 bytes.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from reframe_checks.parsers.text import GENERAL, INTEGER, Output, Quantity


@dataclass(frozen=True)
class Transfer:
    """Time of one operation and its bandwidths."""

    time_us: float
    algorithm_gb_s: float
    bus_gb_s: float


@dataclass(frozen=True)
class Row:
    size_bytes: int
    out_of_place: Transfer
    in_place: Transfer


@dataclass(frozen=True)
class NcclResult:
    """``hosts``: where each rank ran. ``mean_bus_gb_s`` is over every row, out of place and in place."""

    hosts: tuple[str, ...]
    rows: tuple[Row, ...]
    mean_bus_gb_s: float


_RANK = re.compile(
    rf"# +Rank +({INTEGER}) +(?:Group +{INTEGER} +)?Pid +{INTEGER} on +([\w.-]{{1,255}}) device .{{1,200}}"
)
_HEADING = re.compile(r"# +size +count +type +redop +root" + 2 * r" +time +algbw +busbw +#wrong" + " *")
_UNITS = re.compile(r"# +\(B\) +\(elements\)" + 2 * r" +\(us\) +\(GB/s\) +\(GB/s\)" + " *")
_DECIMAL = r"[0-9]{1,12}(?:\.[0-9]{1,3})?"
_TRANSFER = rf" +({_DECIMAL}) +([0-9]{{1,9}}\.[0-9]{{2}}) +([0-9]{{1,9}}\.[0-9]{{2}})"
# What an operation cannot do in place is not checked there.
_ROW = re.compile(
    rf" *({INTEGER}) +({INTEGER}) +(?:int8|uint8|int32|uint32|int64|uint64|half|float|double|bfloat16) +[a-z]{{1,6}}"
    rf" +-?[0-9]{{1,6}}{_TRANSFER} +({INTEGER}){_TRANSFER} +({INTEGER}|N/A)"
)
_WRONG = re.compile(rf"# Out of bounds values : ({INTEGER}) (OK|FAILED)")
_MEAN = re.compile(rf"# Avg bus bandwidth    : ({GENERAL}) *")


def parse(text: str, *, expect_sizes: Sequence[int], expect_ranks: int) -> NcclResult:
    """
    :param expect_sizes: size in bytes of each row. The programs round it down to a multiple of the ranks.
    :raises ParseError: a rank or a row is missing or repeated, data was wrong or not checked, or figures that depend
        on each other do not agree.
    """
    output = Output.read("nccl-tests output", text)
    output.one(_HEADING, "the heading `size count type redop root time algbw busbw #wrong …`")
    output.one(_UNITS, "the units below the heading")
    rows = [_row(output, number, match) for number, match in output.find(_ROW)]
    slack = 64 * expect_ranks
    if len(rows) != len(expect_sizes) or not all(
        size - slack < row.size_bytes <= size for size, row in zip(expect_sizes, rows, strict=True)
    ):
        raise output.missing(f"rows of {list(expect_sizes)} bytes, found {[row.size_bytes for row in rows]}")
    number, found = output.one(_WRONG, "`# Out of bounds values : 0 OK`")
    if (found[1], found[2]) != ("0", "OK"):
        raise output.error(number, "no wrong values")
    number, found = output.one(_MEAN, "`# Avg bus bandwidth    : …`")
    mean = output.positive(number, "the mean bus bandwidth", found[1], Quantity.GB_S)
    expected = sum(row.out_of_place.bus_gb_s + row.in_place.bus_gb_s for row in rows) / (2 * len(rows))
    if abs(mean - expected) > 0.005 + 1e-5 * expected:
        raise output.error(number, f"the mean of the rows, {expected:.3f}")
    return NcclResult(_hosts(output, expect_ranks), tuple(rows), mean)


def _hosts(output: Output, ranks: int) -> tuple[str, ...]:
    found = output.find(_RANK)
    if [int(match[1]) for _, match in found] != list(range(ranks)):
        raise output.missing(f"a line for each of {ranks} ranks in order, found {len(found)}")
    return tuple(match[2] for _, match in found)


def _row(output: Output, number: int, match: re.Match[str]) -> Row:
    if match[6] != "0" or match[10] not in ("0", "N/A"):
        raise output.error(number, "no wrong elements (#wrong 0)")
    size = output.positive_integer(number, "size in bytes", match[1], Quantity.BYTES)
    out_of_place, in_place = (
        _transfer(output, number, size, tokens) for tokens in (match.group(3, 4, 5), match.group(7, 8, 9))
    )
    # Both ways count the same operation: bus bandwidth is the same multiple of algorithm bandwidth.
    first, second = out_of_place, in_place
    difference = first.algorithm_gb_s * second.bus_gb_s - second.algorithm_gb_s * first.bus_gb_s
    if abs(difference) > 0.00505 * sum((first.algorithm_gb_s, second.bus_gb_s, second.algorithm_gb_s, first.bus_gb_s)):
        raise output.error(number, "the same ratio of bus to algorithm bandwidth out of place and in place")
    return Row(size, out_of_place, in_place)


def _transfer(output: Output, number: int, size: int, tokens: Sequence[str]) -> Transfer:
    transfer = Transfer(
        *(
            output.positive(number, "time and bandwidths", token, quantity)
            for token, quantity in zip(tokens, (Quantity.OPERATION_US, Quantity.GB_S, Quantity.GB_S), strict=True)
        )
    )
    # Half of the last printed digit of the time, and of the bandwidth.
    half_digit_us = 0.5 * 10.0 ** -len(tokens[0].partition(".")[2])
    slowest, fastest = (size / 1e3 / (transfer.time_us + shift) for shift in (half_digit_us, -half_digit_us))
    if not slowest - 0.0051 <= transfer.algorithm_gb_s <= fastest + 0.0051:
        raise output.error(number, f"an algorithm bandwidth of {size} bytes in {tokens[0]} us")
    return transfer
