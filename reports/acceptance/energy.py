"""Compute the energy of a case's job, from Slurm's accounting or from the readings of its nodes' meters."""

import bisect
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from kappa.core.sites.energy_clause import Energy

from kappa.core.ground import node_lists
from kappa.core.ground.clean_text import one_line
from kappa.core.ground.figures import duration, figure
from kappa.core.record.model import Case
from reports.acceptance.energy_readings import BMC, RAPL, SENSOR, Meter, Meters, Reading

_T = TypeVar("_T")
_J_PER_KWH = 3.6e6
_PROCESSORS_ONLY = "acct_gather_energy/rapl"
# An energy that is less than this many of a meter's steps is not known to 1 %.
_LEAST_STEPS = 100
# (time in s since 1970, value): of a counter the energy since the first in J, of a meter of power W.
_Points = list[tuple[float, float]]


class EnergyUnknownError(Exception):
    """The energy of a job is not known; the message says why."""


@dataclass(frozen=True)
class JobEnergy:
    """The energy of a job that took ``seconds``; ``source`` names what measured it.

    It is at least ``low_j`` and at most ``high_j`` by the readings around the job's start and end. Both are equal to
    ``joules`` where the source has no such readings.
    """

    joules: float
    low_j: float
    high_j: float
    seconds: float
    source: str

    @property
    def watts(self) -> float:
        """The mean power."""
        return self.joules / self.seconds


def job_energy(case: Case, terms: Energy, meters: Meters) -> JobEnergy:
    """Return the energy of a case's job.

    :raises EnergyUnknownError: it is not known.
    :raises InputError: a recorded reading is not valid.
    """
    if not case.job_s:
        raise EnergyUnknownError("Slurm's accounting did not record how long the job ran")
    if terms.source == "slurm":
        return _by_slurm(case, terms, case.job_s)
    if case.ended_s is None:
        raise EnergyUnknownError("Slurm did not record when the job ended")
    kinds = (RAPL,) if terms.source == "rapl" else (SENSOR, BMC)
    chosen = _of_nodes([meter for meter in meters.all if meter.kind in kinds], case.nodes)
    start, end = case.ended_s - case.job_s, case.ended_s
    parts = [_of_meter(meter, start, end, terms) for meter in chosen]
    for meter, part in zip(chosen, parts, strict=True):
        if not part[0]:
            raise EnergyUnknownError(f"{meter.name}: its readings show no energy at all")
    joules, low_j, high_j = (sum(column) for column in zip(*parts, strict=True))
    names = ", ".join(meter.name for meter in chosen[:8]) + (f" and {len(chosen) - 8} more" if len(chosen) > 8 else "")
    return JobEnergy(joules, low_j, high_j, case.job_s, f"{terms.source}: {names}")


def _by_slurm(case: Case, terms: Energy, seconds: float) -> JobEnergy:
    if case.energy_j is None:
        raise EnergyUnknownError("Slurm's accounting has no energy of the job (AcctGatherEnergyType)")
    if case.provenance.other_jobs:
        jobs = one_line(case.provenance.other_jobs, 100)
        raise EnergyUnknownError(f"other jobs ran on the nodes, so Slurm's energy is not the job's own: {jobs}")
    plugin = one_line(case.energy_by, 80)
    if not plugin:
        raise EnergyUnknownError("the record does not say which plug-in of Slurm measured the energy")
    if (plugin == _PROCESSORS_ONLY) == bool(terms.level):
        expected = "no level, because it measures processors only" if terms.level else "a level in the contract"
        raise EnergyUnknownError(f"Slurm's plug-in {plugin} measured the energy: expected {expected}")
    return JobEnergy(case.energy_j, case.energy_j, case.energy_j, seconds, plugin)


def _of_nodes(meters: Sequence[Meter], nodes: Sequence[str]) -> list[Meter]:
    """Return the meters that together measure the job's nodes and no other ones, each node once."""
    job = frozenset(nodes)
    chosen = [meter for meter in meters if not job.isdisjoint(meter.nodes)]
    for meter in chosen:
        others = node_lists.folded(set(meter.nodes) - job)
        if others:
            raise EnergyUnknownError(f"{meter.name} also measures {others}, which the job did not use")
    missing = job.difference(*(meter.nodes for meter in chosen))
    if missing or not job:
        raise EnergyUnknownError(f"no readings of {node_lists.folded(missing) or 'any node'}")
    by_node: dict[str, list[Meter]] = {}
    for meter in chosen:
        for node in meter.nodes:
            by_node.setdefault(node, []).append(meter)
    for node, several in by_node.items():
        # Two PDUs may feed the two power supplies of a node; any other two meters measure the same.
        if len(several) > 1 and {meter.kind for meter in several} != {SENSOR}:
            names = " and ".join(meter.name for meter in several)
            raise EnergyUnknownError(f"{names} both measure {node}, so its energy would count twice")
    return chosen


