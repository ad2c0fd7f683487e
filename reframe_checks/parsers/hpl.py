"""Results of High-Performance Linpack: HPL 2.x, the HPL section of HPC Challenge, and builds of vendors.

Tried with HPL 2.3 and HPC Challenge 1.5 (recorded), AMD's build of 2023 and NVIDIA's 25.04 (published), and published
result lines of HPL 2.1, Intel's build and rocHPL. HPL 1.0, which prints three residuals, is not supported.
"""

import re
from dataclasses import dataclass

from reframe_checks.parsers.text import GENERAL, INTEGER, Output, Unit


@dataclass(frozen=True)
class HplResult:
    """One solved system of order ``n`` in blocks of ``nb`` on a grid of ``p`` x ``q`` ranks.

    ``residual`` is the scaled residual ||Ax-b|| / (eps (||A|| ||x|| + ||b||) n), in maximum norms; ``passed``: HPL
    found it below its threshold.
    """

    n: int
    nb: int
    p: int
    q: int
    gflops: float
    residual: float
    passed: bool

    @property
    def time_s(self) -> float:
        """Return the time from ``gflops``, which has five digits; the printed time has only two decimals."""
        return gflop(self.n) / self.gflops


_SHAPE = {"N": Unit.ORDER, "NB": Unit.ORDER, "P": Unit.RANKS, "Q": Unit.RANKS}
_PER_GPU = rf"(?: +\( *{GENERAL}\))?"
_HEADER = re.compile(r"T/V +N +NB +P +Q +Time +Gflops(?: \( *per GPU\))?")
_RESULT = re.compile(
    rf"W[RC][0-9A-Za-z]{{1,20}} +({INTEGER}) +({INTEGER}) +({INTEGER}) +({INTEGER})"
    rf" +([0-9]{{1,12}}\.[0-9]{{2,6}}) +({GENERAL}){_PER_GPU}"
)
_RESIDUAL = re.compile(
    re.escape("||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=") + rf" *({GENERAL}) \.{{6}} (PASSED|FAILED)"
)
_THRESHOLD = re.compile(rf"- Computational tests pass if scaled residuals are less than +({GENERAL})")
# NVIDIA's HPL runs with this threshold and does not print it.
_USUAL_THRESHOLD = 16.0
# The header repeats the values of HPL.dat; those from the ninth on are in the next line.
_ASKED = re.compile(rf"(N|NB|P|Q) +:((?: +{INTEGER}){{1,7}}) *")
_TALLIES = {
    "finished": re.compile(rf"Finished +({INTEGER}) tests with the following results:"),
    "passed": re.compile(rf" +({INTEGER}) tests completed and passed residual checks,"),
    "failed": re.compile(rf" +({INTEGER}) tests completed and failed residual checks,"),
    "skipped": re.compile(rf" +({INTEGER}) tests skipped because of illegal input values\."),
}
_END = re.compile(r"End of Tests\.")
_HPCC = re.compile(r"This is the DARPA/DOE HPC Challenge Benchmark version .{1,100}|(?:Begin|End) of HPL section\.")
_SECTION = {"beginning": re.compile(r"Begin of HPL section\."), "end": re.compile(r"End of HPL section\.")}


def gflop(n: int) -> float:
    """Return HPL's count of operations for a system of order ``n``, in 10^9 (HPL_pdtest.c)."""
    return n / 1e9 * n * (2 / 3 * n + 3 / 2)


