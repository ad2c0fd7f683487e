"""The time account of an outage log: every second of system and nodes in one class, and interrupts merged by cause.

An entry that not all parties agreed to is judged both ways: it counts for the buyer, and does not for the vendor.
"""

import bisect
import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from reports.acceptance.outages.intervals import NONE, Intervals, Seconds, depth_at_least
from reports.acceptance.outages.log import OUTAGES, UNKNOWN, LogEntry, OutageLog
from reports.acceptance.outages.terms import OutageTerms

HOUR_S = 3600
Place = Literal["system", "nodes"]
Favour = Literal["buyer", "vendor"]
#: ``vendor``: outages of the vendor count; ``any``: those of any attribution; ``all``: also those that are excluded.
Counts = Literal["vendor", "any", "all"]
# Classes of an outage. A lower class comes first where two overlap.
SCHEDULED, REMOVED, COUNTED = CLASSES = range(3)
_FOREVER = 1 << 40


@dataclass(frozen=True, slots=True)
class Outage:
    """A part of an entry in one class; ``start`` to ``end`` in seconds since 1970."""

    entry: LogEntry
    start: int
    end: int
    kind: int


@dataclass(frozen=True, slots=True)
class Interrupt:
    """All outages that are one interrupt. ``entries`` may be empty if too few nodes were usable."""

    start: int
    end: int
    entries: tuple[LogEntry, ...]

    @property
    def cause(self) -> str:
        return self.entries[0].cause if self.entries else UNKNOWN

    @property
    def nodes(self) -> tuple[str, ...]:
        return self.entries[0].nodes if self.entries else ()


@dataclass(frozen=True)
class TimeAccount:
    """Hours, or node-hours, of a period: ``up`` and the rest of it, by class; they add up to ``period``.

    ``removed``: excluded, or attributed to somebody whose outages do not count.
    """

    period: float
    up: float
    unscheduled: float
    scheduled: float
    removed: float
    not_observed: float

    @property
    def availability(self) -> float | None:
        """Return the availability in per cent; ``None`` where no time counts."""
        counted = self.up + self.unscheduled
        return 100 * self.up / counted if counted > 0 else None


@dataclass(frozen=True)
class Period:
    """The time from ``begin``, after the burn-in, to the ``end`` of observation; ``observed`` is the observed part."""

    begin: int
    end: int
    observed: Intervals


def period_of(log: OutageLog, parties: Sequence[str], terms: OutageTerms) -> Period | str:
    """Return the period, or the reason why there is none. Silence is not observed time.

    A line by hand counts as observed time when all parties agreed to it.
    """
    entries = {
        what: [one for one in log.latest.values() if one.what == what] for what in ("begin", "observed", "not_observed")
    }
    begins = entries["begin"]
    if len(begins) != 1:
        numbers = ", ".join(entry.id for entry in begins) or "no entry"
        return f"the outage log begins the period {len(begins)} times ({numbers}): expected once"
    if log.lacking(begins[0], parties):
        return f"not all parties agreed to the beginning of the period, entry {begins[0].id}"
    seen = [one for one in entries["observed"] if one.source != "hand" or not log.lacking(one, parties)]
    last = max((one.ends or one.begins for one in seen), default=0)
    observed, missing = (
        Intervals.of([one.begins for one in group], [last if one.end is None else one.ends for one in group])
        for group in (seen, entries["not_observed"])
    )
    observed -= missing
    begin = begins[0].begins + round(terms.burn_in_h * HOUR_S)
    end = int(observed.ends[-1]) if len(observed) else begin
    if end <= begin:
        return "nothing was observed after the burn-in"
    return Period(begin, end, observed & Intervals.of([begin], [end]))


def _is_open(log: OutageLog, entry: LogEntry, parties: Sequence[str], counts: Counts) -> bool:
    """Return whether an outage is judged both ways: a party did not agree, or the outage is not attributed."""
    settled = entry.what == "void" or entry.exclusion or entry.scheduled or entry.attribution or counts != "vendor"
    return not settled or bool(log.lacking(entry, parties))