def _of_meter(meter: Meter, start: float, end: float, terms: Energy) -> tuple[float, float, float]:
    """Return energy, least and most energy between two times, in J."""
    if meter.kind == RAPL:
        window = _window(meter.name, meter.readings, lambda one: one.time, start, end, terms.gap_s)
        return _between(_rapl(meter.name, window, terms.package_w), start, end)
    counted = [one for one in meter.readings if one.energy_kwh is not None]
    powers = [(one.time, one.power_w) for one in meter.readings if one.power_w is not None]
    if counted:
        window = _window(meter.name, counted, lambda one: one.time, start, end, terms.gap_s)
        points, step_j = _kilowatt_hours(meter.name, window)
        joules, low_j, high_j = _between(points, start, end)
        if joules >= _LEAST_STEPS * step_j:
            return joules, max(0.0, low_j - step_j), high_j + step_j
        if not powers:
            steps = f"EnergykWh counts in steps of {figure(step_j)} J"
            raise EnergyUnknownError(f"{meter.name}: {steps}, more than 1 % of {figure(joules)} J")
    joules = _trapezoid(_window(meter.name, powers, lambda one: one[0], start, end, terms.gap_s), start, end)
    return joules, joules, joules


def _window(
    name: str, samples: Sequence[_T], time_of: Callable[[_T], float], start: float, end: float, gap_s: float
) -> Sequence[_T]:
    """Return the samples from the last one before ``start`` to the first one after ``end``, without a gap."""
    first = bisect.bisect_right(samples, start, key=time_of) - 1
    last = bisect.bisect_left(samples, end, key=time_of)
    if first < 0:
        raise EnergyUnknownError(f"{name}: no reading before the job's start")
    if last == len(samples):
        raise EnergyUnknownError(f"{name}: no reading after the job's end")
    window = samples[first : last + 1]
    widest = max((time_of(after) - time_of(before) for before, after in itertools.pairwise(window)), default=0.0)
    if widest > gap_s:
        words = f"{name}: no reading for {duration(widest)} during the job, at most {duration(gap_s)} are agreed"
        raise EnergyUnknownError(words)
    return window


def _rapl(name: str, window: Sequence[Reading], package_w: float) -> _Points:
    """Return the energy of all packages since the first reading; a counter that wrapped goes on by its range."""
    total_j = 0.0
    points = [(window[0].time, 0.0)]
    for before, after in itertools.pairwise(window):
        old, new = before.packages or {}, after.packages or {}
        if old.keys() != new.keys():
            raise EnergyUnknownError(f"{name}: not every reading has the same packages")
        gap_s = after.time - before.time
        for zone, now in new.items():
            range_j = now.max_energy_range_uj / 1e6
            if gap_s * package_w >= range_j:
                raise EnergyUnknownError(
                    f"{name}: no reading for {duration(gap_s)}: at {figure(package_w)} W a counter of "
                    f"{figure(range_j)} J wraps in {duration(range_j / package_w)}, so the energy is not known"
                )
            used_j = (now.energy_uj - old[zone].energy_uj) / 1e6
            total_j += used_j if used_j >= 0 else used_j + range_j
        points.append((after.time, total_j))
    return points


def _kilowatt_hours(name: str, window: Sequence[Reading]) -> tuple[_Points, float]:
    """Return the energy since the first reading, and the step of the counter, in J."""
    told = [(one.time, one.energy_kwh) for one in window if one.energy_kwh is not None]
    if any(after < before for (_, before), (_, after) in itertools.pairwise(told)):
        raise EnergyUnknownError(f"{name}: EnergykWh went back during the job")
    # A reading that ends in a zero may lack the last digit, so the longest one shows the step.
    step = min(int(kwh.as_tuple().exponent) for _, kwh in told)
    return [(time, float(kwh - told[0][1]) * _J_PER_KWH) for time, kwh in told], 10.0**step * _J_PER_KWH


def _between(points: _Points, start: float, end: float) -> tuple[float, float, float]:
    """Return the growth of a counter between two times, by lines between its readings, and its bounds."""
    inside = [value for time, value in points if start <= time <= end]
    low = inside[-1] - inside[0] if inside else 0.0
    return _at(points, end) - _at(points, start), low, points[-1][1] - points[0][1]


def _trapezoid(points: Sequence[tuple[float, float]], start: float, end: float) -> float:
    inside = [point for point in points if start < point[0] < end]
    line = [(start, _at(points, start)), *inside, (end, _at(points, end))]
    return sum((then - now) * (a + b) / 2 for (now, a), (then, b) in itertools.pairwise(line))


def _at(points: Sequence[tuple[float, float]], time: float) -> float:
    """Return the value at ``time`` on the line between the points around it."""
    place = max(1, bisect.bisect_left(points, time, key=lambda point: point[0]))
    if place == len(points):
        return points[-1][1]
    (before, low), (after, high) = points[place - 1], points[place]
    return low + (high - low) * (time - before) / (after - before)
