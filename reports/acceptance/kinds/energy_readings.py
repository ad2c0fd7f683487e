"""Compute energies from the readings of meters in ``energy/*.jsonl``; docs/acceptance.md describes the lines."""

import bisect
import datetime
import functools
import itertools
import operator
import pathlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta, Struct

from kappa.core.ground.clean_text import clean, one_line
from kappa.core.ground.errors import InputError
from kappa.core.ground.figures import duration, figure
from kappa.core.ground.node_lists import expand_nodes
from reports.acceptance.campaign.chained_lines import broken, decoded, numbered_lines
from reports.acceptance.campaign.layout import ENERGY
from reports.acceptance.kinds.series import NoValueError

RAPL, SENSOR, BMC = "RAPL", "PowerWatts and EnergykWh", "PowerControl"
# The power of ten of a reading in W or kWh: far above any meter of a computer.
_MOST_DIGITS = 12
_J_PER_KWH = 3.6e6
# An energy of fewer steps of a meter is not known to 1 %.
_LEAST_STEPS = 100
T = TypeVar("T")
_Name = Annotated[str, Meta(min_length=1, max_length=200)]
_Counter = Annotated[int, Meta(ge=0, lt=(1 << 63) - 1)]
# (time in s since 1970, value)
_Readings = Sequence[tuple[float, T]]
_TIME = operator.itemgetter(0)


class _RedfishValue(Struct, frozen=True):
    value: Decimal | None = msgspec.field(name="Reading", default=None)

    def __post_init__(self) -> None:
        value = self.value
        # An exponent that no meter has would overflow a float.
        if value is not None and not (value.is_finite() and value >= 0 and value.adjusted() <= _MOST_DIGITS):
            raise ValueError("expected a number of at least 0")


class _PowerControl(_RedfishValue, frozen=True):
    value: Decimal | None = msgspec.field(name="PowerConsumedWatts", default=None)


class _RedfishAnswer(Struct, frozen=True):
    """The parts of DMTF's ``PowerDistributionMetrics``, ``EnvironmentMetrics`` or ``Power`` that Kappa reads."""

    power: _RedfishValue | None = msgspec.field(name="PowerWatts", default=None)
    energy: _RedfishValue | None = msgspec.field(name="EnergykWh", default=None)
    controls: tuple[_PowerControl, ...] = msgspec.field(name="PowerControl", default=())

    def __post_init__(self) -> None:
        # Besides the whole chassis, some BMCs list its parts, which would count twice.
        if len(self.controls) != (0 if self.power or self.energy else 1):
            raise ValueError("expected either one PowerControl, or PowerWatts and EnergykWh")


class _RaplZone(Struct, frozen=True, forbid_unknown_fields=True):
    name: _Name
    energy_uj: _Counter
    max_energy_range_uj: Annotated[int, Meta(gt=0, lt=(1 << 63) - 1)]


class _MeterLine(Struct, frozen=True, forbid_unknown_fields=True):
    time: Annotated[datetime.datetime, Meta(tz=True)]
    meter: _Name
    nodes: Annotated[str, Meta(min_length=1, max_length=100_000)]
    redfish: _RedfishAnswer | None = None
    rapl: dict[_Name, _RaplZone] | None = None

    def __post_init__(self) -> None:
        if (self.redfish is None) == (self.rapl is None):
            raise ValueError("expected either redfish or rapl")
        # Nodes that are no list are refused here, also for Redfish.
        if (len(_nodes(self.nodes)) > 1 or not self.packages) and self.rapl is not None:
            raise ValueError("rapl: expected one node, and a zone with the name package-0")

    @property
    def packages(self) -> dict[str, _RaplZone]:
        """Return the zones that count; psys and the parts of a package would count twice."""
        return {name: zone for name, zone in (self.rapl or {}).items() if zone.name.startswith("package")}


