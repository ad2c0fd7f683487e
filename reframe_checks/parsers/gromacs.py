"""Parse the log of GROMACS's ``mdrun`` with MPI (2022.5 recorded), at constant energy, counters reset at half-time."""

import re
from dataclasses import dataclass

from reframe_checks.parsers.text import GENERAL, INTEGER, Output, Unit

_ERROR = re.compile(r"(?:Fatal error|Inconsistency in user input|Error in user input|Software inconsistency error):")
_DT = re.compile(rf"   dt +=  ?({GENERAL})")
_ASKED = re.compile(rf"   nsteps += ({INTEGER})")
_STARTED = re.compile(rf"Using ({INTEGER}) MPI process(?:es)?")
_RANKS = re.compile(rf"On ({INTEGER}) MPI ranks?")
_ATOMS = re.compile(rf"There are: ({INTEGER}) Atoms")
_LENGTH = re.compile(rf"Energy conservation over simulation part #1 of length ({GENERAL}) ps, time 0 to {GENERAL} ps")
_DRIFT = re.compile(r"  Conserved energy drift: (-?[0-9]\.[0-9]{2}e[+-][0-9]{2}) kJ/mol/ps per atom")
_AVERAGES = re.compile(rf"\tStatistics over ({INTEGER}) steps using {INTEGER} frames")
_ENERGIES = re.compile(r"   Energies \(kJ/mol\)")
# Column width of the names and of the figures below them.
_WIDTH = 15
_FIGURES = re.compile(r"(?: {3}[ -][0-9]\.[0-9]{5}e[+-][0-9]{2}){1,9}")
# Relative: half a unit of the last of six digits, plus the error of single precision.
_ROUNDING = 6e-6
_PERFORMANCE = re.compile(rf"Performance: +({GENERAL}) +({GENERAL})")
_END = re.compile(r"Finished mdrun on rank 0 .{1,100}")


@dataclass(frozen=True)
class GromacsRun:
    """A run; ``step_s``: timed steps only; ``energy_kj_mol``: mean, of all atoms; ``drift_kj_mol_ps``: per atom."""

    ranks: int
    atoms: int
    steps: int
    step_s: float
    energy_kj_mol: float
    drift_kj_mol_ps: float


def parse(text: str) -> GromacsRun:
    """Parse the log.

    :raises ParseError: GROMACS ended with an error or did not end; a figure is missing, occurs twice or is no number;
        the total energy is not the sum of potential and kinetic energy.
    """
    output = Output.read("mdrun log", text)
    for number, line in output.find(_ERROR):
        raise output.error(number, f"no error of GROMACS, which says: {line[0]}")
    output.one(_END, "`Finished mdrun on rank 0`")
    at, dt = output.one(_DT, "`dt = PS`")
    dt_ps = output.positive(at, "step", dt[1], Unit.COUNT)
    at, ranks = output.one(_RANKS, "`On N MPI ranks`")
    number_of_ranks = output.positive_integer(at, "ranks", ranks[1], Unit.RANKS)
    at, started = output.one(_STARTED, "`Using N MPI processes`")
    if int(started[1]) != number_of_ranks:
        raise output.error(at, f"{number_of_ranks} processes, as many as ranks had times")
    at, atoms = output.one(_ATOMS, "`There are: N Atoms`")
    number_of_atoms = output.positive_integer(at, "atoms", atoms[1], Unit.COUNT)
    _, drift = output.one(_DRIFT, "`Conserved energy drift: E kJ/mol/ps per atom`: neither thermostat nor barostat")
    begin, averages = output.one(_AVERAGES, "`Statistics over N steps using M frames`")
    steps = output.positive_integer(begin, "steps", averages[1], Unit.COUNT) - 1
    at, asked = output.one(_ASKED, "`nsteps = N`")
    if int(asked[1]) != steps:
        raise output.error(at, f"{steps} steps, as the averages have")
    at, length = output.one(_LENGTH, "`Energy conservation over simulation part #1 of length PS ps`")
    if not abs(float(length[1]) - steps * dt_ps) <= _ROUNDING * steps * dt_ps:
        raise output.error(at, f"a length of {steps * dt_ps:g} ps, by the steps")
    energy_kj_mol = _total_energy(output, range(begin, len(output.lines) + 1))
    at, performance = output.one(_PERFORMANCE, "`Performance: NS/DAY HOURS/NS`")
    ns_day = output.positive(at, "performance", performance[1], Unit.COUNT)
    hours_ns = output.positive(at, "hours for a ns", performance[2], Unit.RUN_S)
    # Both figures have three decimals: half a unit of the last one of each.
    if abs(ns_day * hours_ns - 24) > 0.0006 * (ns_day + hours_ns):
        raise output.error(at, f"{24 / ns_day:.3f} hours for a ns, as of {ns_day:g} ns a day")
    step_s = 86400 * dt_ps / (1000 * ns_day)
    return GromacsRun(number_of_ranks, number_of_atoms, steps, step_s, energy_kj_mol, float(drift[1]))


def _total_energy(output: Output, lines: range) -> float:
    """Return the total energy from the averages: rows of names above rows of figures, up to a blank line."""
    heading, _ = output.one(_ENERGIES, "`Energies (kJ/mol)` of the averages", lines)
    found: dict[str, float] = {}
    for number in range(heading + 1, len(output.lines), 2):
        names, figures = output.lines[number - 1 : number + 1]
        if not names:
            break
        if not _FIGURES.fullmatch(figures) or len(names) != len(figures):
            raise output.error(number + 1, "figures in whole columns, one below each name")
        for begin in range(0, len(names), _WIDTH):
            found[names[begin : begin + _WIDTH].strip()] = float(figures[begin : begin + _WIDTH])
    try:
        total, parts = found["Total Energy"], (found["Potential"], found["Kinetic En."])
    except KeyError as err:
        raise output.error(heading, f"{err} among the averages") from None
    if abs(total - sum(parts)) > _ROUNDING * (abs(total) + sum(map(abs, parts))):
        raise output.error(heading, f"a total energy of {sum(parts):g}, the sum of the potential and the kinetic one")
    return total