def disputed(log: OutageLog, parties: Sequence[str], counts: Counts) -> list[str]:
    """Return the ids of the entries that are judged both ways."""
    kinds = (*OUTAGES, "void")
    return [one.id for one in log.latest.values() if one.what in kinds and _is_open(log, one, parties, counts)]


def outages_of(
    log: OutageLog, parties: Sequence[str], terms: OutageTerms, counts: Counts, favour: Favour
) -> list[Outage]:
    """Return every outage with its class; leave out void ones."""
    outages = []
    for entry in log.latest.values():
        undecided = _is_open(log, entry, parties, counts)
        if entry.what == "void" and undecided and favour == "buyer":
            # An entry that only one party took back still counts for the other.
            entry = next((version for version in log.versions(entry) if version.what != "void"), entry)  # noqa: PLW2901
        if entry.what not in OUTAGES:
            continue
        start, end = entry.begins, _FOREVER if entry.ends is None else entry.ends
        other = counts == "vendor" and entry.attribution not in ("vendor", None)
        removed = counts != "all" and (other or entry.exclusion in terms.exclusions)
        kind = REMOVED if (favour == "vendor" if undecided else removed) else COUNTED
        if undecided or not entry.scheduled:
            outages.append(Outage(entry, start, end, kind))
            continue
        whole, noticed = Intervals.of([start], [end]), _noticed(log, entry, parties, terms)
        for part, of in ((whole & noticed, SCHEDULED), (whole - noticed, kind)):
            outages += [Outage(entry, *span, of) for span in part.pairs()]
    return outages


def _noticed(log: OutageLog, entry: LogEntry, parties: Sequence[str], terms: OutageTerms) -> Intervals:
    """Return the time for which all parties had agreed to a version of ``entry`` long enough before it began."""
    versions = [
        one
        for one in log.versions(entry)
        if one.scheduled
        and one.end
        and not log.lacking(one, parties)
        and max(log.agreed[party][one.number] for party in parties) <= one.begins - terms.notice_h * HOUR_S
    ]
    return Intervals.of([one.begins for one in versions], [one.ends for one in versions])


