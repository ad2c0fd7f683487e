"""Collect entries for the outage log: ask Slurm, keep its answers, append outages, note the observed time.

No entry is attributed: only a line of a party does that.
"""

import contextlib
import pathlib
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from kappa.app.conduct.node_commands import CommandError, NodeCommands
from kappa.core.ground.clean_text import one_line
from kappa.core.ground.errors import InputError
from kappa.core.ground.folders import results_folder
from kappa.core.ground.whole_files import read_text
from kappa.core.record.actions import load_actions
from kappa.core.record.reframe_report import MAX_REPORT_BYTES
from kappa.core.vocabulary.node_states import condition
from reports.acceptance.campaign.chained_lines import keep_raw
from reports.acceptance.campaign.job_rows import SACCT_OPTIONS, JobRow, parse_jobs
from reports.acceptance.campaign.layout import RAW
from reports.acceptance.campaign.slurm_answers import (
    CONFIG_COMMAND,
    EVENT_COMMAND,
    NODE_COMMAND,
    NodeEvent,
    parse_config,
    parse_events,
    parse_nodes,
)
from reports.acceptance.kinds.clause import Contract
from reports.acceptance.outages.log import Draft, LogEntry, OutageLog, utc, writing
from reports.acceptance.outages.terms import OutageTerms

BY = "kappa"
# slurmd computes the time of its node's boot anew each time.
_BOOT_S = 120
# Age of records that slurmdbd gets late, from a controller that could not reach it.
_BACK_S = 48 * 3600
_CONTROLLER = "slurmctld"


def collect(folder: pathlib.Path, contract: Contract, commands: NodeCommands) -> tuple[list[str], bool]:
    """Ask Slurm for outages since the last collection, and append them.

    Return lines about the new entries, and whether the sources answered, so that the time counts as observed.

    :raises InputError: another process writes the log, or it is damaged.
    """
    assert contract.observation
    # Slurm's times have no zone: in local time an hour of autumn would be there twice.
    commands.environment |= {"TZ": "UTC", "SLURM_TIME_FORMAT": "standard"}
    with writing(folder) as log:
        return _Collection(results_folder(contract.system), contract.observation, commands, log).run()


