"""The time account of an outage log: every second of system and nodes in one class, and interrupts merged by cause.

An entry that not all parties agreed to is judged both ways: it counts for the buyer, and does not for the vendor.
"""

import bisect
import functools
import itertools
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from reports.acceptance.outages.log import OUTAGES, UNKNOWN, LogEntry, OutageLog
from reports.acceptance.outages.spans import Flags, Seconds, Spans, depth, pairs, runs, union
from reports.acceptance.outages.terms import OutageTerms

HOUR_S = 3600
Place = Literal["system", "nodes"]
Favour = Literal["buyer", "vendor"]
#: ``vendor``: outages of the vendor count; ``any``: those of any attribution; ``all``: also those that are excluded.
Counts = Literal["vendor", "any", "all"]
# Classes of time. Where outages overlap, the first class counts.
SCHEDULED, REMOVED, COUNTED, UP, NOT_OBSERVED = range(5)
CLASSES = (SCHEDULED, REMOVED, COUNTED)
# Classes of the lanes of the system: its entries, then too few nodes; last, no outage. The first lane counts.
_LANES = np.array([*CLASSES, COUNTED, REMOVED, SCHEDULED, UP])
_TOO_FEW_NODES = 3
_FOREVER = 1 << 40


class Outage(Struct, frozen=True, gc=False):
    """Hold an outage of one class, or several that are one interrupt; times are in seconds since 1970.

    ``entries`` may be empty if too few nodes were usable.
    """

    start: int
    end: int
    entries: tuple[LogEntry, ...]
    kind: int = COUNTED

    @property
    def cause(self) -> str:
        return self.entries[0].cause if self.entries else UNKNOWN

    @property
    def nodes(self) -> tuple[str, ...]:
        return self.entries[0].nodes if self.entries else ()


