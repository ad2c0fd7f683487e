"""Parse the output files of ``io500``: ``result.txt``, and ``result_summary.txt``, which it also prints.

The score is the square root of bandwidth times rate: the geometric means of IOR's four phases in GiB/s, and of the
eight phases of mdtest and find in thousands per second. ``result.txt`` ends with a checksum.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reframe_checks.parsers.text import INTEGER, Output, Unit

#: IO500's rules: stonewall and minimum time of every write phase, s.
STONEWALL_S = 300
#: Phases with a score, in io500's order.
PHASES = (
    "ior-easy-write", "mdtest-easy-write", "ior-hard-write", "mdtest-hard-write", "find", "ior-easy-read",
    "mdtest-easy-stat", "ior-hard-read", "mdtest-hard-stat", "mdtest-easy-delete", "mdtest-hard-read",
    "mdtest-hard-delete",
)  # fmt: skip
WRITES = tuple(name for name in PHASES if name.endswith("-write"))

_SCORE = r"([0-9]{1,12}\.[0-9]{6})"
_MARK = r"(?: {1,2}(\[INVALID\]))?"
_PAIR = re.compile(r"([\w-]{1,40}) *= (.*)")
_SECTION = re.compile(r"\[([\w-]{1,40})\]")
_MARKED_SCORE = re.compile(_SCORE + _MARK)
_SECONDS = re.compile(r"[0-9]{1,9}\.[0-9]{4}")
_RESULT = re.compile(
    rf"\[RESULT\] +([\w-]{{1,40}}) +{_SCORE} (GiB/s|kIOPS) +: time ([0-9]{{1,9}}\.[0-9]{{3}}) seconds ?{_MARK}"
)
_TOTAL = re.compile(rf"\[SCORE ?\] Bandwidth {_SCORE} GiB/s +: IOPS {_SCORE} kiops +: TOTAL {_SCORE} ?{_MARK}")


@dataclass(frozen=True)
class Phase:
    """A phase; ``score`` in GiB/s for IOR's phases, else in thousands per second."""

    score: float
    seconds: float


@dataclass(frozen=True)
class Io500Result:
    """A run; ``invalid``: io500 marks the run as invalid, for a phase or for another reason."""

    #: The summary lacks the version and the number of ranks, ``procs``.
    version: str
    procs: int
    phases: dict[str, Phase]
    bandwidth_gib_s: float
    rate_k_s: float
    total: float
    invalid: bool

    def broken_rules(self) -> list[str]:
        """Return the rules that the result breaks, independently of io500's own mark."""
        short = [
            f"{name} {self.phases[name].seconds:.1f} s of {STONEWALL_S} s"
            for name in WRITES
            if self.phases[name].seconds < STONEWALL_S
        ]
        return short or ["io500 says so"] * self.invalid


def parse(text: str) -> Io500Result:
    """Parse ``result.txt``.

    :raises ParseError: a phase is missing or occurs twice, or the checksum is wrong.
    """
    output = Output.read("IO500's result.txt", text)
    sections = _sections(output)
    numbers = {name: number for name, (number, _) in sections.items()}

    def value(section: str, key: str) -> str:
        number, pairs = sections.get(section, (len(output.lines), {}))
        if key not in pairs:
            raise output.error(min(number + 1, len(output.lines)), f"`{key} = VALUE` in [{section}]")
        return pairs[key]

    phases = {}
    for name in PHASES:
        score, seconds = value(name, "score"), value(name, "t_delta")
        if not re.fullmatch(_SCORE, score) or not _SECONDS.fullmatch(seconds):
            raise output.error(numbers[name], f"score with six and t_delta with four decimals in [{name}]")
        phases[name] = _phase(output, numbers[name], name, score, seconds)
    marked = _MARKED_SCORE.fullmatch(value("SCORE", "SCORE"))
    if not marked:
        raise output.error(numbers["SCORE"], "`SCORE = NUMBER`, with [INVALID] or without")
    version, means = value("run", "version"), [value("SCORE", key) for key in ("BW", "MD")]
    if not all(re.fullmatch(_SCORE, mean) for mean in means):
        raise output.error(numbers["SCORE"], "BW and MD with six decimals")
    procs = value("run", "procs")
    if not re.fullmatch(INTEGER, procs):
        raise output.error(numbers["run"], "`procs = NUMBER` in [run]")
    ranks = output.positive_integer(numbers["run"], "procs", procs, Unit.RANKS)
    scores = _scores(output, numbers["SCORE"], [*means, marked[1]])
    result = Io500Result(version, ranks, phases, *scores, bool(marked[2]))
    hashed = {name: sections[name][1]["score"] for name in PHASES}
    hashed |= {"version": version, "BW": means[0], "MD": means[1], "SCORE": marked[1]}
    if value("SCORE", "hash") != checksum(hashed | ({"valid": "NO"} if result.invalid else {})):
        raise output.error(numbers["SCORE"], "the checksum of version, scores and validity: one was changed")
    return result