def parse(text: str) -> tuple[HplResult, ...]:
    """Parse every result, in order. A failed residual is a result with ``passed=False``, not an error.

    Every result must have its residual, the closing tallies must agree with the results, and the program must reach
    "End of Tests.". Time, order and Gflop/s must agree with each other, and the results with a header.

    :raises ParseError: one of these fails, a figure is not finite and above 0, or the text holds several runs.
    """
    output = Output.read("HPL output", text)
    lines = _hpl_lines(output)
    results: list[HplResult] = []
    header = False
    pending: tuple[int, re.Match[str]] | None = None
    for number in lines:
        line = output.lines[number - 1].rstrip()
        if _HEADER.fullmatch(line):
            if header or pending:
                raise output.error(number, "a result and its residual before the next heading")
            header = True
        elif line.startswith(("WR", "WC")):
            found = _RESULT.fullmatch(line)
            if not header or not found:
                raise output.error(number, "the heading `T/V N NB P Q Time Gflops`, then one line with these figures")
            header, pending = False, (number, found)
        elif line.startswith("||Ax-b||_oo / "):
            raise output.error(number, "the one residual of HPL 2, `||Ax-b||_oo/(…)=`: HPL 1.0 is not known")
        elif line.startswith("||Ax-b||_oo/"):
            residual = _RESIDUAL.fullmatch(line)
            if not pending or not residual:
                raise output.error(number, "one residual behind each result, PASSED or FAILED")
            results.append(_result(output, *pending, number, residual))
            pending = None
    if pending or header or not results:
        raise output.error(lines[-1], "a result line `W…` followed by its residual")
    _check_header(output, results, lines)
    _check_tallies(output, results, lines)
    return tuple(results)


def _hpl_lines(output: Output) -> range:
    """Return the numbers of the lines of HPL's output: its section in a file of HPC Challenge, else all lines."""
    if not output.find(_HPCC):
        return range(1, len(output.lines) + 1)
    begin, end = (
        output.one(mark, f"the {name} of the HPL section (remove hpccoutf.txt before each run)")[0]
        for name, mark in _SECTION.items()
    )
    if begin >= end:
        raise output.error(end, "the end of the HPL section behind its beginning")
    return range(begin, end + 1)


def _result(
    output: Output, number: int, found: re.Match[str], residual_number: int, residual: re.Match[str]
) -> HplResult:
    n, nb, p, q = (
        output.positive_integer(number, name, token, unit)
        for (name, unit), token in zip(_SHAPE.items(), found.groups()[:4], strict=True)
    )
    gflops = output.positive(number, "Gflop/s", found[6], Unit.GFLOP_S)
    # The printed time is exact to half of its last digit; a shorter time is 0.00.
    half_digit_s = 0.5 * 10.0 ** -len(found[5].partition(".")[2])
    printed_s = float(found[5])
    value = output.positive(residual_number, "the scaled residual", residual[1], Unit.RESIDUAL)
    result = HplResult(n, nb, p, q, gflops, value, residual[2] == "PASSED")
    if not (printed_s - half_digit_s) * 0.999 <= result.time_s <= (printed_s + half_digit_s) * 1.001:
        raise output.error(number, f"Gflop/s that agrees with N={n} in {found[5]} s, found {gflops}")
    return result


def _check_header(output: Output, results: list[HplResult], lines: range) -> None:
    for number, asked in output.find(_ASKED, lines):
        if not {getattr(result, asked[1].lower()) for result in results} <= set(map(int, asked[2].split())):
            raise output.error(number, f"{asked[1]} of the results among those asked for")
    thresholds = output.find(_THRESHOLD, lines)
    number, threshold = (thresholds[0][0], float(thresholds[0][1][1])) if thresholds else (lines[-1], _USUAL_THRESHOLD)
    for result in results:
        # HPL prints the threshold with one decimal.
        if result.residual > threshold + 0.05 if result.passed else result.residual < threshold - 0.05:
            raise output.error(number, f"residuals below {threshold} to pass and no others, found {result.residual}")


def _check_tallies(output: Output, results: list[HplResult], lines: range) -> None:
    passed = sum(result.passed for result in results)
    counted = {"finished": len(results), "passed": passed, "failed": len(results) - passed, "skipped": 0}
    for name, pattern in _TALLIES.items():
        number, found = output.one(pattern, f"the tally of tests {name}", lines)
        if int(found[1]) != counted[name]:
            raise output.error(number, f"{counted[name]} tests {name}, as counted in the results")
    output.one(_END, "`End of Tests.`", lines)


