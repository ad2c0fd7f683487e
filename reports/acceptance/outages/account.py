"""The time account of an outage log: every second of system and nodes in one class, and interrupts merged by cause.

An entry that not all parties agreed to is judged both ways: it counts for the buyer, and does not for the vendor.
"""

import bisect
from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from reports.acceptance.kinds.clause import Contract
from reports.acceptance.outages.intervals import NONE, Intervals, Seconds, depth_at_least
from reports.acceptance.outages.log import OUTAGES, UNKNOWN, LogEntry, OutageLog
from reports.acceptance.outages.terms import OutageTerms

HOUR_S = 3600
Favour = Literal["buyer", "vendor"]
#: ``vendor``: outages of the vendor count; ``any``: those of any attribution; ``all``: also those that are excluded.
Counts = Literal["vendor", "any", "all"]
# Classes of an outage. One of a lower class is the reason for what a higher one would only be beside it.
SCHEDULED, REMOVED, COUNTED = range(3)
NOT_OBSERVED = 3
# On a timeline, spans closer together than this fraction of the period form one bar.
_RESOLUTION = 600
_MOST_ROWS = 12


@dataclass(frozen=True, slots=True)
class Outage:
    """A part of an entry in one class; ``start`` to ``end`` in seconds since 1970."""

    entry: LogEntry
    start: int
    end: int
    kind: int


@dataclass(frozen=True, slots=True)
class Interrupt:
    """All that has one cause; ``entries`` are the numbers of lines."""

    start: int
    end: int
    cause: str
    entries: tuple[int, ...]


@dataclass(frozen=True)
class TimeAccount:
    """Hours, or node-hours, of a period: ``up`` and the rest of it, by class; they add up to ``period``."""

    period: float
    up: float
    unscheduled: float
    scheduled: float
    removed: float
    """Excluded, or attributed to somebody whose outages do not count."""
    not_observed: float

    @property
    def not_observed_share(self) -> float:
        return self.not_observed / self.period if self.period else 1.0

    @property
    def availability(self) -> float | None:
        """In per cent; ``None`` where no time counts."""
        counted = self.up + self.unscheduled
        return 100 * self.up / counted if counted > 0 else None


@dataclass(frozen=True)
class Period:
    """The period that both parties agreed to observe: ``begin``, after the burn-in, to the ``end`` of observation."""

    begin: int
    end: int


def observed_of(log: OutageLog, parties: Sequence[str]) -> Intervals:
    """The time that was observed: silence is none. A line by hand counts when all parties agreed to it."""
    seen, unseen = [], []
    for entry in log.latest.values():
        if entry.what == "observed" and (entry.source != "hand" or log.is_agreed(entry, parties)):
            seen.append(entry)
        elif entry.what == "not_observed":
            unseen.append(entry)
    last = max((entry.end or entry.start for entry in seen), default=0)
    return _union(seen, last) - _union(unseen, last)


def _union(entries: Sequence[LogEntry], open_end: int) -> Intervals:
    starts = np.array([entry.start for entry in entries], dtype=np.int64)
    ends = np.array([open_end if entry.end is None else entry.end for entry in entries], dtype=np.int64)
    return Intervals.of(starts, ends)


def period_of(log: OutageLog, contract: Contract, terms: OutageTerms, observed: Intervals) -> tuple[Period | None, str]:
    """The period, or ``None`` and why there is none."""
    parties = list(contract.parties)
    begins = [entry for entry in log.latest.values() if entry.what == "begin"]
    if not begins:
        return None, "the outage log has no line that begins the period"
    if len(begins) > 1:
        return None, f"the outage log begins the period {len(begins)} times: {_numbers(begins)}"
    if not log.is_agreed(begins[0], parties):
        return None, f"not all parties agreed to the beginning of the period, entry {begins[0].number}"
    begin = begins[0].start + round(terms.burn_in_h * HOUR_S)
    end = int(observed.ends[-1]) if len(observed) else begin
    if end <= begin:
        return None, "nothing was observed after the burn-in"
    return Period(begin, end), ""


def _numbers(entries: Sequence[LogEntry]) -> str:
    return ", ".join(str(entry.number) for entry in entries)


