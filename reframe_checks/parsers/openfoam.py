"""Logs of OpenFOAM's ``icoFoam`` in a plane, and what its profiling wrote (``uniform/profiling``)."""

import math
import re
from dataclasses import dataclass

from reframe_checks.parsers.text import GENERAL, INTEGER, Output, Quantity

_NUMBER = rf"(-?{GENERAL})"
_RANKS = re.compile(rf"nProcs : ({INTEGER})")
_TIME = re.compile(rf"Time = ({GENERAL})")
_COURANT = re.compile(rf"Courant Number mean: {GENERAL} max: ({GENERAL})")
_SOLVED = re.compile(
    rf"[A-Za-z]{{2,40}}:  Solving for (Ux|Uy|p), Initial residual = ({GENERAL}), Final residual = ({GENERAL}), "
    rf"No Iterations ({INTEGER})"
)
_CONTINUITY = re.compile(
    rf"time step continuity errors : sum local = ({GENERAL}), global = {_NUMBER}, cumulative = {_NUMBER}"
)
_CLOCK = re.compile(rf"ExecutionTime = {GENERAL} s  ClockTime = {INTEGER} s")
_END = re.compile(r"End")
_ERROR = re.compile(r"(?:\[[0-9]{1,9}\] )?--> FOAM FATAL .{1,200}")
# Residuals are relative to the fields; what is above is no flow.
_MOST_RESIDUAL, _MOST_COURANT = 1.0, 1e6

_TRIGGER = re.compile(r"    trigger[0-9]{1,6}")
_ENTRY = re.compile(
    rf'        (id|parentId|calls|totalTime|childTime|description) +({GENERAL}|"[^"]{{1,200}}");',
)
_LAST = re.compile(r"// \*{20,100} //")
_RUN = re.compile(r'"time\.run\(\) [^"]{1,180}"')
# That are printed of each time.
_DIGITS = 6


@dataclass(frozen=True)
class Step:
    """``residual``: of pressure and velocity when their last solution ended; ``continuity_error``: local, summed, after
    it; ``pressure_iterations``: of each of its solutions."""

    courant: float
    residual: float
    continuity_error: float
    pressure_iterations: tuple[int, ...]


@dataclass(frozen=True)
class Log:
    ranks: int
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class Profile:
    """``run_s``: wall-clock time of all steps."""

    steps: int
    run_s: float


def parse(text: str) -> Log:
    """
    :raises ParseError: OpenFOAM ended with an error or not at all; a line of a step is missing, twice or damaged; a
        residual above 1, a Courant number that no flow has.
    """
    output = Output.read("icoFoam log", text)
    for number, line in output.find(_ERROR):
        raise output.error(number, f"no error of OpenFOAM, which says: {line[0]}")
    number, ranks = output.one(_RANKS, "`nProcs : N`")
    end, _ = output.one(_END, "`End`")
    times = output.find(_TIME)
    if not times or times[-1][0] > end:
        raise output.missing("a step, `Time = T`, before `End`")
    starts = [number for number, _ in times]
    _require_even(output, times)
    blocks = zip(starts, [*starts[1:], end], strict=True)
    steps = tuple(_step(output, range(begin, after)) for begin, after in blocks)
    return Log(output.positive_integer(number, "ranks", ranks[1], Quantity.RANKS), steps)


def _require_even(output: Output, times: list[tuple[int, re.Match[str]]]) -> None:
    """Each step is as long as the first, to the digits that are printed."""
    first = output.positive(times[0][0], "time", times[0][1][1], Quantity.RUN_S)
    for place, (number, match) in enumerate(times, start=1):
        if abs(float(match[1]) - place * first) > 1e-6 * place * first:
            raise output.error(number, f"time {place * first:.10g}, of steps of {first:g} each")


