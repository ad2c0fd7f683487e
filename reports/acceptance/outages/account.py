"""The time account of an outage log: every second of system and nodes in one class, and interrupts merged by cause.

An entry that not all parties agreed to is judged both ways: it counts for the buyer, and does not for the vendor.
"""

import bisect
import functools
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from reports.acceptance.outages.log import OUTAGES, UNKNOWN, LogEntry, OutageLog
from reports.acceptance.outages.spans import Flags, Seconds, Spans, depth, pairs, runs, union
from reports.acceptance.outages.terms import OutageTerms

HOUR_S = 3600
Place = Literal["system", "nodes"]
Favour = Literal["buyer", "vendor"]
#: ``vendor``: outages of the vendor count; ``any``: those of any attribution; ``all``: also those that are excluded.
Counts = Literal["vendor", "any", "all"]
# Classes of an outage. A lower class comes first where two overlap.
SCHEDULED, REMOVED, COUNTED = CLASSES = range(3)
UP = 3
# Classes of the lanes: entries of the system, too few nodes, entries of nodes; last, the class without an outage.
_KINDS = np.array([*CLASSES, COUNTED, REMOVED, SCHEDULED, *CLASSES, UP])
_DIP = 3
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
    """The time from ``begin``, after the burn-in, to the ``end`` of observation; ``observed`` since ``begin``."""

    begin: int
    end: int
    observed: Spans


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
        union([one.begins for one in group], [last if (end := one.ends) is None else end for one in group])
        for group in (seen, entries["not_observed"])
    )
    moments = np.sort(np.concatenate((*observed, *missing)))
    starts, ends = runs(moments, ((depth(observed, moments) > 0) & (depth(missing, moments) == 0))[:-1])
    begin = begins[0].begins + round(terms.burn_in_h * HOUR_S)
    end = int(ends[-1]) if len(ends) else begin
    if end <= begin:
        return "nothing was observed after the burn-in"
    return Period(begin, end, union(np.maximum(starts, begin) - begin, ends - begin))


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
        for first, last in _noticed(log, entry, parties, terms):
            if max(first, start) < min(last, end):
                outages.append(Outage(entry, max(first, start), min(last, end), SCHEDULED))
                if start < first:
                    outages.append(Outage(entry, start, first, kind))
                start = last
        if start < end:
            outages.append(Outage(entry, start, end, kind))
    return outages


def _noticed(log: OutageLog, entry: LogEntry, parties: Sequence[str], terms: OutageTerms) -> Iterator[tuple[int, int]]:
    """Yield the times for which all parties had agreed to a version of ``entry`` long enough before it began."""
    spans = [
        (one.begins, one.ends or 0)
        for one in log.versions(entry)
        if one.scheduled
        and not log.lacking(one, parties)
        and max(log.agreed[party][one.number] for party in parties) <= one.begins - terms.notice_h * HOUR_S
    ]
    return pairs(union([start for start, _ in spans], [end for _, end in spans]))