def disputed(log: OutageLog, contract: Contract, counts: Counts) -> list[LogEntry]:
    """Return the outages that are judged both ways: a party did not agree, or the outage is not attributed."""
    parties = list(contract.parties)
    return [
        entry
        for entry in log.latest.values()
        if entry.what in (*OUTAGES, "void") and (not log.is_agreed(entry, parties) or _unattributed(entry, counts))
    ]


def _unattributed(entry: LogEntry, counts: Counts) -> bool:
    settled = entry.what == "void" or entry.exclusion or entry.scheduled or counts != "vendor"
    return not settled and entry.attribution is None


def outages_of(log: OutageLog, contract: Contract, terms: OutageTerms, counts: Counts, favour: Favour) -> list[Outage]:
    """Return every outage with its class; leave out void ones."""
    parties = list(contract.parties)
    found = []
    for entry in log.latest.values():
        if entry.what not in (*OUTAGES, "void"):
            continue
        agreed = log.is_agreed(entry, parties)
        if entry.what == "void":
            if agreed or favour == "vendor":
                continue
            # An entry that only one party took back still counts for the other.
            entry = next(version for version in log.versions(entry) if version.what != "void")  # noqa: PLW2901
            if entry.what not in OUTAGES:
                continue
        end = _FOREVER if entry.end is None else entry.end
        if not agreed or _unattributed(entry, counts):
            found.append(Outage(entry, entry.start, end, COUNTED if favour == "buyer" else REMOVED))
            continue
        found += _by_class(log, entry, end, parties, terms, counts)
    return found


_FOREVER = 1 << 40


def _by_class(
    log: OutageLog, entry: LogEntry, end: int, parties: list[str], terms: OutageTerms, counts: Counts
) -> list[Outage]:
    kind = COUNTED
    if counts != "all":
        theirs = counts == "vendor" and entry.attribution not in ("vendor", None)
        kind = REMOVED if theirs or entry.exclusion in terms.exclusions else COUNTED
    if not entry.scheduled:
        return [Outage(entry, entry.start, end, kind)]
    noticed = _noticed(log, entry, parties, terms)
    whole = Intervals.one(entry.start, end)
    return [
        Outage(entry, int(start), int(stop), one)
        for part, one in ((whole & noticed, SCHEDULED), (whole - noticed, kind))
        for start, stop in zip(part.starts, part.ends, strict=True)
    ]


def _noticed(log: OutageLog, entry: LogEntry, parties: list[str], terms: OutageTerms) -> Intervals:
    """The time for which all parties had agreed to a version of ``entry`` long enough before it began."""
    noticed = NONE
    for version in log.versions(entry):
        agreed = log.agreed.get(version.number, {})
        if version.scheduled and set(parties) <= agreed.keys() and version.end is not None:
            latest = max(agreed[party] for party in parties)
            if latest <= version.start - terms.notice_h * HOUR_S:
                noticed = noticed | Intervals.one(version.start, version.end)
    return noticed


#: Name of a row of a timeline, and its spans: class, start and end in seconds since 1970.
Row = tuple[str, tuple[tuple[int, int, int], ...]]