@dataclass(frozen=True)
class TimeAccount:
    """Hold hours, or node-hours, of a period by class; the classes add up to ``period``.

    ``removed``: excluded, or attributed to a party whose outages do not count.
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
    """Hold the time from ``begin``, after the burn-in, to the ``end`` of observation; ``observed`` since ``begin``."""

    begin: int
    end: int
    observed: Spans


@dataclass(frozen=True)
class OutageRules:
    """Derive the period and the outages of a log from the terms of a contract, with the agreements of its parties."""

    log: OutageLog
    parties: Sequence[str]
    terms: OutageTerms

    def period(self) -> Period | str:
        """Return the period, or the reason why there is none. Silence is not observed time.

        A line by hand counts as observed time when all parties agreed to it.
        """
        begins, seen, silence = (
            [entry for entry in self.log.latest.values() if entry.what == what]
            for what in ("begin", "observed", "not_observed")
        )
        if len(begins) != 1:
            numbers = ", ".join(entry.id for entry in begins) or "no entry"
            return f"the outage log begins the period {len(begins)} times ({numbers}): expected once"
        if self._lacking(begins[0]):
            return f"not all parties agreed to the beginning of the period, entry {begins[0].id}"
        seen = [entry for entry in seen if entry.source != "hand" or not self._lacking(entry)]
        last = max((entry.ends or entry.begins for entry in seen), default=0)
        observed, missing = (
            union([entry.begins for entry in group], [last if entry.ends is None else entry.ends for entry in group])
            for group in (seen, silence)
        )
        moments = np.sort(np.concatenate((*observed, *missing)))
        starts, ends = runs(moments, ((depth(observed, moments) > 0) & (depth(missing, moments) == 0))[:-1])
        begin = begins[0].begins + round(self.terms.burn_in_h * HOUR_S)
        end = int(ends[-1]) if len(ends) else begin
        if end <= begin:
            return "nothing was observed after the burn-in"
        return Period(begin, end, union(np.maximum(starts, begin) - begin, ends - begin))

    def disputed(self, counts: Counts) -> list[str]:
        """Return the ids of the entries that are judged both ways."""
        kinds, entries = (*OUTAGES, "void"), self.log.latest.values()
        return [entry.id for entry in entries if entry.what in kinds and self._is_open(entry, counts)]

    def outages(self, counts: Counts, favour: Favour) -> list[Outage]:
        """Return every outage with its class; leave out void ones."""
        outages = []
        for entry in self.log.latest.values():
            is_open = self._is_open(entry, counts)
            if entry.what == "void" and is_open and favour == "buyer":
                # An entry that only one party took back still counts for the other.
                versions = (version for version in self.log.versions(entry) if version.what != "void")
                entry = next(versions, entry)  # noqa: PLW2901
            if entry.what not in OUTAGES:
                continue
            other = counts == "vendor" and entry.attribution not in ("vendor", None)
            removed = counts != "all" and (other or entry.exclusion in self.terms.exclusions)
            kind = REMOVED if (favour == "vendor" if is_open else removed) else COUNTED
            start, end = entry.begins, _FOREVER if entry.ends is None else entry.ends
            agreed = entry.scheduled and not is_open
            noticed = self._noticed(entry) if agreed else []
            edges = [start, *(min(max(edge, start), end) for edge in noticed), end]
            for (first, last), part in zip(itertools.pairwise(edges), itertools.cycle((kind, SCHEDULED)), strict=False):
                if first < last or not agreed:
                    outages.append(Outage(first, last, (entry,), part))
        return outages

    def _lacking(self, entry: LogEntry) -> list[str]:
        return self.log.lacking(entry, self.parties)

    def _is_open(self, entry: LogEntry, counts: Counts) -> bool:
        """Return whether an outage is judged both ways: a party did not agree, or the outage is not attributed."""
        settled = entry.what == "void" or entry.exclusion or entry.scheduled or entry.attribution or counts != "vendor"
        return not settled or bool(self._lacking(entry))

    def _noticed(self, entry: LogEntry) -> list[int]:
        """Return starts and ends of the times to which all parties agreed long enough before they began, in order."""
        noticed = [
            version
            for version in self.log.versions(entry)
            if version.scheduled
            and not self._lacking(version)
            and max(self.log.agreed[party][version.number] for party in self.parties)
            <= version.begins - self.terms.notice_h * HOUR_S
        ]
        spans = union([version.begins for version in noticed], [version.ends or 0 for version in noticed])
        return [edge for span in pairs(spans) for edge in span]


class Downtime:
    """Derive the class of each second of a period, and the interrupts, ``of`` the system or of its nodes.

    The system is down by its own entries, and while too few nodes are usable. An outage of the system is no outage of
    the nodes besides. ``uptime`` has the hours before each of ``edges``, which are in seconds since the period began.
    """

    def __init__(self, outages: Sequence[Outage], terms: OutageTerms, period: Period, of: Place) -> None:
        self.terms, self.period, self.of = terms, period, of
        self.removes = any(outage.kind == REMOVED for outage in outages)
        long_s = max(1, terms.longer_than_s)
        self._outages: dict[str, list[Outage]] = {what: [] for what in OUTAGES}
        for outage in outages:
            what = outage.entries[0].what
            if what != "system_interrupt" or outage.end - outage.start >= long_s:
                self._outages[what].append(outage)
        self._index = {name: number for number, name in enumerate(terms.node_names)}
        self._units = len(self._index) if of == "nodes" else 1
        self._length = period.end - period.begin
        by_class = [self._spans("node_interrupt", kind) for kind in CLASSES]
        lanes = [self._spans("system_interrupt", kind) for kind in CLASSES]
        lanes += [self._too_few(self._down(by_class[kind:]), long_s) for kind in (COUNTED, REMOVED, SCHEDULED)]
        nodes = [self._down(by_class[: kind + 1]) for kind in CLASSES] if of == "nodes" else []
        times = [times for spans in (period.observed, *lanes, *nodes) for times in spans]
        self.edges = np.sort(np.concatenate(([0, self._length], *times)))
        moments = self.edges[:-1]
        self._lanes = np.full(len(moments), len(_LANES) - 1)
        for number in reversed(range(len(lanes))):
            self._lanes[depth(lanes[number], moments) > 0] = number
        self._kinds, self._observed = _LANES[self._lanes], depth(period.observed, moments) > 0
        # Whole seconds, so that the sums are exact.
        spent = self._rates([depth(spans, moments) for spans in nodes]) * np.diff(self.edges)
        self._seconds = np.cumsum(np.pad(spent, ((0, 0), (1, 0))), axis=1)
        self.uptime = self._seconds[UP] / HOUR_S

    def _rates(self, down: Sequence[Seconds]) -> Seconds:
        """Return how many units are in each class, between each two edges.

        :param down: how many nodes are down by each class and the classes before it.
        """
        rates = self._units * (self._kinds == np.arange(NOT_OBSERVED)[:, None])
        if down:
            up = self._kinds == UP
            rates[:, up] = np.diff(down, axis=0, prepend=0, append=self._units)[:, up]
        return np.vstack((rates * self._observed, self._units * ~self._observed))

    def _spans(self, what: str, kind: int) -> Spans:
        """Return the outages of a class since the period began; each node has a range of the axis of its own.

        Outages outside the period are reversed, so nothing.
        """
        begin, last, stride = self.period.begin, self.period.end, self._length + 1
        starts, ends = array("q"), array("q")
        for outage in self._outages[what]:
            if outage.kind == kind:
                known = (self._index[name] for name in outage.nodes if name in self._index)
                for unit in known if what == "node_interrupt" else (0,):
                    starts.append(unit * stride + max(outage.start, begin) - begin)
                    ends.append(unit * stride + min(outage.end, last) - begin)
        return union(starts, ends)

    def _down(self, spans: Sequence[Spans]) -> Spans:
        """Return when nodes are down by any of ``spans``, all on one range."""
        starts, ends = union(*(np.concatenate(times) for times in zip(*spans, strict=True)))
        begun = starts % (self._length + 1)
        return begun, begun + ends - starts

    def _too_few(self, down: Spans, long_s: int) -> Spans:
        """Return when too few nodes are usable for ``long_s``."""
        moments = np.sort(np.concatenate(down))
        starts, ends = runs(moments, depth(down, moments)[:-1] > len(self._index) - self.terms.least_nodes)
        keep = ends - starts >= long_s
        return starts[keep], ends[keep]

    def account(self, until: int) -> TimeAccount:
        """Return the account from the beginning of the period to ``until``."""
        last = until - self.period.begin
        seconds = [float(np.interp(last, self.edges, total)) for total in self._seconds]
        scheduled, removed, unscheduled = (seconds[kind] / HOUR_S for kind in CLASSES)
        return TimeAccount(
            period=self._units * last / HOUR_S,
            up=sum(seconds[:NOT_OBSERVED]) / HOUR_S - (scheduled + removed + unscheduled),
            unscheduled=unscheduled,
            scheduled=scheduled,
            removed=removed,
            not_observed=seconds[NOT_OBSERVED] / HOUR_S,
        )

    def uptime_before(self, moments: Sequence[int]) -> list[float]:
        """Return the hours up before each of ``moments``."""
        hours: list[float] = np.interp(np.array(moments) - self.period.begin, self.edges, self.uptime).tolist()
        return hours

    def reaches(self, hours: float) -> int | None:
        """Return the first second at which so many hours up are reached; ``None`` when they are not."""
        # Times are whole seconds: half a second of every node is no shortfall.
        if self.uptime[-1] + 1e-6 < hours:
            return None
        hours = min(hours, self.uptime[-1])
        at = max(1, int(np.searchsorted(self.uptime, hours)))
        (first, last), (done, then) = self.edges[at - 1 : at + 1], self.uptime[at - 1 : at + 1]
        share = (hours - done) / (then - done) if then > done else 0.0
        return int(np.ceil(self.period.begin + first + share * (last - first)))

    def shares(self, edges: npt.NDArray[np.float64]) -> list[list[float]]:
        """Return, between each two of ``edges``, the share of each class and of time not observed, in per cent."""
        chosen = self._seconds[[*CLASSES, NOT_OBSERVED]]
        seconds = [np.interp(edges - self.period.begin, self.edges, total) for total in chosen]
        shares: list[list[float]] = (100 * np.diff(seconds) / self._units / np.diff(edges)).T.tolist()
        return shares

    @functools.cached_property
    def interrupts(self) -> list[Outage]:
        """Return the interrupts that count, in order. An interrupt that begins in time that does not count is none."""
        begin, last, merge_s = self.period.begin, self.period.end, self.terms.merge_s
        of_system, of_nodes, of_jobs = (
            [
                Outage(outage.start, min(outage.end, last), outage.entries)
                for outage in self._outages[what]
                if outage.kind == COUNTED
            ]
            for what in OUTAGES
        )
        first = {outage.start: outage.entries for outage in of_nodes}
        too_few = [
            Outage(begin + start, begin + end, first.get(begin + start, ()))
            for start, end in pairs(runs(self.edges, self._lanes == _TOO_FEW_NODES))
        ]
        deaths = [Outage(death.start, death.start, death.entries) for death in of_jobs]
        system = _merged([*of_system, *deaths, *too_few], merge_s, of_nodes=False)
        system = self._within(system, self._observed & (self._kinds >= COUNTED))
        if self.of == "system":
            return system
        starts: dict[str, list[int]] = {}
        for interrupt in system:
            starts.setdefault(interrupt.cause, []).append(interrupt.start)
        known = [outage for outage in of_nodes if not self._index.keys().isdisjoint(outage.nodes)]
        begun = self._within(known, self._observed & (self._kinds == UP))
        return _merged([outage for outage in begun if not self._belongs(outage, starts)], merge_s, of_nodes=True)

    def _within(self, outages: list[Outage], segments: Flags) -> list[Outage]:
        """Return the outages that begin in one of ``segments`` between the edges."""
        starts = np.array([outage.start for outage in outages], dtype=np.int64) - self.period.begin
        inside = np.pad(segments, 1)[np.searchsorted(self.edges, starts, "right")]
        return list(itertools.compress(outages, inside))

    def _belongs(self, outage: Outage, starts_of: dict[str, list[int]]) -> bool:
        """Return whether an outage of nodes belongs to a system interrupt of the same cause.

        :param starts_of: cause -> starts of the system interrupts.
        """
        first, last = outage.start - self.terms.merge_s, outage.start + self.terms.merge_s
        if outage.cause == UNKNOWN:
            # It counts as the system interrupt's cause on nodes that were down when it began.
            first, last = outage.start, min(outage.end, last)
        starts = starts_of.get(outage.cause, [])
        at = bisect.bisect_left(starts, first)
        return at < len(starts) and starts[at] <= last


def _merged(begun: list[Outage], merge_s: int, *, of_nodes: bool) -> list[Outage]:
    """Return one interrupt for all that have one cause and begin within ``merge_s`` of the first.

    Unknown causes are equal on the same nodes only. A system, or nodes, that are down already break no second time.
    """
    merged: list[Outage] = []
    last: dict[object, int] = {}
    down: dict[str, tuple[int, int]] = {}  # place -> end, number of the interrupt
    for outage in sorted(begun, key=lambda outage: (outage.start, outage.entries[0].number if outage.entries else 0)):
        places = outage.nodes if of_nodes else ("",)
        key = places if outage.cause == UNKNOWN else outage.cause
        at = last.get(key)
        if at is None or outage.start > merged[at].start + merge_s:
            still = [down[place][1] for place in places if place in down and outage.start < down[place][0]]
            at = still[0] if len(still) == len(places) else None
        if at is None:
            at = last[key] = len(merged)
            merged.append(outage)
        else:
            group = merged[at]
            merged[at] = Outage(group.start, max(group.end, outage.end), group.entries + outage.entries)
        for place in places:
            if place not in down or outage.end > down[place][0]:
                down[place] = (outage.end, at)
    return merged
