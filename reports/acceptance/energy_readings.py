"""Read what the site's collector recorded of power and energy: answers of Redfish, and counters of RAPL.

A line of ``energy/*.jsonl`` in a campaign is one reading of one meter. Lines may have any order::

    {"time": "2026-12-01T08:00:00Z", "meter": "pdu7", "nodes": "node[1-4]", "redfish": {…}}
    {"time": "2026-12-01T08:00:00Z", "meter": "node1", "nodes": "node1", "rapl": {"intel-rapl:0": {…}, …}}

``redfish`` is the answer of a BMC or a PDU, as it was. ``rapl`` has a zone's files name, energy_uj and
max_energy_range_uj.
"""

import datetime
import functools
import pathlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from kappa.core.ground.clean_text import clean, one_line
from kappa.core.ground.errors import InputError
from kappa.core.ground.node_lists import MAX_NODES, unfolded
from kappa.core.ground.whole_files import opened
from reports.acceptance.campaign import ENERGY

LINE_LIMIT = 1 << 20
RAPL, SENSOR, BMC = "RAPL", "PowerWatts and EnergykWh", "PowerControl"
# Far above any meter of a computer, in W and in kWh.
_MOST, _MOST_DIGITS = Decimal("1e12"), 30
_Name = Annotated[str, Meta(min_length=1, max_length=200)]
_Counter = Annotated[int, Meta(ge=0, lt=(1 << 63) - 1)]


class _SensorValue(Struct, frozen=True):
    value: Decimal | None = msgspec.field(name="Reading", default=None)


class _PowerControl(Struct, frozen=True):
    watts: Decimal | None = msgspec.field(name="PowerConsumedWatts", default=None)


class RedfishAnswer(Struct, frozen=True):
    """The parts of DMTF's ``PowerDistributionMetrics``, ``EnvironmentMetrics`` or ``Power`` that Kappa reads."""

    power: _SensorValue | None = msgspec.field(name="PowerWatts", default=None)
    energy: _SensorValue | None = msgspec.field(name="EnergykWh", default=None)
    controls: tuple[_PowerControl, ...] = msgspec.field(name="PowerControl", default=())


class RaplZone(Struct, frozen=True, forbid_unknown_fields=True):
    name: _Name
    energy_uj: _Counter
    max_energy_range_uj: Annotated[int, Meta(gt=0, lt=(1 << 63) - 1)]


class _MeterLine(Struct, frozen=True, forbid_unknown_fields=True):
    time: Annotated[datetime.datetime, Meta(tz=True)]
    meter: _Name
    nodes: Annotated[str, Meta(min_length=1, max_length=100_000)]
    redfish: RedfishAnswer | None = None
    rapl: dict[_Name, RaplZone] | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """``time`` in seconds since 1970, ``packages`` by name of the zone; ``None`` where the meter told nothing."""

    time: float
    power_w: float | None = None
    energy_kwh: Decimal | None = None
    packages: dict[str, RaplZone] | None = None


@dataclass(frozen=True)
class Meter:
    """A meter of all power of its ``nodes``; ``readings`` in order of time."""

    name: str
    nodes: tuple[str, ...]
    kind: str
    readings: list[Reading] = field(default_factory=list)