class Downtime:
    """The times when system and nodes were down in a period, by class, and the interrupts ``of`` system or nodes.

    The system is down by its own entries, and while too few nodes are usable. An outage of the system is no outage of
    the nodes besides. Nodes have a common axis, on which each has a range of its own, so that one union covers all.
    """

    def __init__(self, outages: Sequence[Outage], terms: OutageTerms, period: Period, of: Place) -> None:
        self.terms, self.period, self.of = terms, period, of
        self.removes = any(one.kind == REMOVED for one in outages)
        self._outages = {what: [one for one in outages if one.entry.what == what] for what in OUTAGES}
        long_s = max(1, terms.longer_than_s)
        self._of_system = [one for one in self._outages["system_interrupt"] if one.end - one.start >= long_s]
        self._index = {name: number for number, name in enumerate(terms.node_names)}
        self._stride = period.end - period.begin + 1
        self._nodes = self._node_downtime()
        whole = Intervals.of([period.begin], [period.end])
        explicit = []
        for kind in CLASSES:
            mine = [one for one in self._of_system if one.kind == kind]
            explicit.append(Intervals.of([one.start for one in mine], [one.end for one in mine]) & whole)
        self._dips = self._too_few_nodes(_union(explicit), long_s)
        self._system = _by_priority([spans | dips for spans, dips in zip(explicit, self._dips, strict=True)])

    def _node_downtime(self) -> list[Intervals]:
        """Return the downtime of nodes by class, on the axis of all nodes."""
        begin, last = self.period.begin, self.period.end
        edges: list[tuple[list[int], list[int]]] = [([], []) for _ in CLASSES]
        for one in self._outages["node_interrupt"]:
            starts, ends = edges[one.kind]
            for number in (self._index[name] for name in one.entry.nodes if name in self._index):
                # An outage outside the period becomes a reversed interval, which is nothing.
                starts.append(number * self._stride + max(one.start, begin) - begin)
                ends.append(number * self._stride + min(one.end, last) - begin)
        return [Intervals.of(starts, ends) for starts, ends in edges]

    def _too_few_nodes(self, known: Intervals, long_s: int) -> list[Intervals]:
        """Return when too few nodes are usable, by class, apart from the ``known`` outages of the system.

        It is of a class when the outages of this class and of those that count more are enough for it.
        """
        dips = [NONE, NONE, NONE]
        nodes = NONE
        for kind in (COUNTED, REMOVED, SCHEDULED):
            nodes = nodes | self._nodes[kind]
            depth = len(self._index) - self.terms.least_nodes + 1
            deep = depth_at_least(*self._moments(nodes), depth).at_least(long_s)
            dips[kind] = deep - known
            known = known | deep
        return dips

    def _moments(self, spans: Intervals) -> tuple[Seconds, Seconds]:
        """Return starts and ends of intervals on the axis, in seconds since 1970."""
        offset = spans.starts // self._stride * self._stride - self.period.begin
        return spans.starts - offset, spans.ends - offset

    def _axis(self, spans: Intervals) -> Intervals:
        """Return intervals of the system on the axis: once, or for each node."""
        units = len(self._index) if self.of == "nodes" else 1
        offsets = (np.arange(units, dtype=np.int64) * self._stride - self.period.begin)[:, None]
        return Intervals.of((offsets + spans.starts).ravel(), (offsets + spans.ends).ravel())

    @functools.cached_property
    def _observed(self) -> Intervals:
        return self._axis(self.period.observed)

    @functools.cached_property
    def _down(self) -> list[Intervals]:
        """Return the observed downtime by class, on the axis."""
        down = [self._axis(spans) for spans in self._system]
        if self.of == "nodes":
            taken = _union(down)
            down = [mine | (own - taken) for mine, own in zip(down, _by_priority(self._nodes), strict=True)]
        return [spans & self._observed for spans in down]

    def account(self, until: int) -> TimeAccount:
        """Return the account from the beginning of the period to ``until``."""
        window = self._axis(Intervals.of([self.period.begin], [until]))
        scheduled, removed, unscheduled = ((spans & window).total / HOUR_S for spans in self._down)
        observed = (self._observed & window).total / HOUR_S
        up = observed - (scheduled + removed + unscheduled)
        not_observed = (window.total - (self._observed & window).total) / HOUR_S
        return TimeAccount(window.total / HOUR_S, up, unscheduled, scheduled, removed, not_observed)

    @functools.cached_property
    def uptime(self) -> "Exposure":
        """Return the uptime as it grows over the period."""
        return self._exposure(self._observed - _union(self._down))

    def shares(self, edges: Seconds) -> list[list[float]]:
        """Return the share of each class, and of time not observed, between each two of ``edges``."""
        whole = self._axis(Intervals.of([self.period.begin], [self.period.end]))
        hours = [np.diff(self._exposure(spans).before(edges)) for spans in (*self._down, whole - self._observed)]
        scale = whole.total / (self.period.end - self.period.begin) / HOUR_S * np.diff(edges)
        return [(part / scale).tolist() for part in hours]

    def _exposure(self, spans: Intervals) -> "Exposure":
        return Exposure.of(*self._moments(spans), self.period)

    @functools.cached_property
    def interrupts(self) -> list[Interrupt]:
        """Return the interrupts that count, in order. An interrupt that begins in time that does not count is none."""
        last, nodes = self.period.end, [one for one in self._outages["node_interrupt"] if one.kind == COUNTED]
        begun = [
            Interrupt(one.start, one.start if one.entry.what == "job_interrupt" else min(one.end, last), (one.entry,))
            for one in (*self._of_system, *self._outages["job_interrupt"])
            if one.kind == COUNTED
        ]
        first = {one.start: (one.entry,) for one in nodes}
        begun += [Interrupt(*span, first.get(span[0], ())) for span in self._dips[COUNTED].pairs()]
        counted = self.period.observed - self._system[SCHEDULED] - self._system[REMOVED]
        system = _within(counted, _merged(begun, self.terms.merge_s, of_nodes=False))
        if self.of == "system":
            return system
        begun = [
            Interrupt(one.start, min(one.end, last), (one.entry,))
            for one in nodes
            if not self._index.keys().isdisjoint(one.entry.nodes)
        ]
        starts: dict[str, list[int]] = {}
        for one in system:
            starts.setdefault(one.cause, []).append(one.start)
        begun = _within(self.period.observed - _union(self._system), begun)
        begun = [one for one in begun if not self._belongs(one, starts.get(one.cause, []))]
        return _merged(begun, self.terms.merge_s, of_nodes=True)

    def _belongs(self, one: Interrupt, starts: list[int]) -> bool:
        """Return whether an interrupt of nodes belongs to a system interrupt of the same cause.

        :param starts: of these system interrupts.
        """
        first, last = one.start - self.terms.merge_s, one.start + self.terms.merge_s
        if one.cause == UNKNOWN:
            # It counts as the system interrupt's cause on nodes that were down when it began.
            first, last = one.start, min(one.end, last)
        at = bisect.bisect_left(starts, first)
        return at < len(starts) and starts[at] <= last