@dataclass(frozen=True)
class HpccResult:
    """Figures of HPC Challenge; rates in 10^9 per second, updates in GUP/s.

    ``star``: mean over all processes, which work at the same time. In the ring, each process sends to another random
    process. Ring figures are ``None`` with one process.
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
_DECIMAL = r"([0-9]{1,15}\.[0-9]{1,9})"
# Figure -> the section that prints it, too; the line there; the summary's units in one unit of the line.
_IN_SECTION = {
    "MPIRandomAccess_GUPs": ("MPIRandomAccess", rf"{_DECIMAL} Billion\(10\^9\) Updates +per second \[GUP/s\]", 1),
    "MPIFFT_Gflops": ("MPIFFT", rf"Gflop/s: +{_DECIMAL}", 1),
    "StarSTREAM_Triad": ("StarSTREAM", rf"Average Triad GB/s {_DECIMAL}", 1),
    "RandomlyOrderedRingLatency_usec": ("LatencyBandwidth", rf"Randomly Ordered Ring Latency: +{_DECIMAL} msecs", 1e3),
    "RandomlyOrderedRingBandwidth_GBytes": (
        "LatencyBandwidth", rf"Randomly  Ordered Ring Bandwidth: +{_DECIMAL} MB/s", 1e-3
    ),
}  # fmt: skip
_SUMMARY_BEGIN, _SUMMARY_END = re.compile(r"Begin of Summary section\."), re.compile(r"End of Summary section\.")


def hpcc(text: str) -> HpccResult:
    """Parse the summary of HPC Challenge.

    :raises ParseError: the summary or a figure is missing or occurs twice; a figure is not above 0 or is more than any
        machine reaches; the program does not report success; or the file holds several runs, since HPCC appends.
    """
    output = Output.read("hpccoutf.txt", text)
    begin, end = (output.one(mark, mark.pattern.replace("\\", ""))[0] for mark in (_SUMMARY_BEGIN, _SUMMARY_END))
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

    def figure(key: str, unit: Unit) -> float:
        number, token = value(key, _NUMBER)
        figure = output.positive(number, key, token, unit)
        _require_in_section(output, key, figure)
        return figure

    value("Success", re.compile("1"))
    number, token = value("CommWorldProcs", _WHOLE)
    processes = output.positive_integer(number, "CommWorldProcs", token, Unit.RANKS)
    several = processes > 1
    return HpccResult(
        processes=processes,
        ptrans_gb_s=figure("PTRANS_GBs", Unit.GB_S),
        random_access_gup_s=figure("MPIRandomAccess_GUPs", Unit.GUP_S),
        fft_gflop_s=figure("MPIFFT_Gflops", Unit.GFLOP_S),
        star_stream_triad_gb_s=figure("StarSTREAM_Triad", Unit.GB_S),
        ring_latency_us=figure("RandomlyOrderedRingLatency_usec", Unit.OPERATION_US) if several else None,
        ring_bandwidth_gb_s=figure("RandomlyOrderedRingBandwidth_GBytes", Unit.GB_S) if several else None,
    )


def _require_in_section(output: Output, key: str, figure: float) -> None:
    """Require that the section of the figure, if the file has it, prints the same value in the unit that it always has.

    :raises ParseError: the line is missing or has another unit, or its value differs.
    """
    section, pattern, units = _IN_SECTION.get(key, ("", "", 1))
    begin, end = (output.find(re.compile(rf"{mark} of {section} section\.")) for mark in ("Begin", "End"))
    if not begin or not end:
        return
    number, line = output.one(re.compile(pattern), f"{key} as `{pattern}`", range(begin[0][0], end[0][0]))
    digit = units * 10.0 ** -len(line[1].partition(".")[2])
    if abs(float(line[1]) * units - figure) > digit + 1e-5 * figure:
        raise output.error(number, f"{key} of {figure:g}, as in the summary")
