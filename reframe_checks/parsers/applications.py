"""Applications over ranks: LAMMPS, OpenFOAM's ``icoFoam``, and ``kappa-measure sparse-direct`` (MUMPS).

- Logs of LAMMPS in units of Lennard-Jones with rows ``step atoms temp pe ke etotal``, energies per atom in the format
  ``%.10f`` (``application/src/lammps/melt.in``).
- Logs of ``icoFoam`` in a plane, and what OpenFOAM's profiling wrote (``uniform/profiling``).
- One JSON object of ``kappa-measure sparse-direct``.
"""

import re
from collections import defaultdict
from dataclasses import dataclass
from typing import Annotated, Literal

from msgspec import Meta

from reframe_checks.parsers.json_reader import Number, OwnMeasurement, Positive, Text, require
from reframe_checks.parsers.text import GENERAL, INTEGER, Output, Unit

# Half a unit of the last of six digits, and what arithmetic adds to it; relative.
_SIX_DIGITS = 5.1e-6

# Ten decimals, or the name of a value that is no number.
_FIGURE = r"(-?[0-9]{1,40}\.[0-9]{10}|-?nan|-?inf)"
_ATOMS = re.compile(rf"Created ({INTEGER}) atoms")
_HEADING = re.compile(r" *Step +Atoms +Temp +PotEng +KinEng +TotEng *")
_ROW = re.compile(rf" *({INTEGER}) +({INTEGER}) +{_FIGURE} +{_FIGURE} +{_FIGURE} +{_FIGURE} *")
_LOOP = re.compile(rf"Loop time of ({GENERAL}) on ({INTEGER}) procs for ({INTEGER}) steps with ({INTEGER}) atoms")
# Newer versions print a third rate.
_SPEED = re.compile(r"Performance: [0-9.]{1,40} tau/day, ([0-9]{1,15}\.[0-9]{3}) timesteps/s(?:, .{1,60})?")
_DANGEROUS = re.compile(rf"Dangerous builds = ({INTEGER})")
_LAMMPS_END = re.compile(r"Total wall time: [0-9]{1,8}:[0-9]{2}:[0-9]{2}")
_LAMMPS_ERROR = re.compile(r"ERROR( on proc [0-9]{1,9})?: .{1,500}")
# Half a unit of the last decimal, and what a sum of doubles adds to it.
_ROUNDING = 0.6e-10
# Energies of an atom and temperatures, in units of the potential's depth: 10^6 times the critical temperature.
_CEILING = 1e6


@dataclass(frozen=True)
class ThermoRow:
    """A row of thermodynamic output, in reduced units (Lennard-Jones); ``total_energy_lj`` is per atom."""

    step: int
    temperature_lj: float
    total_energy_lj: float


@dataclass(frozen=True)
class LammpsRun:
    """One command ``run``.

    ``loop_s`` is its time in s, without the set-up. ``dangerous_builds`` is the number of neighbour lists that came too
    late for some atom.
    """

    ranks: int
    atoms: int
    steps: int
    loop_s: float
    dangerous_builds: int
    rows: tuple[ThermoRow, ...]

    @property
    def step_s(self) -> float:
        return self.loop_s / self.steps


def lammps(text: str) -> tuple[LammpsRun, ...]:
    """Parse the runs of a log, one after the other.

    :raises ParseError: LAMMPS ended with an error (atoms lost, no numbers); a run, a row or the end is missing; the
        number of atoms changes; energies, temperature, times and steps contradict each other.
    """
    output = Output.read("LAMMPS log", text)
    for number, line in output.find(_LAMMPS_ERROR):
        raise output.error(number, f"no error of LAMMPS, which says: {line[0]}")
    end, _ = output.one(_LAMMPS_END, "`Total wall time: H:MM:SS`")
    number, created = output.one(_ATOMS, "`Created N atoms`")
    atoms = output.positive_integer(number, "atoms", created[1], Unit.COUNT)
    headings = [number for number, _ in output.find(_HEADING)]
    if not headings:
        raise output.missing("the heading `Step Atoms Temp PotEng KinEng TotEng`")
    ends = [*headings[1:], end]
    runs = [_lammps_run(output, range(begin, end), atoms) for begin, end in zip(headings, ends, strict=True)]
    stray = [number for number, _ in [*output.find(_LOOP), *output.find(_ROW)] if number < headings[0] or number > end]
    if stray:
        raise output.error(stray[0], "no figures outside of a run")
    for begin, before, after in zip(headings[1:], runs, runs[1:], strict=False):
        if after.rows[0] != before.rows[-1]:
            raise output.error(begin + 1, "the row with which the run before ended")
        if after.ranks != before.ranks:
            raise output.error(begin, f"a run on {before.ranks} ranks as before, found one on {after.ranks}")
    if runs[0].rows[0].step != 0:
        raise output.error(headings[0] + 1, "the first run from step 0")
    return tuple(runs)


