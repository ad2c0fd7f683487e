"""Collecting for the outage log: Slurm is asked, its answers are kept, entries are proposed, observed time is noted."""

import datetime
import pathlib
import time
from collections.abc import Sequence

from reports.acceptance.outage_log import RAW, Draft, LogWriter, OutageLog, keep_raw, writing
from reports.acceptance.outage_proposals import (
    BY,
    RawPaths,
    ended,
    is_silent,
    new_in,
    of_actions,
    of_boots,
    of_events,
    of_jobs,
    utc,
)
from reports.acceptance.slurm_answers import (
    COMPLETED_OPTIONS,
    CONFIG_COMMAND,
    EVENT_COMMAND,
    JOB_OPTIONS,
    NODE_COMMAND,
    NodeEvent,
    parse_config,
    parse_events,
    parse_jobs,
    parse_nodes,
)

from kappa.app.conduct.node_commands import CommandError, NodeCommands
from kappa.core.ground.errors import InputError
from kappa.core.ground.folders import results_folder
from kappa.core.ground.node_lists import folded
from kappa.core.ground.whole_files import read_text
from kappa.core.record.actions import load_actions
from kappa.core.record.load import MAX_REPORT_BYTES
from kappa.core.sites.contract import Contract
from kappa.core.sites.outage_clauses import OutageTerms
from reports.acceptance.outages import HOUR_S
from reports.nightly.archive import NIGHTS
from reports.nightly.night import SUMMARY, load_night

# Age of records that slurmdbd gets late, from a controller that could not reach it.
_BACK_S = 48 * HOUR_S
_CONTROLLER = "slurmctld"


def collect(folder: pathlib.Path, contract: Contract, commands: NodeCommands) -> tuple[list[str], bool]:
    """Ask Slurm for outages since the last collection, and append them.

    Return what was done, in words, and whether the sources answered, so that the time counts as observed.

    :raises InputError: another process writes the log, or it is damaged.
    """
    terms = contract.observation
    if terms is None:
        raise InputError("the contract has no clause about outages, and no contract.observation")
    # Slurm's times have no zone: in local time an hour of autumn would be there twice.
    commands.environment |= {"TZ": "UTC", "SLURM_TIME_FORMAT": "standard"}
    with writing(folder) as writer:
        return _Collection(folder, contract, terms, commands, writer).run()


