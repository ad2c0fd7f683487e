"""Arrange channels in panels: one for each quantity with all runs, and below it the difference of two runs."""

import fnmatch
import itertools
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kappa.core.ground.errors import InputError
from reports.waveforms.recording import Channel, Recording, Values

# Quantities by the units of the EMT application's channels. For another unit, the unit is the title.
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
    """Hold a curve. ``number``: index of the channel in its panel, for its colour; ``run``: index of its run."""

    label: str
    number: int
    run: int
    seconds: Values
    values: Values


@dataclass(frozen=True)
class Panel:
    """Hold the curves of one quantity."""

    title: str
    unit: str
    curves: list[WaveformCurve]


def panels(runs: Sequence[Recording], patterns: Sequence[str], *, difference: bool = False) -> list[Panel]:
    """Return the panels of ``runs``, with ``difference`` also the second run minus the first.

    :param patterns: shell patterns of channels; none means all.
    :raises InputError: no channel matches a pattern, or a difference is not of two runs with common times.
    """
    names = _chosen(runs, patterns)
    if difference and len(runs) != 2:
        raise InputError(f"--difference: expected two runs, found {len(runs)}")
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
            drawn.append(Panel(f"{title}: {labels[1]} minus {labels[0]}", unit, less[title, unit]))
    return drawn


def _kind(channel: Channel) -> tuple[str, str]:
    """Return title and unit of the channel's panel."""
    title = QUANTITIES.get(channel.unit, channel.unit)
    if not channel.unit:
        title = SIGNALS.get(channel.name.rpartition(".")[2], title)
    return title, channel.unit


def prefixed(panel: Panel) -> Panel:
    """Return the panel with a prefix of its unit for large values, for instance 600 kV for 600000 V."""
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
    """Return the panels cut to the times from ``begin_s`` to ``end_s``.

    :raises InputError: no value is left.
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
            raise InputError(f"no channel matches {pattern!r}; the channels are {some or 'none'}")
    chosen = [
        name for name in offered if not patterns or any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)
    ]
    if not chosen:
        raise InputError("these files have no channel")
    return chosen


def _run_labels(runs: Sequence[Recording]) -> list[str]:
    """Return the shortest distinct labels of the runs."""
    parts = [run.name.split("/") for run in runs]
    for length in range(1, max(map(len, parts)) + 1):
        labels = ["/".join(part[-length:]) for part in parts]
        if len(set(labels)) == len(labels):
            return labels
    return [f"run {number}" for number in range(1, len(runs) + 1)]


def _difference(first: Channel, second: Channel) -> tuple[Values, Values]:
    """Return ``second`` minus ``first`` at the times of ``first`` that both cover; ``second`` is interpolated."""
    if first.unit != second.unit:
        raise InputError(f"{first.name}: the unit is {first.unit!r} in one run and {second.unit!r} in the other")
    if not len(first.seconds) or not len(second.seconds):
        raise InputError(f"{first.name}: a run without records has no difference")
    within = (first.seconds >= second.seconds[0]) & (first.seconds <= second.seconds[-1])
    if not within.any():
        raise InputError(f"{first.name}: the two runs have no common times")
    seconds = first.seconds[within]
    return seconds, np.interp(seconds, second.seconds, second.values) - first.values[within]


def thinned(seconds: Values, values: Values, most_intervals: int) -> tuple[Values, Values]:
    """Return the first and last value, and the smallest and largest value of each of ``most_intervals`` equal parts.

    The values are in order of time; values that are no numbers are left out.
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
