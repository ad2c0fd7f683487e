"""Output of NVIDIA's nccl-tests and AMD's rccl-tests (``all_reduce_perf`` …), with checked data (``-c 1``).

Tried with 2.18 and a version between 2.13 and 2.17 (published). Versions before 2.13, which print the largest relative
error in place of the number of wrong elements, 2.19 and rccl-tests are read by their sources. Bus bandwidth is
algorithm bandwidth times a factor of the collective that makes it comparable with the hardware's (the project's
``PERFORMANCE.md``); GB are 10^9 bytes.
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
# Versions before 2.13 name of operation and root only what the collective has.
_HEADING = re.compile(
    r"# +size +count +type(?P<redop> +redop)?(?P<root> +root)? +time +algbw +busbw +(?P<checked>#wrong|error)"
    r" +time +algbw +busbw +(?P=checked) *"
)
_OPTIONS = re.compile(r"# nThread .{1,300} validation: ([01])\b.{0,100}")
_UNITS = re.compile(r"# +\(B\) +\(elements\)" + 2 * r" +\(us\) +\(GB/s\) +\(GB/s\)" + " *")
_DECIMAL = r"[0-9]{1,12}(?:\.[0-9]{1,3})?"
# Since 2.17 a bandwidth above a thousand has as many decimals as fit into six characters.
_BANDWIDTH = r"([0-9]{1,9}\.[0-9]{2}|[0-9]{4}\.[0-9]|[0-9]{5,6})"
_TRANSFER = rf" +({_DECIMAL}) +{_BANDWIDTH} +{_BANDWIDTH}"
_TYPE = r"(?:u?int(?:8|32|64)|half|float|double|bfloat16|fp8_e4m3|fp8_e5m2|f8e4m3|f8e5m2)"
# Of half precision, for each rank but one, which nccl-tests allowed before 2.13; less of other types.
_MOST_ERROR = 0.01
_WRONG = re.compile(rf"# Out of bounds values : ({INTEGER}) (OK|FAILED)")
_MEAN = re.compile(rf"# Avg bus bandwidth    : ({GENERAL}) *")


def parse(text: str, *, expect_sizes: Sequence[int], expect_ranks: int) -> NcclResult:
    """
    :param expect_sizes: size in bytes of each row. The programs round it down to a multiple of the ranks.
    :raises ParseError: a rank or a row is missing or repeated, data was wrong or not checked, or figures that depend
        on each other do not agree.
    """
    output = Output.read("nccl-tests output", text)
    for number, options in output.find(_OPTIONS):
        if options[1] == "0":
            raise output.error(number, "checked data (`-c 1`), and `validation: 0` says that they are unchecked")
    _, heading = output.one(_HEADING, "the heading `size count type redop root time algbw busbw #wrong …`")
    output.one(_UNITS, "the units below the heading")
    rows = [_row(output, number, match, expect_ranks) for number, match in output.find(_pattern(heading))]
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


def _pattern(heading: re.Match[str]) -> re.Pattern[str]:
    """Of a row below ``heading``."""
    columns = _TYPE + (r" +[a-z]{1,6}" if heading["redop"] else "") + (" +-?[0-9]{1,6}" if heading["root"] else "")
    # What an operation cannot do in place is not checked there, and nothing is with `-c 0`.
    checked = rf" +({INTEGER if heading['checked'] == '#wrong' else '[0-9]e[+-][0-9]{2,3}'}|N/A)"
    return re.compile(rf" *({INTEGER}) +({INTEGER}) +{columns}{_TRANSFER}{checked}{_TRANSFER}{checked} *")


def _row(output: Output, number: int, match: re.Match[str], ranks: int) -> Row:
    out_of_place_wrong, in_place_wrong = match[6], match[10]
    if out_of_place_wrong == "N/A":
        raise output.error(number, "checked data (`-c 1`), and N/A says that they are unchecked")
    for wrong in (out_of_place_wrong, in_place_wrong):
        if wrong != "N/A" and float(wrong) > (_MOST_ERROR * ranks if "e" in wrong else 0):
            raise output.error(number, "no wrong elements (#wrong 0, before 2.13 a small error)")
    size = output.positive_integer(number, "size in bytes", match[1], Quantity.BYTES)
    out_of_place, in_place = (
        _transfer(output, number, size, tokens) for tokens in (match.group(3, 4, 5), match.group(7, 8, 9))
    )
    # Both ways count the same operation: bus bandwidth is the same multiple of algorithm bandwidth.
    first, second = out_of_place, in_place
    difference = first.algorithm_gb_s * second.bus_gb_s - second.algorithm_gb_s * first.bus_gb_s
    slack = 1.01 * max(_half_digit(token) for token in match.group(4, 5, 8, 9))
    if abs(difference) > slack * sum((first.algorithm_gb_s, second.bus_gb_s, second.algorithm_gb_s, first.bus_gb_s)):
        raise output.error(number, "the same ratio of bus to algorithm bandwidth out of place and in place")
    return Row(size, out_of_place, in_place)


def _half_digit(token: str) -> float:
    """Half of the last printed digit."""
    return 0.5 * 10.0 ** -len(token.partition(".")[2])


def _transfer(output: Output, number: int, size: int, tokens: Sequence[str]) -> Transfer:
    transfer = Transfer(
        *(
            output.positive(number, "time and bandwidths", token, quantity)
            for token, quantity in zip(tokens, (Quantity.OPERATION_US, Quantity.GB_S, Quantity.GB_S), strict=True)
        )
    )
    # Half of the last printed digit of the time, and of the bandwidth.
    half_digit_us = _half_digit(tokens[0])
    slowest, fastest = (size / 1e3 / (transfer.time_us + shift) for shift in (half_digit_us, -half_digit_us))
    half_digit_gb_s = 1.02 * _half_digit(tokens[1])
    if not slowest - half_digit_gb_s <= transfer.algorithm_gb_s <= fastest + half_digit_gb_s:
        raise output.error(number, f"an algorithm bandwidth of {size} bytes in {tokens[0]} us")
    return transfer