class Downtime:
    """When system and nodes were down in a period, by class.

    The system is down by its own entries, and while too few nodes are usable. An outage of the system is none of the
    nodes besides.
    """

    def __init__(self, outages: Sequence[Outage], terms: OutageTerms, period: Period, observed: Intervals) -> None:
        self.terms, self.period = terms, period
        self.names = terms.node_names
        self.index = {name: number for number, name in enumerate(self.names)}
        self.whole = Intervals.one(period.begin, period.end)
        self.observed = observed & self.whole
        self.outages = outages
        self._nodes = self._of_nodes()
        self.system_entries = [
            one
            for one in outages
            if one.entry.what == "system_interrupt" and one.end - one.start >= max(1, terms.longer_than_s)
        ]
        explicit = [self._clipped([one for one in self.system_entries if one.kind == kind]) for kind in range(3)]
        self.dips = self._dips(explicit)
        self.system = _by_priority([explicit[kind] | self.dips[kind] for kind in range(3)])

    def _clipped(self, outages: Sequence[Outage]) -> Intervals:
        starts = np.array([one.start for one in outages], dtype=np.int64)
        ends = np.array([one.end for one in outages], dtype=np.int64)
        return Intervals.of(starts, ends) & self.whole

    @property
    def _stride(self) -> int:
        """Return the distance of two nodes on a common axis. Each node has its own range, so one union covers all."""
        return self.period.end - self.period.begin + 1

    def _of_nodes(self) -> list[Intervals]:
        """The downtime of nodes by class, on the axis of all nodes."""
        edges = [(array("q"), array("q")) for _ in range(3)]
        begin, stop, stride = self.period.begin, self.period.end, self._stride
        for one in self.outages:
            if one.entry.what != "node_interrupt" or one.end <= begin or one.start >= stop:
                continue
            start, end = max(one.start, begin) - begin, min(one.end, stop) - begin
            starts, ends = edges[one.kind]
            for name in one.entry.nodes:
                number = self.index.get(name)
                if number is not None:
                    starts.append(number * stride + start)
                    ends.append(number * stride + end)
        return [
            Intervals.of(np.array(starts, dtype=np.int64), np.array(ends, dtype=np.int64)) for starts, ends in edges
        ]

    def _dips(self, explicit: list[Intervals]) -> list[Intervals]:
        """Where too few nodes are usable; a dip is of a class when the outages of it and of those that count more are
        enough for it."""
        found = [NONE, NONE, NONE]
        known = explicit[0] | explicit[1] | explicit[2]
        most_down = len(self.names) - self.terms.least_nodes
        nodes = NONE
        for kind in (COUNTED, REMOVED, SCHEDULED):
            nodes = nodes | self._nodes[kind]
            dips = depth_at_least(*self._on_one_axis(nodes), most_down + 1).at_least(max(1, self.terms.longer_than_s))
            found[kind] = dips - known
            known = known | dips
        return found

    def _on_one_axis(self, nodes: Intervals) -> tuple[Seconds, Seconds]:
        offset = nodes.starts // self._stride * self._stride - self.period.begin
        return nodes.starts - offset, nodes.ends - offset

    def _every_node(self, system: Intervals) -> Intervals:
        """An interval of the system as one of each node."""
        offsets = np.arange(len(self.names), dtype=np.int64) * self._stride - self.period.begin
        starts = (offsets[:, None] + system.starts[None, :]).ravel()
        return Intervals.of(starts, (offsets[:, None] + system.ends[None, :]).ravel())

    def account(self, of: str, until: int) -> TimeAccount:
        """The account of ``system`` or ``nodes`` from the beginning of the period to ``until``."""
        window = Intervals.one(self.period.begin, until)
        seen = self.observed & window
        of_system = [kind & seen for kind in self.system]
        if of == "system":
            whole, down = window, of_system
        else:
            whole, every = self._every_node(window), self._every_node(seen)
            taken = self._every_node(of_system[0] | of_system[1] | of_system[2])
            own = [(kind & every) - taken for kind in _by_priority(self._nodes)]
            down = [own[kind] | self._every_node(of_system[kind]) for kind in range(3)]
            seen = every
        hours = [kind.total / HOUR_S for kind in down]
        return TimeAccount(
            period=whole.total / HOUR_S,
            up=seen.total / HOUR_S - sum(hours),
            unscheduled=hours[COUNTED],
            scheduled=hours[SCHEDULED],
            removed=hours[REMOVED],
            not_observed=(whole.total - seen.total) / HOUR_S,
        )

    def exposure(self, of: str) -> "Exposure":
        """Uptime of ``system``, or of all ``nodes`` together, as it grows over the period."""
        system_up = self.observed - (self.system[0] | self.system[1] | self.system[2])
        if of == "system":
            return Exposure.of([(system_up.starts, 1), (system_up.ends, -1)], self.period)
        down = self._nodes[0] | self._nodes[1] | self._nodes[2]
        up = self._on_one_axis(self._every_node(system_up) - down)
        return Exposure.of([(up[0], 1), (up[1], -1)], self.period)

    def interrupts(self, of: str) -> list[Interrupt]:
        """Those that count, merged, in order; one that begins in time that does not count is none."""
        counted = self.observed - (self.system[SCHEDULED] | self.system[REMOVED])
        system = [one for one in self._system_interrupts() if _in(counted, one.start)]
        return system if of == "system" else self._node_interrupts(system)

    def rows(self) -> tuple[Row, ...]:
        """Return a timeline: the system with its unobserved time, and the nodes that were down longest."""
        unseen = self.whole - self.observed
        found: list[Row] = [("system", self._spans([*self.system, unseen], 0))]
        own = _by_priority(self._nodes)
        down = own[0] | own[1] | own[2]
        hours = np.bincount(down.starts // self._stride, weights=down.ends - down.starts, minlength=len(self.names))
        for number in np.argsort(-hours, kind="stable")[:_MOST_ROWS].tolist():
            if hours[number]:
                mine = [kind.between(number * self._stride, (number + 1) * self._stride) for kind in own]
                found.append((self.names[number], self._spans(mine, number * self._stride - self.period.begin)))
        return tuple(found)

    def _spans(self, kinds: list[Intervals], offset: int) -> tuple[tuple[int, int, int], ...]:
        """Spans of each class; what lies nearer together than a line is wide is one."""
        gap = (self.period.end - self.period.begin) // _RESOLUTION
        found = []
        for kind, spans in enumerate(kinds):
            wide = Intervals.of(spans.starts, spans.ends + gap)
            found += [
                (kind, start - offset, end - offset - gap)
                for start, end in zip(wide.starts.tolist(), wide.ends.tolist(), strict=True)
            ]
        return tuple(found)

    def _system_interrupts(self) -> list[Interrupt]:
        begun = [
            Interrupt(one.start, min(one.end, self.period.end), one.entry.cause, (one.entry.number,))
            for one in self.system_entries
            if one.kind == COUNTED
        ]
        begun += [
            Interrupt(one.start, one.start, one.entry.cause, (one.entry.number,))
            for one in self.outages
            if one.kind == COUNTED and one.entry.what == "job_interrupt"
        ]
        if len(self.dips[COUNTED]):
            first = {
                one.start: one.entry
                for one in self.outages
                if one.kind == COUNTED and one.entry.what == "node_interrupt"
            }
            for start, end in zip(self.dips[COUNTED].starts.tolist(), self.dips[COUNTED].ends.tolist(), strict=True):
                entry = first.get(start)
                begun.append(Interrupt(start, end, entry.cause if entry else UNKNOWN, (entry.number,) if entry else ()))
        return self._merged(sorted(begun, key=lambda one: (one.start, one.entries)))

    def _merged(self, begun: list[Interrupt]) -> list[Interrupt]:
        """One interrupt for what has the same cause and begins within ``merge_s``, or begins while it lasts."""
        merged: list[Interrupt] = []
        last: dict[str, int] = {}
        for one in begun:
            at = last.get(one.cause)
            if at is None or one.start > merged[at].start + self.terms.merge_s:
                at = len(merged) - 1 if merged and one.start < merged[-1].end else None
            if at is None:
                last[one.cause] = len(merged)
                merged.append(one)
                continue
            group = merged[at]
            merged[at] = Interrupt(group.start, max(group.end, one.end), group.cause, group.entries + one.entries)
        return merged

    def _node_interrupts(self, system: list[Interrupt]) -> list[Interrupt]:
        """Return interrupts of nodes outside system interrupts; unknown causes are equal on the same nodes only."""
        down = self.system[0] | self.system[1] | self.system[2]
        mine = [
            one
            for one in self.outages
            if one.kind == COUNTED
            and one.entry.what == "node_interrupt"
            and any(name in self.index for name in one.entry.nodes)
        ]
        mine.sort(key=lambda one: (one.start, one.entry.number))
        starts = np.array([one.start for one in mine], dtype=np.int64)
        begins_here = self.observed.holds(starts) & ~down.holds(starts)
        times: dict[str, list[int]] = {}
        for interrupt in system:
            times.setdefault(interrupt.cause, []).append(interrupt.start)  # in order
        merged: list[Interrupt] = []
        last: dict[object, int] = {}
        ends: dict[str, tuple[int, int]] = {}
        for one, here in zip(mine, begins_here.tolist(), strict=True):
            cause, nodes, start = one.entry.cause, one.entry.nodes, one.start
            near = times.get(cause, [])
            # An unknown cause counts as the system interrupt's cause on nodes that were down when it began.
            until = min(one.end, start + self.terms.merge_s) if cause == UNKNOWN else start + self.terms.merge_s
            if not here or _any_between(near, start if cause == UNKNOWN else start - self.terms.merge_s, until):
                continue
            key: object = nodes if cause == UNKNOWN else cause
            at = last.get(key)
            if at is None or start > merged[at].start + self.terms.merge_s:
                # A node that is down already breaks no second time.
                out = [ends[name] for name in nodes if name in ends and start < ends[name][0]]
                at = out[0][1] if len(out) == len(nodes) else None
            end = min(one.end, self.period.end)
            if at is None:
                at = last[key] = len(merged)
                merged.append(Interrupt(start, end, cause, (one.entry.number,)))
            else:
                group = merged[at]
                entries = (*group.entries, one.entry.number)
                merged[at] = Interrupt(group.start, max(group.end, end), group.cause, entries)
            for name in nodes:
                if name not in ends or end > ends[name][0]:
                    ends[name] = (end, at)
        return merged


def _by_priority(kinds: list[Intervals]) -> list[Intervals]:
    """Disjoint: scheduled before removed before counted."""
    scheduled, removed, counted = kinds
    removed = removed - scheduled
    return [scheduled, removed, counted - scheduled - removed]


def _any_between(moments: list[int], first: int, last: int) -> bool:
    at = bisect.bisect_left(moments, first)
    return at < len(moments) and moments[at] <= last


def _in(intervals: Intervals, moment: int) -> bool:
    return bool(intervals.holds(np.array([moment], dtype=np.int64))[0])


@dataclass(frozen=True)
class Exposure:
    """Hours of uptime before each of ``moments``; it grows linearly between them."""

    moments: Seconds
    hours: npt.NDArray[np.float64]

    @classmethod
    def of(cls, changes: list[tuple[Seconds, int]], period: Period) -> "Exposure":
        """Build the exposure. ``changes``: moments, and the change in the number of running nodes there."""
        moments = np.concatenate([times for times, _ in changes])
        steps = np.concatenate([np.full(len(times), step, dtype=np.int64) for times, step in changes])
        order = np.argsort(moments, kind="stable")
        edges = np.concatenate(([period.begin], moments[order], [period.end]))
        rates = np.concatenate(([0], np.cumsum(steps[order])))
        return cls(edges, np.concatenate(([0.0], np.cumsum(np.diff(edges) * rates) / HOUR_S)))

    def before(self, interrupts: Sequence[Interrupt]) -> list[float]:
        """The hours before each interrupt."""
        starts = np.array([one.start for one in interrupts], dtype=np.int64)
        return [float(hours) for hours in np.interp(starts, self.moments, self.hours)]

    @property
    def total(self) -> float:
        return float(self.hours[-1])

    def reaches(self, hours: float) -> int | None:
        """The first second at which so many hours are reached; ``None`` when they are not."""
        # Times are whole seconds: half a second of every node is no shortfall.
        if self.total + 1e-6 < hours:
            return None
        at = int(np.searchsorted(self.hours, min(hours, self.total)))
        if at == 0:
            return int(self.moments[0])
        done, grows = self.hours[at - 1], self.hours[at] - self.hours[at - 1]
        share = (min(hours, self.total) - done) / grows if grows else 0.0
        return int(np.ceil(self.moments[at - 1] + share * (self.moments[at] - self.moments[at - 1])))


def attributions(outages: Sequence[Outage]) -> Counter[str]:
    """How many outages each party has, by entry; ``excluded`` and ``scheduled`` by themselves."""
    found: Counter[str] = Counter()
    for number in {one.entry.number: one for one in outages}.values():
        entry = number.entry
        found["scheduled" if number.kind == SCHEDULED else entry.exclusion or entry.attribution or "unattributed"] += 1
    return found