class _Collection:
    def __init__(self, results: pathlib.Path, terms: OutageTerms, commands: NodeCommands, log: OutageLog) -> None:
        self.results, self.terms, self.commands, self.log = results, terms, commands, log
        self.names = frozenset(terms.node_names)
        self.now = int(time.time())
        self.since = _observed_until(log)
        self.lines: list[str] = []
        self.raw: dict[str, str] = {}

    def run(self) -> tuple[list[str], bool]:
        of_accounting, *others = (
            self._drafts(source) for source in (self._of_accounting, self._of_controller, self._of_actions)
        )
        drafts = [draft for entries in (of_accounting, *others) for draft in entries or ()]
        fresh = [*_new_entries(self.log, drafts)]
        if of_accounting is None:
            self.lines.append("the time since the last collection is not observed yet; collect again")
        else:
            fresh += self._observed()
        numbers = self.log.append(fresh, self.now) if fresh else []
        self.lines += [f"line {number}: {_described(draft)}" for number, draft in zip(numbers, fresh, strict=True)]
        return self.lines, of_accounting is not None

    def _drafts(self, source: Callable[[], Iterable[Draft]]) -> list[Draft] | None:
        """Return the entries of a source; ``None`` if it does not answer."""
        try:
            return [*source()]
        except InputError as err:
            self.lines.append(str(err))
            return None

    def _ask(self, name: str, command: Sequence[str]) -> str:
        """Return an answer of Slurm, which is kept before it is read.

        :raises CommandError: see ``NodeCommands.run``.
        """
        answer = self.commands.run(command)
        stamp = f"{name}-{utc(self.now):%Y%m%dT%H%M%SZ}-{self.log.lines + 1}"
        self.raw[name] = keep_raw(self.log.folder, stamp, answer)
        return answer

    def _of_accounting(self) -> Iterator[Draft]:
        first = max(0, (self.now if self.since is None else self.since) - _BACK_S)
        start, end = (f"{utc(moment):%Y-%m-%dT%H:%M:%S}" for moment in (first, self.now + 1))
        events = parse_events(self._ask("sacctmgr", [*EVENT_COMMAND, f"start={start}", f"end={end}"]))
        died = [*self.commands.sacct, *SACCT_OPTIONS, "-s", "NF,BF", "-S", start, "-E", end]
        jobs = parse_jobs(self._ask("sacct", died), "sacct")
        yield from self._of_events(events)
        yield from self._of_jobs(jobs, events)
        # `_of_controller` reports that slurmctld does not answer.
        with contextlib.suppress(CommandError):
            yield from self._of_boots(events)

    def _of_events(self, events: Sequence[NodeEvent]) -> Iterator[Draft]:
        """Yield outages of nodes."""
        for event in events:
            if event.node in self.names and not condition(event.state).in_service:
                end, note = event.end, f"{event.state} {event.reason} ({event.user})"
                if end is not None and end < event.start:
                    end, note = None, f"{note}; Slurm says that it ended before it began"
                key = f"sacctmgr:{event.node}@{_second(event.start)}"
                yield self._outage("sacctmgr", key, (event.node,), event.start, end, note)

    def _of_jobs(self, jobs: Sequence[JobRow], events: Sequence[NodeEvent]) -> Iterator[Draft]:
        """Yield jobs that died of a node: an interrupt of all nodes, or of nodes that no event names."""
        for job in jobs:
            nodes = tuple(node for node in job.nodes if node in self.names)
            end = int(job.end) if job.end and job.end <= self.now else 0
            if not nodes or not end:
                continue
            key, note = f"sacct:{job.job}@{_second(end)}", f"job {job.job} of {len(job.nodes)} nodes: {job.state}"
            if len(nodes) == len(self.names):
                yield self._outage("sacct", key, (), end, end, note, what="job_interrupt")
            elif not any(_meet(event, end, self.terms.merge_s, 0) for event in events if event.node in nodes):
                yield self._outage("sacct", key, nodes, end, end, f"{note}; no event says which of them failed")

    def _of_boots(self, events: Sequence[NodeEvent]) -> Iterator[Draft]:
        """Yield nodes that were booted since the last collection without an event of Slurm."""
        kept = sorted((self.log.folder / RAW).glob("scontrol-*.txt"))
        before = parse_nodes(read_text(kept[-1], MAX_REPORT_BYTES)) if kept else []
        boots = {start.node: start.boot for start in before}
        for start in parse_nodes(self._ask("scontrol", NODE_COMMAND)):
            boot, last = start.boot, boots.get(start.node)
            if start.node not in self.names or boot is None or last is None or boot - last <= _BOOT_S:
                continue
            if not any(_meet(event, boot, _BOOT_S, _BOOT_S) for event in events if event.node == start.node):
                key, end = f"scontrol:{start.node}@{utc(boot):%FT%H:%MZ}", max(boot, start.daemon or boot)
                note = "it was booted without an event of Slurm; no source says when it went down"
                yield self._outage("scontrol", key, (start.node,), boot, end, note)

    def _of_actions(self) -> Iterator[Draft]:
        """Yield nodes that the quarantine took out of service, until it gave them back."""
        actions = [action for action in load_actions(self.results / "history") if action.outcome == "done"]
        for drain in actions:
            if drain.node in self.names and drain.what == "drain":
                ends = [
                    int(action.time)
                    for action in actions
                    if action.node == drain.node and action.time > drain.time and action.what in ("return", "release")
                ]
                note = "quarantine: " + "; ".join(f"{item.check}: {item.text}" for item in drain.evidence[:2])
                end = min(ends, default=None)
                yield self._outage("quarantine", f"action:{drain.number}", (drain.node,), int(drain.time), end, note)

    def _of_controller(self) -> Iterator[Draft]:
        """Yield an outage of slurmctld that begins, or ends, or was over before this collection."""
        entries = self.log.latest.values()
        silent = [entry for entry in entries if entry.by == BY and entry.source == _CONTROLLER and entry.end is None]
        try:
            started = parse_config(self._ask("config", CONFIG_COMMAND)).started
        except CommandError as err:
            if not silent:
                yield self._of_system("silent", self.now, None, f"slurmctld does not answer: {err}")
            return
        if silent:
            end = started if started is not None and started > silent[0].begins else self.now
            yield _ended(silent[0], end, (f"{_CONTROLLER}:answers@{_second(end)}", self.raw["config"]))
        elif started is not None and self.since is not None and started > self.since:
            yield self._of_system("started", started, started, "it was started; no source says when it had stopped")

    def _of_system(self, event: str, start: int, end: int | None, note: str) -> Draft:
        key, fields = f"{_CONTROLLER}:{event}@{_second(start)}", {"what": "system_interrupt", "cause": _CONTROLLER}
        return self._outage(_CONTROLLER, key, (), start, end, note, **fields)

    def _outage(
        self, source: str, key: str, nodes: tuple[str, ...], start: int, end: int | None, note: str, **fields: Any
    ) -> Draft:
        """Return an outage of nodes, unless ``fields`` say else. ``key`` is the same in each collection."""
        raw = self.raw.get(source, "").partition("=")[0]
        fields = {"what": "node_interrupt", "evidence": (key, raw) if raw else (key,), **fields}
        end_time = None if end is None else utc(end)
        note = one_line(note, 300)
        return Draft(by=BY, source=source, nodes=nodes, start=utc(start), end=end_time, note=note, **fields)

    def _observed(self) -> Iterator[Draft]:
        """Yield the time since the last collection; a silence that was too long was not observed."""
        since, gap_h, gap = self.now if self.since is None else self.since, self.terms.gap_h, ""
        if self.now < since:
            if all(entry.what != "observed" for entry in self.log.latest.values()):
                self.lines.append("the period has not begun")
                return
            gap = "the clock was set back"
        elif self.now - since > gap_h * 3600:
            gap = f"no collection for more than {gap_h:g} h"
        if gap:
            yield self._span("not_observed", min(since, self.now), max(since, self.now), gap)
        if self.now >= since:
            # After a gap, a new observation begins.
            yield self._span("observed", self.now if gap else since, self.now, "")

    def _span(self, what: str, start: int, end: int, note: str) -> Draft:
        return self._outage("collect", "", (), start, end, note, what=what, evidence=tuple(self.raw.values()))