@dataclass(frozen=True)
class Meter:
    """Hold a meter of all power of its ``nodes``, with its readings in any order."""

    name: str
    nodes: tuple[str, ...]
    kind: str
    power_w: list[tuple[float, float]] = field(default_factory=list)
    energy_kwh: list[tuple[float, Decimal]] = field(default_factory=list)
    packages: list[tuple[float, dict[str, _RaplZone]]] = field(default_factory=list)

    def add(self, time: float, line: _MeterLine) -> None:
        if line.rapl:
            self.packages.append((time, line.packages))
        for power in (line.redfish.power, *line.redfish.controls) if line.redfish else ():
            if power and power.value is not None:
                self.power_w.append((time, float(power.value)))
        if line.redfish and line.redfish.energy and line.redfish.energy.value is not None:
            self.energy_kwh.append((time, line.redfish.energy.value))

    def energy(self, start: float, end: float, gap_s: float, package_w: float) -> tuple[float, float, float]:
        """Return the energy from ``start`` to the later ``end``, and its least and most by the readings around, in J.

        :param gap_s: the longest allowed time between two readings.
        :param package_w: the most power of a processor.
        :raises NoValueError: the readings do not give the energy.
        """
        if self.packages:
            return _between(self._rapl(self._window(self.packages, start, end, gap_s), package_w), start, end)
        if self.energy_kwh:
            counter, step_j = self._kilowatt_hours(self._window(self.energy_kwh, start, end, gap_s))
            joules, low_j, high_j = _between(counter, start, end)
            if joules >= _LEAST_STEPS * step_j:
                return joules, max(0.0, low_j - step_j), high_j + step_j
            if not self.power_w:
                steps = f"EnergykWh counts in steps of {figure(step_j)} J"
                raise NoValueError(f"{self.name}: {steps}, more than 1 % of {figure(joules)} J")
        joules = _trapezoid(self._window(self.power_w, start, end, gap_s), start, end)
        return joules, joules, joules

    def _window(self, readings: _Readings[T], start: float, end: float, gap_s: float) -> _Readings[T]:
        """Return the two or more readings from the last before ``start`` to the first after ``end``, without a gap."""
        ordered = sorted(readings, key=_TIME)
        first = bisect.bisect_right(ordered, start, key=_TIME) - 1
        last = bisect.bisect_left(ordered, end, key=_TIME)
        if first < 0:
            raise NoValueError(f"{self.name}: no reading before the job's start")
        if last == len(ordered):
            raise NoValueError(f"{self.name}: no reading after the job's end")
        window = ordered[first : last + 1]
        widest = max(after - before for (before, _), (after, _) in itertools.pairwise(window))
        if widest > gap_s:
            agreed = f"at most {duration(gap_s)} are agreed"
            raise NoValueError(f"{self.name}: no reading for {duration(widest)} during the job, {agreed}")
        return window

    def _rapl(self, window: _Readings[dict[str, _RaplZone]], package_w: float) -> _Readings[float]:
        """Return the energy of all packages since the first reading, in J; a wrapped counter goes on by its range."""
        total_j = 0.0
        counter = [(window[0][0], total_j)]
        for (before, old), (after, new) in itertools.pairwise(window):
            if old.keys() != new.keys():
                raise NoValueError(f"{self.name}: not every reading has the same packages")
            for zone, now in new.items():
                range_j = now.max_energy_range_uj / 1e6
                if (after - before) * package_w >= range_j:
                    wraps = f"a counter of {figure(range_j)} J wraps in {duration(range_j / package_w)}"
                    gap = f"no reading for {duration(after - before)}, but at {figure(package_w)} W {wraps}"
                    raise NoValueError(f"{self.name}: {gap}, so the energy is not known")
                used_j = (now.energy_uj - old[zone].energy_uj) / 1e6
                total_j += used_j if used_j >= 0 else used_j + range_j
            counter.append((after, total_j))
        return counter

    def _kilowatt_hours(self, window: _Readings[Decimal]) -> tuple[_Readings[float], float]:
        """Return the energy since the first reading, and the step of the counter, in J."""
        if any(after < before for (_, before), (_, after) in itertools.pairwise(window)):
            raise NoValueError(f"{self.name}: EnergykWh went back during the job")
        # A reading that ends in a zero may lack the last digit, so the longest one shows the step.
        step = min(int(kwh.as_tuple().exponent) for _, kwh in window)
        return [(time, float(kwh - window[0][1]) * _J_PER_KWH) for time, kwh in window], 10.0**step * _J_PER_KWH


def load_meters(campaign: pathlib.Path) -> tuple[Meter, ...]:
    """Return the meters of a campaign, by name.

    :raises InputError: a line is no reading; names the file, the line and the key.
    """
    meters: dict[str, Meter] = {}
    times: set[tuple[str, float]] = set()
    for path, number, line in _meter_lines(campaign / ENERGY):
        kind = RAPL if line.redfish is None else BMC if line.redfish.controls else SENSOR
        new, time = Meter(one_line(clean(line.meter), 80), _nodes(line.nodes), kind), line.time.timestamp()
        meter = meters.setdefault(new.name, new)
        if (meter.nodes, meter.kind) != (new.nodes, new.kind):
            raise broken(path, number, "nodes and kind of a meter have to stay: expected those of its first line")
        if (meter.name, time) in times:
            raise broken(path, number, "time: expected each time of a meter once")
        times.add((meter.name, time))
        meter.add(time, line)
    return tuple(meters[name] for name in sorted(meters))


def _meter_lines(folder: pathlib.Path) -> Iterator[tuple[pathlib.Path, int, _MeterLine]]:
    decoder = msgspec.json.Decoder(_MeterLine)
    for path in sorted(folder.glob("*.jsonl")):
        if path.is_symlink() or folder.is_symlink():
            raise InputError(f"{clean(str(path))}: expected a file in {ENERGY}/, found a link")
        for number, text in numbered_lines(path):
            # A line without an end is still being written.
            if text.endswith(b"\n"):
                yield path, number, decoded(decoder, text, path, number)


# A collector writes the same list a million times.
@functools.lru_cache(1024)
def _nodes(text: str) -> tuple[str, ...]:
    return tuple(sorted(expand_nodes(text)))


def _between(counter: _Readings[float], start: float, end: float) -> tuple[float, float, float]:
    """Return the growth of a counter between two times, by lines between its readings, and its bounds."""
    inside = [value for time, value in counter if start <= time <= end]
    low = inside[-1] - inside[0] if inside else 0.0
    return _at(end, *counter[-2:]) - _at(start, *counter[:2]), low, counter[-1][1] - counter[0][1]


def _trapezoid(power: _Readings[float], start: float, end: float) -> float:
    inside = [reading for reading in power if start < reading[0] < end]
    line = [(start, _at(start, *power[:2])), *inside, (end, _at(end, *power[-2:]))]
    return sum((then - now) * (a + b) / 2 for (now, a), (then, b) in itertools.pairwise(line))


def _at(time: float, before: tuple[float, float], after: tuple[float, float]) -> float:
    """Return the value at ``time`` on the line between two readings."""
    return before[1] + (after[1] - before[1]) * (time - before[0]) / (after[0] - before[0])
