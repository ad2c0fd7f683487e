"""Logs of LAMMPS in units of Lennard-Jones with rows ``step atoms temp pe ke etotal``, energies per atom in the format
``%.10f`` (``application/src/lammps/melt.in``)."""

import math
import re
from dataclasses import dataclass

from reframe_checks.parsers.text import GENERAL, INTEGER, Output, Quantity

# Ten decimals, or what is no number by name.
_FIGURE = r"(-?[0-9]{1,40}\.[0-9]{10}|-?nan|-?inf)"
_CREATED = re.compile(rf"Created ({INTEGER}) atoms")
_HEADING = re.compile(r" *Step +Atoms +Temp +PotEng +KinEng +TotEng *")
_ROW = re.compile(rf" *({INTEGER}) +({INTEGER}) +{_FIGURE} +{_FIGURE} +{_FIGURE} +{_FIGURE} *")
_LOOP = re.compile(rf"Loop time of ({GENERAL}) on ({INTEGER}) procs for ({INTEGER}) steps with ({INTEGER}) atoms")
_RATE = re.compile(
    r"Performance: [0-9]{1,15}\.[0-9]{3} tau/day, ([0-9]{1,15}\.[0-9]{3}) timesteps/s"
    r"(?:, [0-9.]{1,20} [kMG]?atom-step/s)?"
)
_DANGEROUS = re.compile(rf"Dangerous builds = ({INTEGER})")
_END = re.compile(r"Total wall time: [0-9]{1,8}:[0-9]{2}:[0-9]{2}")
_ERROR = re.compile(r"ERROR( on proc [0-9]{1,9})?: .{1,500}")
# Half a unit of the last decimal, and what a sum of doubles adds to it.
_ROUNDING = 0.6e-10
# Of "Loop time", %g.
_LOOP_DIGITS = 6
# Energies of an atom and temperatures, in units of the potential's depth: 10^6 times the critical temperature.
_CEILING = 1e6


@dataclass(frozen=True)
class Row:
    """Reduced units (Lennard-Jones); ``total_energy_lj`` is per atom."""

    step: int
    temperature_lj: float
    total_energy_lj: float


@dataclass(frozen=True)
class LammpsRun:
    """One command ``run``: ``loop_s`` is its time in s without what LAMMPS sets up; ``dangerous_builds`` of neighbour
    lists came too late for some atom."""

    ranks: int
    atoms: int
    steps: int
    loop_s: float
    dangerous_builds: int
    rows: tuple[Row, ...]

    @property
    def step_s(self) -> float:
        return self.loop_s / self.steps


def parse(text: str) -> tuple[LammpsRun, ...]:
    """The runs, one after the other.

    :raises ParseError: LAMMPS ended with an error (atoms lost, no numbers); a run, a row or the end is missing; the
        number of atoms changes; energies, temperature, times and steps contradict each other.
    """
    output = Output.read("LAMMPS log", text)
    for number, line in output.find(_ERROR):
        raise output.error(number, f"no error of LAMMPS, which says: {line[0]}")
    end, _ = output.one(_END, "`Total wall time: H:MM:SS`")
    number, created = output.one(_CREATED, "`Created N atoms`")
    atoms = output.positive_integer(number, "atoms", created[1], Quantity.COUNT)
    headings = [number for number, _ in output.find(_HEADING)]
    if not headings:
        raise output.missing("the heading `Step Atoms Temp PotEng KinEng TotEng`")
    ends = [*headings[1:], end]
    runs = [_run(output, range(begin, end), atoms) for begin, end in zip(headings, ends, strict=True)]
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


def _run(output: Output, lines: range, atoms: int) -> LammpsRun:
    at, loop = output.one(_LOOP, "`Loop time of S on P procs for N steps with M atoms` after each heading", lines)
    loop_s = output.positive(at, "loop time", loop[1], Quantity.RUN_S)
    ranks = output.positive_integer(at, "ranks", loop[2], Quantity.RANKS)
    steps = output.positive_integer(at, "steps", loop[3], Quantity.COUNT)
    if int(loop[4]) != atoms:
        raise output.error(at, f"{atoms} atoms, as were created")
    number, rate = output.one(_RATE, "`Performance: F tau/day, F timesteps/s`", lines)
    _require_rate(output, number, float(rate[1]), steps, loop_s)
    rows = [_row(output, number, atoms) for number in range(lines.start + 1, at)]
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


def _require_rate(output: Output, number: int, steps_per_s: float, steps: int, loop_s: float) -> None:
    """Both are of the same time, which is printed with six digits, and this rate with three decimals."""
    rounding_s = 0.5 * 10.0 ** (math.floor(math.log10(loop_s)) + 1 - _LOOP_DIGITS)
    slowest, fastest = steps / (loop_s + rounding_s), steps / (loop_s - rounding_s)
    if not slowest - 0.00051 <= steps_per_s <= fastest + 0.00051:
        raise output.error(number, f"{steps / loop_s:.6g} timesteps/s, which is what the loop time says")


def _row(output: Output, number: int, atoms: int) -> Row:
    row = _ROW.fullmatch(output.lines[number - 1])
    if not row:
        raise output.error(number, "a row of figures: step, atoms, temperature and three energies")
    if int(row[2]) != atoms:
        raise output.error(number, f"{atoms} atoms, as were created")
    temperature, potential, kinetic, total = (float(token) for token in row.groups()[2:])
    for value in (temperature, potential, kinetic, total):
        if not abs(value) <= _CEILING:
            raise output.error(number, f"energies and a temperature of at most {_CEILING:g}, found {value:g}")
    # Three degrees of freedom for each atom, less those of the centre of mass (compute temp of LAMMPS' manual).
    if abs(kinetic - 1.5 * temperature * (1 - 1 / atoms)) > 2.5 * _ROUNDING:
        raise output.error(number, "the kinetic energy that its temperature means, 3/2 T (1 - 1/N)")
    if abs(potential + kinetic - total) > 3 * _ROUNDING:
        raise output.error(number, "a total energy that is the sum of the potential and the kinetic one")
    return Row(int(row[1]), temperature, total)