def _meet(event: NodeEvent, moment: int, before_s: int, after_s: int) -> bool:
    return event.start - before_s <= moment <= (moment if event.end is None else event.end) + after_s


def _second(moment: int) -> str:
    return f"{utc(moment):%FT%TZ}"


def _observed_until(log: OutageLog) -> int | None:
    """Return the end of the observed time, or the beginning of the period; ``None`` without either."""
    seen = [entry.ends or entry.begins for entry in log.latest.values() if entry.what in ("observed", "not_observed")]
    begun = [entry.begins for entry in log.latest.values() if entry.what == "begin"]
    return max(seen or begun, default=None)


def _new_entries(log: OutageLog, drafts: Iterable[Draft]) -> Iterator[Draft]:
    """Yield the drafts that the log does not have, and corrections of entries that have ended since."""
    known: dict[str, LogEntry | None] = {}
    for latest in log.latest.values():
        for version in log.versions(latest):
            if version.by == BY and version.evidence:
                known[version.evidence[0]] = latest
    for draft in drafts:
        key = draft.evidence[0]
        if key not in known:
            known[key] = None
            yield draft
        elif (entry := known[key]) and entry.end is None and draft.end is not None and entry.what != "void":
            known[key] = None
            yield _ended(entry, int(draft.end.timestamp()), draft.evidence)


def _ended(entry: LogEntry, end: int, evidence: tuple[str, ...]) -> Draft:
    """Return the correction that gives ``entry`` its end; the fields that a party wrote stay."""
    end = max(entry.begins, end)
    return entry.corrected(by=BY, source=entry.source, end=utc(end), evidence=evidence, note=entry.note)


def _described(draft: Draft) -> str:
    start, end = (f"{moment:%F %T}" if moment else "open" for moment in (draft.start, draft.end))
    return f"{draft.what} {','.join(draft.nodes) or 'system'} {start} to {end} {draft.note}".rstrip()