def _lammps_run(output: Output, lines: range, atoms: int) -> LammpsRun:
    at, loop = output.one(_LOOP, "`Loop time of S on P procs for N steps with M atoms` after each heading", lines)
    loop_s = output.positive(at, "loop time", loop[1], Unit.RUN_S)
    ranks = output.positive_integer(at, "ranks", loop[2], Unit.RANKS)
    steps = output.positive_integer(at, "steps", loop[3], Unit.COUNT)
    if int(loop[4]) != atoms:
        raise output.error(at, f"{atoms} atoms, as were created")
    number, speed = output.one(_SPEED, "`Performance: N tau/day, N timesteps/s` behind each run", lines)
    # Half a unit of the third decimal, besides the digits of the time.
    if abs(float(speed[1]) - steps / loop_s) > 0.00051 + _SIX_DIGITS * steps / loop_s:
        raise output.error(number, f"{steps / loop_s:.3f} timesteps/s, by the steps and the loop time")
    rows = [_thermo_row(output, number, atoms) for number in range(lines.start + 1, at)]
    if len(rows) < 2:
        raise output.error(at, "at least two rows of figures before it")
    if rows[-1].step - rows[0].step != steps:
        raise output.error(at, f"the steps of the rows before it, {rows[-1].step - rows[0].step}")
    every = rows[1].step - rows[0].step
    for number, before, row in zip(range(lines.start + 2, at), rows, rows[1:], strict=False):
        if row.step - before.step != every or every <= 0:
            raise output.error(number, f"steps that go up by the same number in each row, after {before.step}")
    number, builds = output.one(_DANGEROUS, "`Dangerous builds = N`: neigh_modify has to check", lines)
    dangerous = int(builds[1])
    if dangerous > steps:
        raise output.error(number, f"at most {steps} builds, one for each step")
    return LammpsRun(ranks, atoms, steps, loop_s, dangerous, tuple(rows))


def _thermo_row(output: Output, number: int, atoms: int) -> ThermoRow:
    row = _ROW.fullmatch(output.lines[number - 1])
    if not row:
        raise output.error(number, "a row of figures: step, atoms, temperature and three energies")
    if int(row[2]) != atoms:
        raise output.error(number, f"{atoms} atoms, as were created")
    temperature, potential, kinetic, total = (float(token) for token in row.groups()[2:])
    for value in (temperature, potential, kinetic, total):
        if not abs(value) <= _CEILING:
            raise output.error(number, f"energies and a temperature of at most {_CEILING:g}, found {value:g}")
    if abs(potential + kinetic - total) > 3 * _ROUNDING:
        raise output.error(number, "a total energy that is the sum of the potential and the kinetic one")
    return ThermoRow(int(row[1]), temperature, total)


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
_FOAM_END = re.compile(r"End")
_FOAM_ERROR = re.compile(r"(?:\[[0-9]{1,9}\] )?--> FOAM FATAL .{1,200}")
# Residuals are relative to the fields; a larger one is no flow.
_MOST_RESIDUAL, _MOST_COURANT = 1.0, 1e6

_TRIGGER = re.compile(r"    trigger([0-9]{1,6})")
_ENTRY = re.compile(
    rf'        (id|parentId|calls|totalTime|childTime|description) +({GENERAL}|"[^"]{{1,200}}");',
)
_LAST = re.compile(r"// \*{20,100} //")
_RUN = re.compile(r'"time\.run\(\) [^"]{1,180}"')


