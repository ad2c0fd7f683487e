"""A panel for each quantity with each run's channels, and the difference of two runs below."""

import fnmatch
import itertools
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kappa.core.ground.errors import InputError
from reports.waveforms.recording import Channel, Recording, Values

# Quantities by the units of the EMT application's channels; other units name themselves.
QUANTITIES = {
    "V": "Voltage", "kV": "Voltage", "A": "Current", "kA": "Current", "J": "Energy", "Wb": "Flux linkage", "": "Signal",
}  # fmt: skip
# Signals of machines, controllers and switches that have a panel of their own, by the end of their names.
SIGNALS = {
    "speed": "Speed", "angle": "Angle", "vt": "Terminal voltage", "pe": "Electrical power", "pm": "Mechanical power",
    "ifd": "Field current", "efd": "Field voltage", "vs": "Stabilizer", "state": "State: 1 closed, 0 open",
}  # fmt: skip
# Prefixes of units for large numbers: (from, factor, prefix).
PREFIXES = ((1e10, 1e9, "G"), (1e7, 1e6, "M"), (1e4, 1e3, "k"))


@dataclass(frozen=True)
class WaveformCurve:
    """``number`` is the channel's in its panel, ``run`` its run's: curves of one channel look alike in all runs."""

    label: str
    number: int
    run: int
    seconds: Values
    values: Values


@dataclass(frozen=True)
class Panel:
    title: str
    unit: str
    curves: list[WaveformCurve]


def panels(runs: Sequence[Recording], patterns: Sequence[str], *, difference: bool = False) -> list[Panel]:
    """
    :param patterns: of channels, as of a shell; none is all.
    :raises InputError: a pattern that no run has a channel for, or no two runs with common times for a difference.
    """
    names = _chosen(runs, patterns)
    if difference and len(runs) != 2:
        raise InputError(f"a difference is of two runs, {len(runs)} given")
    labels = _run_labels(runs)
    numbers: defaultdict[tuple[str, str], Iterator[int]] = defaultdict(itertools.count)
    found: dict[tuple[str, str], list[WaveformCurve]] = {}
    less: dict[tuple[str, str], list[WaveformCurve]] = {}
    for name in names:
        channels = [run.channels.get(name) for run in runs]
        kind = _kind(next(channel for channel in channels if channel is not None))
        number = next(numbers[kind])
        for at, channel in enumerate(channels):
            if channel is not None:
                label = name if len(runs) == 1 else f"{name}, {labels[at]}"
                curve = WaveformCurve(label, number, at, channel.seconds, channel.values)
                found.setdefault(_kind(channel), []).append(curve)
        if difference:
            first, second = channels
            if first is None or second is None:
                raise InputError(f"{name}: only one of the two runs has this channel")
            seconds, values = _difference(first, second)
            less.setdefault(_kind(first), []).append(WaveformCurve(name, number, 0, seconds, values))
    drawn = []
    for (title, unit), curves in found.items():
        drawn.append(Panel(title, unit, curves))
        if (title, unit) in less:
            drawn.append(Panel(f"{title}: {labels[1]} less {labels[0]}", unit, less[title, unit]))
    return drawn


def _kind(channel: Channel) -> tuple[str, str]:
    """Title and unit of its panel."""
    title = QUANTITIES.get(channel.unit, channel.unit)
    if not channel.unit:
        title = SIGNALS.get(channel.name.rpartition(".")[2], title)
    return title, channel.unit


def prefixed(panel: Panel) -> Panel:
    """600 kV for 600000 V."""
    if panel.unit not in ("V", "A", "J", "Wb"):
        return panel
    known = [np.abs(curve.values[np.isfinite(curve.values)]) for curve in panel.curves]
    greatest = max((float(values.max()) for values in known if len(values)), default=0.0)
    for least, factor, prefix in PREFIXES:
        if greatest >= least:
            curves = [replace(curve, values=curve.values / factor) for curve in panel.curves]
            return replace(panel, unit=prefix + panel.unit, curves=curves)
    return panel


def between(drawn: Sequence[Panel], begin_s: float | None, end_s: float | None) -> list[Panel]:
    """
    :raises InputError: nothing is left.
    """
    begin, end = (-np.inf if begin_s is None else begin_s), (np.inf if end_s is None else end_s)
    cut = [replace(panel, curves=[_cut(curve, begin, end) for curve in panel.curves]) for panel in drawn]
    if not any(len(curve.seconds) for panel in cut for curve in panel.curves):
        raise InputError(f"no record between {begin:g} s and {end:g} s")
    return cut


def _cut(curve: WaveformCurve, begin_s: float, end_s: float) -> WaveformCurve:
    within = (curve.seconds >= begin_s) & (curve.seconds <= end_s)
    return replace(curve, seconds=curve.seconds[within], values=curve.values[within])


def _chosen(runs: Sequence[Recording], patterns: Sequence[str]) -> list[str]:
    offered = list(dict.fromkeys(name for run in runs for name in run.channels))
    for pattern in patterns:
        if not fnmatch.filter(offered, pattern):
            some = ", ".join(offered[:8]) + (", …" if len(offered) > 8 else "")
            raise InputError(f"no channel matches {pattern!r}; there are {some or 'none'}")
    chosen = [
        name for name in offered if not patterns or any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)
    ]
    if not chosen:
        raise InputError("there is no channel in these files")
    return chosen


def _run_labels(runs: Sequence[Recording]) -> list[str]:
    """As short as tells them apart."""
    parts = [run.name.split("/") for run in runs]
    for length in range(1, max(map(len, parts)) + 1):
        labels = ["/".join(part[-length:]) for part in parts]
        if len(set(labels)) == len(labels):
            return labels
    return [f"run {number}" for number in range(1, len(runs) + 1)]


def _difference(first: Channel, second: Channel) -> tuple[Values, Values]:
    """At the times of ``first`` that both span; ``second`` is interpolated between its own."""
    if first.unit != second.unit:
        raise InputError(f"{first.name}: in {first.unit!r} in one run and in {second.unit!r} in the other")
    if not len(first.seconds) or not len(second.seconds):
        raise InputError(f"{first.name}: a run without records has no difference")
    within = (first.seconds >= second.seconds[0]) & (first.seconds <= second.seconds[-1])
    if not within.any():
        raise InputError(f"{first.name}: the two runs have no times in common")
    seconds = first.seconds[within]
    return seconds, np.interp(seconds, second.seconds, second.values) - first.values[within]


def thinned(seconds: Values, values: Values, most_intervals: int) -> tuple[Values, Values]:
    """The first, the last, and of each of ``most_intervals`` equal parts the least and the greatest value, in order.

    Values that are no numbers are left out.
    """
    known = np.isfinite(values)
    seconds, values = seconds[known], values[known]
    if len(values) <= 2 * most_intervals:
        return seconds, values
    edges = np.linspace(0, len(values), most_intervals + 1).astype(int)[:-1]
    ends = [*edges[1:], len(values)]
    kept = {0, len(values) - 1}
    for begin, end in zip(edges, ends, strict=True):
        part = values[begin:end]
        kept |= {int(begin + part.argmin()), int(begin + part.argmax())}
    order = sorted(kept)
    return seconds[order], values[order]