@dataclass(frozen=True)
class Exposure:
    """Hours, or node-hours, before each of ``moments``; they grow linearly between them."""

    moments: Seconds
    hours: npt.NDArray[np.float64]

    def before(self, moments: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Return the hours before each moment."""
        return np.interp(np.asarray(moments, dtype=np.float64), self.moments, self.hours)

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


class Lanes:
    """The class of each segment of an axis: the class of the first lane with an outage there.

    Each node has a range of the axis, as long as the period and a second.
    """

    def __init__(self, lanes: Sequence[Spans], observed: Spans, whole: Spans) -> None:
        self.edges = np.sort(np.concatenate([times for spans in (*lanes, observed, whole) for times in spans]))
        self.numbers = np.full(len(self.edges) - 1, len(_KINDS) - 1)
        for number in reversed(range(len(lanes))):
            self.numbers[self._holds(lanes[number])] = number
        self.kinds = _KINDS[self.numbers]
        self.observed, self.inside = self._holds(observed), self._holds(whole)

    def _holds(self, spans: Spans) -> Flags:
        return depth(spans, self.edges[:-1]) > 0


class Downtime:
    """The class of each second of a period, and the interrupts, ``of`` the system or of its nodes.

    The system is down by its own entries, and while too few nodes are usable. An outage of the system is no outage of
    the nodes besides.
    """

    def __init__(self, outages: Sequence[Outage], terms: OutageTerms, period: Period, of: Place) -> None:
        self.terms, self.period, self.of = terms, period, of
        self.removes = any(one.kind == REMOVED for one in outages)
        long_s = max(1, terms.longer_than_s)
        self._outages = {what: [one for one in outages if one.entry.what == what] for what in OUTAGES}
        of_system = [one for one in self._outages["system_interrupt"] if one.end - one.start >= long_s]
        self._outages["system_interrupt"] = of_system
        self._index = {name: number for number, name in enumerate(terms.node_names)}
        self._stride = period.end - period.begin + 1
        nodes = [self._spans("node_interrupt", kind) for kind in CLASSES]
        system = [*(self._spans("system_interrupt", kind) for kind in CLASSES), *self._too_few_nodes(nodes, long_s)]
        self._system = self._lanes(1, system)
        self._units = 1 if of == "system" else len(self._index)
        self._own = self._system if of == "system" else self._lanes(self._units, system, nodes)

    def _spans(self, what: str, kind: int) -> Spans:
        """Return the outages of a class on the axis of all nodes; outside the period they are reversed, so nothing."""
        begin, last = self.period.begin, self.period.end
        starts, ends = array("q"), array("q")
        for one in self._outages[what]:
            if one.kind == kind:
                known = (self._index[name] for name in one.entry.nodes if name in self._index)
                for unit in known if what == "node_interrupt" else (0,):
                    starts.append(unit * self._stride + max(one.start, begin) - begin)
                    ends.append(unit * self._stride + min(one.end, last) - begin)
        return union(starts, ends)

    def _too_few_nodes(self, nodes: list[Spans], long_s: int) -> list[Spans]:
        """Return when too few nodes are usable by outages that count, by those and removed ones, and by all."""
        dips, starts, ends = [], *union([], [])
        for kind in (COUNTED, REMOVED, SCHEDULED):
            starts, ends = union(np.append(starts, nodes[kind][0]), np.append(ends, nodes[kind][1]))
            begun = starts % self._stride
            moments = np.sort(np.append(begun, begun + ends - starts))
            deep = depth((begun, begun + ends - starts), moments) > len(self._index) - self.terms.least_nodes
            first, last = runs(moments, deep[:-1])
            keep = last - first >= long_s
            dips.append((first[keep], last[keep]))
        return dips

    def _lanes(self, units: int, system: Sequence[Spans], nodes: Sequence[Spans] = ()) -> Lanes:
        offsets = (np.arange(units, dtype=np.int64) * self._stride)[:, None]
        observed, whole, *spread = (
            ((offsets + starts).ravel(), (offsets + ends).ravel())
            for starts, ends in (self.period.observed, (np.array([0]), np.array([self._stride - 1])), *system)
        )
        return Lanes([*spread, *nodes], observed, whole)

    def account(self, until: int) -> TimeAccount:
        """Return the account from the beginning of the period to ``until``."""
        lanes, last = self._own, until - self.period.begin
        start = lanes.edges[:-1] % self._stride
        seconds = np.minimum(start + np.diff(lanes.edges), last) - np.minimum(start, last)
        observed = int(seconds[lanes.observed].sum())
        down = np.bincount(lanes.kinds[lanes.observed], weights=seconds[lanes.observed], minlength=len(CLASSES))
        scheduled, removed, unscheduled = (float(total) / HOUR_S for total in down[: len(CLASSES)])
        return TimeAccount(
            period=self._units * last / HOUR_S,
            up=observed / HOUR_S - (scheduled + removed + unscheduled),
            unscheduled=unscheduled,
            scheduled=scheduled,
            removed=removed,
            not_observed=(self._units * last - observed) / HOUR_S,
        )

    @functools.cached_property
    def uptime(self) -> Exposure:
        """Return the uptime as it grows over the period."""
        return self._exposure(self._own.observed & (self._own.kinds == UP))

    def shares(self, edges: npt.NDArray[np.float64]) -> list[list[float]]:
        """Return the share of each class, and of time not observed, between each two of ``edges``."""
        lanes = self._own
        chosen = [*(lanes.observed & (lanes.kinds == kind) for kind in CLASSES), lanes.inside & ~lanes.observed]
        hours = [np.diff(self._exposure(segments).before(edges)) for segments in chosen]
        return [(part * HOUR_S / self._units / np.diff(edges)).tolist() for part in hours]

    def _exposure(self, segments: Flags) -> Exposure:
        """Return the hours of segments of the axis, of all nodes together."""
        starts, ends = runs(self._own.edges, segments)
        begun = starts % self._stride + self.period.begin
        moments = np.concatenate((begun, begun + ends - starts))
        order = np.argsort(moments, kind="stable")
        edges = np.concatenate(([self.period.begin], moments[order], [self.period.end]))
        rates = np.concatenate(([0], np.cumsum(np.repeat([1, -1], len(starts))[order])))
        return Exposure(edges, np.concatenate(([0.0], np.cumsum(np.diff(edges) * rates) / HOUR_S)))

    @functools.cached_property
    def interrupts(self) -> list[Interrupt]:
        """Return the interrupts that count, in order. An interrupt that begins in time that does not count is none."""
        begin, last, lanes = self.period.begin, self.period.end, self._system
        counted = {what: [one for one in self._outages[what] if one.kind == COUNTED] for what in OUTAGES}
        begun = [Interrupt(one.start, min(one.end, last), (one.entry,)) for one in counted["system_interrupt"]]
        begun += [Interrupt(one.start, one.start, (one.entry,)) for one in counted["job_interrupt"]]
        first = {one.start: (one.entry,) for one in counted["node_interrupt"]}
        for start, end in pairs(runs(lanes.edges, lanes.numbers == _DIP)):
            begun.append(Interrupt(begin + start, begin + end, first.get(begin + start, ())))
        begun = _merged(begun, self.terms.merge_s, of_nodes=False)
        system = self._within(begun, lanes.observed & (lanes.kinds >= COUNTED))
        if self.of == "system":
            return system
        starts: dict[str, list[int]] = {}
        for interrupt in system:
            starts.setdefault(interrupt.cause, []).append(interrupt.start)
        begun = [
            Interrupt(one.start, min(one.end, last), (one.entry,))
            for one in counted["node_interrupt"]
            if not self._index.keys().isdisjoint(one.entry.nodes)
        ]
        begun = self._within(begun, lanes.observed & (lanes.kinds == UP))
        begun = [one for one in begun if not self._belongs(one, starts.get(one.cause, []))]
        return _merged(begun, self.terms.merge_s, of_nodes=True)

    def _within(self, interrupts: list[Interrupt], segments: Flags) -> list[Interrupt]:
        """Return the interrupts that begin in one of ``segments`` of the system."""
        moments = np.array([one.start for one in interrupts], dtype=np.int64) - self.period.begin
        at = np.searchsorted(self._system.edges, moments, "right")
        inside = np.concatenate(([False], segments, [False]))[at]
        return [one for one, keep in zip(interrupts, inside.tolist(), strict=True) if keep]

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