def _union(kinds: Sequence[Intervals]) -> Intervals:
    return functools.reduce(lambda one, other: one | other, kinds)


def _by_priority(kinds: list[Intervals]) -> list[Intervals]:
    """Return disjoint classes: scheduled before removed before counted."""
    scheduled, removed, counted = kinds
    return [scheduled, removed - scheduled, counted - (scheduled | removed)]


def _within(spans: Intervals, interrupts: list[Interrupt]) -> list[Interrupt]:
    inside = spans.holds(np.array([one.start for one in interrupts], dtype=np.int64))
    return [one for one, keep in zip(interrupts, inside.tolist(), strict=True) if keep]


def _merged(begun: list[Interrupt], merge_s: int, *, of_nodes: bool) -> list[Interrupt]:
    """Return one interrupt for all that have one cause and begin within ``merge_s`` of the first.

    Unknown causes are equal on the same nodes only. A system, or nodes, that are down already break no second time.
    """
    merged: list[Interrupt] = []
    last: dict[object, int] = {}
    down: dict[str, tuple[int, int]] = {}  # place -> end, number of the interrupt
    for one in sorted(begun, key=lambda one: (one.start, one.entries[0].number if one.entries else 0)):
        places = one.nodes if of_nodes else ("",)
        key = places if one.cause == UNKNOWN else one.cause
        at = last.get(key)
        if at is None or one.start > merged[at].start + merge_s:
            still = [down[place][1] for place in places if place in down and one.start < down[place][0]]
            at = still[0] if len(still) == len(places) else None
        if at is None:
            at = last[key] = len(merged)
            merged.append(one)
        else:
            group = merged[at]
            merged[at] = Interrupt(group.start, max(group.end, one.end), group.entries + one.entries)
        if not of_nodes:
            down[""] = (merged[-1].end, len(merged) - 1)
            continue
        for place in places:
            if place not in down or one.end > down[place][0]:
                down[place] = (one.end, at)
    return merged


@dataclass(frozen=True)
class Exposure:
    """Hours, or node-hours, before each of ``moments``; they grow linearly between them."""

    moments: Seconds
    hours: npt.NDArray[np.float64]

    @classmethod
    def of(cls, starts: Seconds, ends: Seconds, period: Period) -> "Exposure":
        moments = np.concatenate((starts, ends))
        order = np.argsort(moments, kind="stable")
        edges = np.concatenate(([period.begin], moments[order], [period.end]))
        rates = np.concatenate(([0], np.cumsum(np.repeat([1, -1], len(starts))[order])))
        return cls(edges, np.concatenate(([0.0], np.cumsum(np.diff(edges) * rates) / HOUR_S)))

    def before(self, moments: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Return the hours before each moment."""
        return np.interp(moments, self.moments, self.hours)

    @property
    def total(self) -> float:
        return float(self.hours[-1])

    def reaches(self, hours: float) -> int | None:
        """Return the first second at which so many hours are reached; ``None`` when they are not."""
        # Times are whole seconds: half a second of every node is no shortfall.
        if self.total + 1e-6 < hours:
            return None
        at = max(1, int(np.searchsorted(self.hours, min(hours, self.total))))
        (first, last), (done, then) = self.moments[at - 1 : at + 1], self.hours[at - 1 : at + 1]
        share = (min(hours, self.total) - done) / (then - done) if then > done else 0.0
        return int(np.ceil(first + share * (last - first)))