@dataclass(frozen=True)
class FoamStep:
    """A time step.

    ``residuals``: final residuals of velocity and pressure, for the last solution of each. ``continuity_error``: sum of
    the local errors after it. ``pressure_iterations``: iterations of each pressure solution.
    """

    courant: float
    residuals: tuple[float, ...]
    continuity_error: float
    pressure_iterations: tuple[int, ...]

    @property
    def residual(self) -> float:
        return max(self.residuals)


@dataclass(frozen=True)
class FoamLog:
    ranks: int
    steps: tuple[FoamStep, ...]


@dataclass(frozen=True)
class FoamProfile:
    """A profile; ``run_s`` is the wall-clock time of all steps, s."""

    steps: int
    run_s: float


def openfoam(text: str) -> FoamLog:
    """Parse a log of ``icoFoam``.

    :raises ParseError: OpenFOAM ended with an error or not at all; a line of a step is missing, twice or damaged; a
        residual above 1, a Courant number that no flow has; continuity errors that do not add up.
    """
    output = Output.read("icoFoam log", text)
    for number, line in output.find(_FOAM_ERROR):
        raise output.error(number, f"no error of OpenFOAM, which says: {line[0]}")
    number, ranks = output.one(_RANKS, "`nProcs : N`")
    end, _ = output.one(_FOAM_END, "`End`")
    times = output.find(_TIME)
    if not times or times[-1][0] > end:
        raise output.missing("a step, `Time = T`, before `End`")
    starts = [number for number, _ in times]
    first_s = output.positive(starts[0], "time", times[0][1][1], Unit.RUN_S)
    for place, (at, match) in enumerate(times, start=1):
        if abs(float(match[1]) - place * first_s) > 1e-6 * place * first_s:
            raise output.error(at, f"time {place * first_s:.10g}, of steps of {first_s:g} each")
    _check_cumulative(output, range(starts[0], end))
    blocks = zip(starts, [*starts[1:], end], strict=True)
    steps = tuple(_foam_step(output, range(begin, after)) for begin, after in blocks)
    return FoamLog(output.positive_integer(number, "ranks", ranks[1], Unit.RANKS), steps)


def _foam_step(output: Output, lines: range) -> FoamStep:
    number, courant = output.one(_COURANT, "`Courant Number mean: C max: C` in each step", lines)
    output.one(_CLOCK, "`ExecutionTime = S s  ClockTime = S s` in each step", lines)
    solved = output.find(_SOLVED, lines)
    if [match[1] for _, match in solved] != ["Ux", "Uy", "p", "p"]:
        raise output.error(lines.start, "a step with solutions for Ux, Uy, p and p, in whole lines")
    residuals = [_bounded(output, at, "a residual", match[3], _MOST_RESIDUAL) for at, match in solved]
    for at, match in solved:
        # A field that needed no iteration may have any residual that was small enough.
        if float(match[3]) > float(match[2]):
            raise output.error(at, "a final residual that is not above the initial one")
    iterations = [int(_bounded(output, at, "iterations", match[4], Unit.COUNT.ceiling)) for at, match in solved[2:]]
    errors = output.find(_CONTINUITY, lines)
    if len(errors) != 2:
        raise output.error(lines.start, "a step with two lines of continuity errors")
    at, last = errors[-1]
    local = _bounded(output, at, "a continuity error", last[1], _MOST_RESIDUAL)
    if abs(float(last[2])) > local:
        raise output.error(at, "a global error that is not above the sum of the local ones")
    of_step = _bounded(output, number, "a Courant number", courant[1], _MOST_COURANT)
    return FoamStep(of_step, (*residuals[:2], residuals[3]), local, tuple(iterations))