def parse_summary(text: str) -> Io500Result:
    """Parse ``result_summary.txt``, or io500's output with the same lines.

    :raises ParseError: a phase is missing, occurs twice or has another unit.
    """
    output = Output.read("IO500's summary", text)
    phases: dict[str, Phase] = {}
    marked = False
    for number, result in output.find(_RESULT):
        name, score, unit, seconds, mark = result.groups()
        if name not in PHASES or name in phases or (unit == "GiB/s") != name.startswith("ior"):
            raise output.error(number, "each phase once, in its unit")
        phases[name] = _phase(output, number, name, score, seconds)
        marked |= bool(mark)
    number, total = output.one(_TOTAL, "`[SCORE ] Bandwidth N GiB/s : IOPS N kiops : TOTAL N`")
    missing = [name for name in PHASES if name not in phases]
    if missing:
        raise output.error(number, f"`[RESULT] {missing[0]} …` before")
    if marked and not total[4]:
        raise output.error(number, "[INVALID] behind the total, as behind a phase")
    return Io500Result("", 0, phases, *_scores(output, number, total.groups()[:3]), bool(total[4]))


def checksum(pairs: Mapping[str, str]) -> str:
    """Return io500's checksum (``u_hash_update_key_val``) over each key and its value, in any order."""
    combined = 0
    for key, value in pairs.items():
        one = 0
        for char in key + value:
            one = ((one << 2 | one >> 30) + ord(char)) & 0xFFFFFFFF
        combined ^= one
    return f"{combined:X}"


def _sections(output: Output) -> dict[str, tuple[int, dict[str, str]]]:
    """Return line and pairs of each section."""
    sections: dict[str, tuple[int, dict[str, str]]] = {}
    pairs: dict[str, str] = {}
    for number, line in enumerate(output.lines, start=1):
        section, pair = _SECTION.fullmatch(line), _PAIR.fullmatch(line)
        if section:
            if section[1] in sections:
                raise output.error(number, f"[{section[1]}] once")
            pairs = {}
            sections[section[1]] = (number, pairs)
        elif pair:
            if pair[1] in pairs:
                raise output.error(number, f"`{pair[1]}` once in its section")
            pairs[pair[1]] = pair[2].strip()
        elif line and not line.startswith(";"):
            raise output.error(number, "`[SECTION]`, `KEY = VALUE` or a comment")
    return sections


def _phase(output: Output, number: int, name: str, score: str, seconds: str) -> Phase:
    unit = Unit.GB_S if name.startswith("ior") else Unit.IO_S
    return Phase(
        output.positive(number, f"score of {name}", score, unit),
        output.positive(number, f"time of {name}", seconds, Unit.RUN_S),
    )


def _scores(output: Output, number: int, tokens: Sequence[str]) -> tuple[float, float, float]:
    """Return bandwidth in GiB/s, rate in thousands per second, and the total, the root of their product."""
    bandwidth = output.positive(number, "bandwidth", tokens[0], Unit.GB_S)
    rate, total = output.positive(number, "IOPS", tokens[1], Unit.IO_S), float(tokens[2])
    if not math.isclose(total, math.sqrt(bandwidth * rate), rel_tol=1e-5):
        raise output.error(number, f"a total of {math.sqrt(bandwidth * rate):.6f}, by bandwidth and IOPS")
    return bandwidth, rate, total


def same_run(result: Io500Result, summary: Io500Result) -> bool:
    """Check that ``result.txt`` and the summary are from the same run; the summary's times have one decimal less."""
    return (result.total, result.invalid) == (summary.total, summary.invalid) and all(
        phase.score == summary.phases[name].score and abs(phase.seconds - summary.phases[name].seconds) < 0.0006
        for name, phase in result.phases.items()
    )