def _step(output: Output, lines: range) -> Step:
    number, courant = output.one(_COURANT, "`Courant Number mean: C max: C` in each step", lines)
    output.one(_CLOCK, "`ExecutionTime = S s  ClockTime = S s` in each step", lines)
    solved = output.find(_SOLVED, lines)
    if [match[1] for _, match in solved] != ["Ux", "Uy", "p", "p"]:
        raise output.error(lines.start, "a step with solutions for Ux, Uy, p and p, in whole lines")
    residuals = [_bounded(output, at, "a residual", match[3], _MOST_RESIDUAL) for at, match in solved]
    for at, match in solved:
        # Of what needed no iteration the residual may be anything that was small enough.
        if float(match[3]) > float(match[2]):
            raise output.error(at, "a final residual that is not above the initial one")
    iterations = [int(_bounded(output, at, "iterations", match[4], Quantity.COUNT.ceiling)) for at, match in solved[2:]]
    errors = output.find(_CONTINUITY, lines)
    if len(errors) != 2:
        raise output.error(lines.start, "a step with two lines of continuity errors")
    at, last = errors[-1]
    local = _bounded(output, at, "a continuity error", last[1], _MOST_RESIDUAL)
    if abs(float(last[2])) > local:
        raise output.error(at, "a global error that is not above the sum of the local ones")
    worst = max(residuals[0], residuals[1], residuals[3])
    return Step(
        _bounded(output, number, "a Courant number", courant[1], _MOST_COURANT), worst, local, tuple(iterations)
    )


def _bounded(output: Output, number: int, what: str, token: str, most: float) -> float:
    value = float(token)
    if not value <= most:
        raise output.error(number, f"{what} of at most {most:g}, found {token[:40]}")
    return value


def parse_profiling(text: str) -> Profile:
    """
    :raises ParseError: the time of the run is missing or twice, or not what its parent says of its children.
    """
    output = Output.read("OpenFOAM's profiling", text)
    if not _LAST.fullmatch(output.lines[-1]) or "}" not in output.lines[-4:]:
        raise output.missing("the end of the dictionary, and a line of asterisks")
    triggers = [(number, _entries(output, number)) for number, _ in output.find(_TRIGGER)]
    runs = [(number, one) for number, one in triggers if _RUN.fullmatch(one["description"])]
    if len(runs) != 1:
        raise output.missing(f'one trigger "time.run() CASE", found {len(runs)}')
    number, run = runs[0]
    parents = [one for _, one in triggers if one["id"] == run.get("parentId")]
    if len(parents) != 1:
        raise output.error(number, "a parent of this trigger")
    parent_s = float(parents[0]["childTime"])
    children_s = [float(one["totalTime"]) for _, one in triggers if one.get("parentId") == run["parentId"]]
    if abs(sum(children_s) - parent_s) > 1.01 * sum(map(_rounding, [parent_s, *children_s])):
        raise output.error(number, f"{parent_s:g} s of all children of its parent, found {sum(children_s):g} s")
    run_s = output.positive(number, "time of the run", run["totalTime"], Quantity.RUN_S)
    if float(run["childTime"]) > run_s:
        raise output.error(number, "a time that is not below that of its children")
    return Profile(output.positive_integer(number, "steps", run["calls"], Quantity.COUNT), run_s)


def _rounding(time_s: float) -> float:
    """Half a unit of the last digit that is printed."""
    return 0.5 * 10.0 ** (math.floor(math.log10(time_s)) + 1 - _DIGITS) if 0 < time_s < math.inf else 0.0


def _entries(output: Output, number: int) -> dict[str, str]:
    """The entries of the trigger whose name is on line ``number``."""
    end = next((n for n in range(number, len(output.lines) + 1) if output.lines[n - 1] == "    }"), None)
    if end is None or output.lines[number] != "    {":
        raise output.error(number, "a trigger in braces")
    found: dict[str, str] = {}
    for at, entry in output.find(_ENTRY, range(number, end)):
        if entry[1] in found:
            raise output.error(at, f"{entry[1]} once only")
        found[entry[1]] = entry[2]
    for key in ("id", "calls", "totalTime", "childTime", "description"):
        if key not in found or (found[key].startswith('"') != (key == "description")):
            raise output.error(number, f"a trigger with {key}")
    if not found["id"].isdigit() or not found["calls"].isdigit():
        raise output.error(number, "whole numbers as id and calls")
    return found