@dataclass(frozen=True)
class Meters:
    """The meters of a campaign, read when they are first needed."""

    campaign: pathlib.Path

    @functools.cached_property
    def all(self) -> tuple[Meter, ...]:
        """:raises InputError: a line is no reading; names the file, the line and the key."""
        meters: dict[str, Meter] = {}
        times: set[tuple[str, float]] = set()
        decoder = msgspec.json.Decoder(_MeterLine)
        for path, number, text in _lines((self.campaign / ENERGY).glob("*.jsonl")):
            try:
                line = decoder.decode(text)
                kind, reading = reading_of(line)
                found = Meter(one_line(clean(line.meter), 80), _nodes(line.nodes), kind)
                meter = meters.setdefault(found.name, found)
                if (meter.nodes, meter.kind) != (found.nodes, found.kind):
                    raise ValueError("nodes and kind of a meter have to stay: expected those of its first line")
                if (meter.name, reading.time) in times:
                    raise ValueError("time: expected each time of a meter once")
            # A DecodeError has the key; it is a ValueError only from msgspec 0.20 on.
            except (ValueError, msgspec.DecodeError) as err:
                words = one_line(clean(str(err)), 300)
                raise InputError(f"{clean(str(path))}: line {number}: no reading of a meter: {words}") from err
            times.add((meter.name, reading.time))
            meter.readings.append(reading)
        for meter in meters.values():
            meter.readings.sort(key=lambda one: one.time)
        return tuple(meters[name] for name in sorted(meters))


def _lines(paths: Iterable[pathlib.Path]) -> Iterator[tuple[pathlib.Path, int, bytes]]:
    """Yield file, number and text of each line; a line without an end is still being written."""
    for path in sorted(paths):
        if path.is_symlink() or path.parent.is_symlink():
            raise InputError(f"{clean(str(path))}: expected a file in {ENERGY}/, found a link")
        try:
            with opened(path) as file:
                for number, text in enumerate(iter(functools.partial(file.readline, LINE_LIMIT), b""), start=1):
                    if text.endswith(b"\n"):
                        yield path, number, text
                    elif len(text) == LINE_LIMIT:
                        raise InputError(f"{clean(str(path))}: line {number}: longer than {LINE_LIMIT:,} bytes")
        except OSError as err:
            raise InputError(f"cannot read {clean(str(path))}: {err.strerror}") from err


# A collector writes the same list a million times.
@functools.lru_cache(1024)
def _nodes(text: str) -> tuple[str, ...]:
    return unfolded(text, MAX_NODES)


def reading_of(line: _MeterLine) -> tuple[str, Reading]:
    """Return the kind of a meter and its reading.

    :raises ValueError: the line has not exactly one known reading; names the key.
    """
    time = line.time.timestamp()
    if (line.redfish is None) == (line.rapl is None):
        raise ValueError("expected either redfish or rapl")
    if line.redfish is not None:
        return _redfish(time, line.redfish)
    if len(_nodes(line.nodes)) > 1:
        raise ValueError(f"nodes: expected the one node of the processors, found {line.nodes!r}")
    # psys and the parts of a package would count twice.
    packages = {name: zone for name, zone in (line.rapl or {}).items() if zone.name.startswith("package")}
    if not packages:
        raise ValueError("rapl: expected a zone with the name package-0")
    return RAPL, Reading(time, packages=packages)


def _redfish(time: float, answer: RedfishAnswer) -> tuple[str, Reading]:
    sensor = answer.power or answer.energy
    if bool(sensor) == bool(answer.controls):
        raise ValueError("redfish: expected either PowerControl, or PowerWatts and EnergykWh")
    if sensor:
        power = _known(answer.power.value if answer.power else None, "PowerWatts.Reading")
        energy = _known(answer.energy.value if answer.energy else None, "EnergykWh.Reading")
        return SENSOR, Reading(time, None if power is None else float(power), energy)
    # Besides the whole chassis, some BMCs list its parts.
    if len(answer.controls) > 1:
        raise ValueError("redfish.PowerControl: expected one entry, because several may count the same power")
    power = _known(answer.controls[0].watts, "PowerControl.PowerConsumedWatts")
    return BMC, Reading(time, None if power is None else float(power))


def _known(value: Decimal | None, key: str) -> Decimal | None:
    if value is None:
        return None
    exponent = value.as_tuple().exponent
    # The exponent of NaN is a letter, and one that no meter has would overflow a float.
    if not (isinstance(exponent, int) and abs(exponent) <= _MOST_DIGITS and 0 <= value <= _MOST):
        raise ValueError(f"redfish.{key}: expected a number of at least 0")
    return value