def _check_cumulative(output: Output, lines: range) -> None:
    """Check that each cumulative error is the sum of the one before and the global error; this finds lost lines."""
    before = 0.0
    for number, errors in output.find(_CONTINUITY, lines):
        added, cumulative = float(errors[2]), float(errors[3])
        if not abs(before + added - cumulative) <= _SIX_DIGITS * (abs(before) + abs(added) + abs(cumulative)):
            raise output.error(number, f"a cumulative error of {before + added:g}, with the one before")
        before = cumulative


def _bounded(output: Output, number: int, what: str, token: str, most: float) -> float:
    value = float(token)
    if not value <= most:
        raise output.error(number, f"{what} of at most {most:g}, found {token[:40]}")
    return value


def openfoam_profiling(text: str) -> FoamProfile:
    """Parse OpenFOAM's profile.

    :raises ParseError: the time of the run is missing or twice, or shorter than its parts; a trigger under the name of
        another; a time that is not the sum of its parts.
    """
    output = Output.read("OpenFOAM's profiling", text)
    if not _LAST.fullmatch(output.lines[-1]) or "}" not in output.lines[-4:]:
        raise output.missing("the end of the dictionary, and a line of asterisks")
    triggers = [(number, _entries(output, number, name[1])) for number, name in output.find(_TRIGGER)]
    _check_child_times(output, triggers)
    runs = [(number, one) for number, one in triggers if _RUN.fullmatch(one["description"])]
    if len(runs) != 1:
        raise output.missing(f'one trigger "time.run() CASE", found {len(runs)}')
    number, run = runs[0]
    run_s = output.positive(number, "time of the run", run["totalTime"], Unit.RUN_S)
    if float(run["childTime"]) > run_s:
        raise output.error(number, "a time that is not below its children's time")
    return FoamProfile(output.positive_integer(number, "steps", run["calls"], Unit.COUNT), run_s)


def _check_child_times(output: Output, triggers: list[tuple[int, dict[str, str]]]) -> None:
    sums: dict[str, float] = defaultdict(float)
    for _, one in triggers:
        sums[one.get("parentId", "")] += float(one["totalTime"])
    for number, one in triggers:
        told, summed = float(one["childTime"]), sums[one["id"]]
        if not abs(told - summed) <= _SIX_DIGITS * (told + summed):
            raise output.error(number, f"a childTime of {summed:g}, the times of its children together")


def _entries(output: Output, number: int, name: str) -> dict[str, str]:
    """Return the entries of the trigger ``name``, whose name is on line ``number``."""
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
    if found["id"] != name or not found["calls"].isdigit():
        raise output.error(number, f"{name} as id, and a whole number as calls")
    return found


Nanoseconds = Annotated[int, Meta(ge=1, le=int(Unit.COUNT.ceiling))]


class SparseDirectResult(OwnMeasurement, frozen=True):
    """The result of ``kappa-measure sparse-direct``.

    ``factor_ns`` and ``solve_ns``: times of the slowest rank in each step. ``backward_error``: the largest of all
    steps, relative. ``error``: the error of the solution, whose values are 1 to 2.
    """

    subcommand: Literal["sparse-direct"]
    solver: Text
    edge: Annotated[int, Meta(ge=2, le=10**6)]
    unknowns: Positive
    steps: Positive
    factor_ns: tuple[Nanoseconds, ...]
    solve_ns: tuple[Nanoseconds, ...]
    total_ns: Nanoseconds
    factor_entries: Number
    factor_flop: Number
    backward_error: Number
    error: Number

    def __post_init__(self) -> None:
        unknowns = self.edge**3
        require(self.unknowns == unknowns, "unknowns: edge^3")
        times = {len(self.factor_ns), len(self.solve_ns)}
        require(times == {self.steps}, f"factor_ns, solve_ns: times of {self.steps} factorisations, and of solutions")
        total = sum(self.factor_ns) + sum(self.solve_ns)
        require(self.total_ns == total, "total_ns: the sum of the times of factorisations and solutions")
        possible = unknowns <= self.factor_entries <= 2 * unknowns**2 and unknowns <= self.factor_flop <= unknowns**3
        require(possible, "factor_entries, factor_flop: no more entries and operations than full factors have")

    @property
    def step_s(self) -> float:
        return 1e-9 * self.total_ns / self.steps