class _Collection:
    def __init__(
        self, folder: pathlib.Path, contract: Contract, terms: OutageTerms, commands: NodeCommands, writer: LogWriter
    ) -> None:
        self.folder, self.terms, self.commands, self.writer = folder, terms, commands, writer
        self.results = results_folder(contract.system)
        self.now = int(time.time())
        self.said: list[str] = []
        self.raw: dict[str, str] = {}

    @property
    def log(self) -> OutageLog:
        return self.writer.log

    def run(self) -> tuple[list[str], bool]:
        since = _observed_until(self.log)
        first = max(0, (self.now if since is None else since) - _BACK_S)
        drafts, whole = self._of_accounting(first)
        drafts += self._of_controller()
        try:
            drafts += of_actions(load_actions(self.results / "history"), self.terms)
        except InputError as err:
            self.said.append(f"quarantine: {err}")
        fresh = new_in(self.log, drafts)
        fresh += self._observed(since) if whole else []
        if not whole:
            self.said.append("the time since the last collection is not observed yet; collect again")
        numbers = self.writer.append(fresh, self.now) if fresh else []
        self.said += [f"line {number}: {_words(draft)}" for number, draft in zip(numbers, fresh, strict=True)]
        return self.said, whole

    def _ask(self, name: str, command: Sequence[str]) -> str:
        """:raises CommandError: see ``NodeCommands.run``; an answer is kept before it is read."""
        answer = self.commands.run(command)
        stamp = f"{utc(self.now):%Y%m%dT%H%M%SZ}"
        self.raw[name] = keep_raw(self.folder, f"{name}-{stamp}-{self.log.lines + 1}", answer)
        return answer

    @property
    def _paths(self) -> RawPaths:
        return RawPaths({name: kept.partition("=")[0] for name, kept in self.raw.items()})

    def _of_accounting(self, first: int) -> tuple[list[Draft], bool]:
        """Proposals, and whether the accounting answered to everything."""
        start, end = (f"{utc(moment):%Y-%m-%dT%H:%M:%S}" for moment in (first, self.now + 1))
        try:
            # A daemon that died is noticed within about twice its time-out.
            patience_s = 2 * parse_config(self.commands.said(CONFIG_COMMAND) or "").node_timeout_s
            events = parse_events(self._ask("sacctmgr", [*EVENT_COMMAND, f"start={start}", f"end={end}"]))
            jobs = parse_jobs(self._ask("sacct", [*self.commands.sacct, *JOB_OPTIONS, "-S", start, "-E", end]))
            answers = self._last_answers(events, patience_s)
        except InputError as err:
            self.said.append(str(err))
            return [], False
        drafts = of_events(events, self.terms, self._paths, answers, patience_s)
        drafts += of_jobs(jobs, events, self.terms, self._paths)
        earlier = self._last_raw("scontrol")
        try:
            now = parse_nodes(self._ask("scontrol", NODE_COMMAND))
            drafts += of_boots(parse_nodes(earlier), now, events, self.terms, self._paths)
        except CommandError:
            pass  # the controller's own silence is told elsewhere
        except InputError as err:
            self.said.append(str(err))
            return drafts, False
        return drafts, True

    def _of_controller(self) -> list[Draft]:
        """An outage of the controller that goes on, ends, or was over before anybody looked."""
        silent = next(
            (entry for entry in self.log.latest.values()
             if entry.by == BY and entry.source == _CONTROLLER and entry.end is None), None,
        )  # fmt: skip
        try:
            started = parse_config(self._ask("config", CONFIG_COMMAND)).started
        except CommandError as err:
            if silent:
                return []
            key = f"{_CONTROLLER}:silent@{utc(self.now):%Y-%m-%dT%H:%M:%SZ}"
            return [_of_system(self.now, None, f"slurmctld does not answer: {err}", key)]
        except InputError as err:
            self.said.append(str(err))
            return []
        if silent:
            end = started if started is not None and started > silent.start else self.now
            return [ended(silent, end, (f"{_CONTROLLER}:answers@{utc(end):%Y-%m-%dT%H:%M:%SZ}", self.raw["config"]))]
        since = _observed_until(self.log)
        if started is None or since is None or started <= since:
            return []
        key = f"{_CONTROLLER}:started@{utc(started):%Y-%m-%dT%H:%M:%SZ}"
        return [_of_system(started, started, "slurmctld was started; when it had stopped no source says", key)]

    def _observed(self, since: int | None) -> list[Draft]:
        """The time since the last collection; after a silence that is too long it was not observed."""
        evidence = tuple(self.raw.values())
        if since is None:
            since = self.now
        if self.now < since and not any(entry.what == "observed" for entry in self.log.latest.values()):
            self.said.append("the period has not begun")
            return []
        if self.now < since:
            return [_span("not_observed", self.now, since, evidence, "the clock was set back")]
        if self.now - since > self.terms.gap_h * HOUR_S:
            why = f"no collection for more than {self.terms.gap_h:g} h"
            gap = _span("not_observed", since, self.now, evidence, why)
            # A new observation begins here.
            return [gap, _span("observed", self.now, self.now, evidence, "")]
        return [_span("observed", since, self.now, evidence, "")]

    def _last_raw(self, name: str) -> str:
        kept = sorted((self.folder / RAW).glob(f"{name}-*.txt"))
        return read_text(kept[-1], MAX_REPORT_BYTES) if kept else ""

    def _last_answers(self, events: Sequence[NodeEvent], patience_s: int) -> dict[str, list[int]]:
        """Return node -> the ends of its nights with a result, and of jobs that completed before it fell silent.

        :raises InputError: the accounting does not answer.
        """
        found: dict[str, list[int]] = {}
        for path in sorted((self.results / NIGHTS).glob(f"*/{SUMMARY}")):
            try:
                night = load_night(path.parent)
            except InputError:
                continue  # one that is damaged tells of no answer
            if night.ended is not None:
                for node in night.covered:
                    found.setdefault(node, []).append(int(night.ended))
        known = frozenset(self.terms.node_names)
        if silent := [event for event in events if event.node in known and is_silent(event)]:
            starts = [event.start for event in silent]
            first, last = (f"{utc(moment):%Y-%m-%dT%H:%M:%S}" for moment in (min(starts) - patience_s, max(starts)))
            nodes = folded(event.node for event in silent)
            asked = [*self.commands.sacct, *COMPLETED_OPTIONS, "-N", nodes, "-S", first, "-E", last]
            for job in parse_jobs(self._ask("completed", asked)):
                for node in job.nodes:
                    found.setdefault(node, []).append(job.end)
        return found


def _observed_until(log: OutageLog) -> int | None:
    """The end of what was observed, or the beginning of the period; ``None`` without either."""
    seen = [entry.end or entry.start for entry in log.latest.values() if entry.what in ("observed", "not_observed")]
    begun = [entry.start for entry in log.latest.values() if entry.what == "begin"]
    return max(seen or begun, default=None)


def _of_system(start: int, end: int | None, note: str, key: str) -> Draft:
    return Draft(
        by=BY, source=_CONTROLLER, what="system_interrupt", start=utc(start), end=None if end is None else utc(end),
        cause=_CONTROLLER, evidence=(key,), note=note[:900],
    )  # fmt: skip


def _span(what: str, start: int, end: int, evidence: tuple[str, ...], note: str) -> Draft:
    return Draft(by=BY, source="collect", what=what, start=utc(start), end=utc(end), evidence=evidence, note=note)  # type: ignore[arg-type]


def _words(draft: Draft) -> str:
    nodes = ",".join(draft.nodes) or "system"
    return f"{draft.what} {nodes} {_time(draft.start)} to {_time(draft.end)} {draft.note}".rstrip()


def _time(moment: datetime.datetime | None) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S}" if moment else "open"
