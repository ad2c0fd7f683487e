"""Entries that Slurm's answers and the suite's own actions propose. Nothing is attributed: only a party's line does."""

import datetime
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from kappa.core.ground.clean_text import one_line
from kappa.core.record.actions import Action
from kappa.core.vocabulary.node_states import condition
from reports.acceptance.campaign.slurm_answers import EndedJob, NodeEvent, NodeStart
from reports.acceptance.outages.log import UNKNOWN, Draft, LogEntry, OutageLog
from reports.acceptance.outages.terms import OutageTerms

BY = "kappa"
# slurmd computes the time of its node's boot anew each time.
_BOOT_S = 120
_NOTE = 300


@dataclass(frozen=True)
class RawPaths:
    """``paths``: where each command's answer is kept, by its name, as ``raw/NAME.txt``."""

    paths: Mapping[str, str]

    def line(self, command: str, number: int) -> str:
        return f"{self.paths[command]}:{number}"


def of_events(
    events: Iterable[NodeEvent],
    terms: OutageTerms,
    raw: RawPaths,
    last_answer: Mapping[str, Sequence[int]],
    patience_s: int,
) -> list[Draft]:
    """Outages of nodes. Slurm notices a dead node up to ``patience_s`` late: the outage begins with the last answer.

    :param last_answer: node -> moments at which it is known to have answered.
    """
    names = frozenset(terms.node_names)
    found = []
    for event in events:
        state = condition(event.state)
        if event.node not in names or state.in_service:
            continue
        start, note = event.start, f"{event.state} {event.reason} ({event.user})"
        earlier = [moment for moment in last_answer.get(event.node, ()) if start - patience_s <= moment < start]
        if earlier and is_silent(event):
            start = max(earlier)
            note += f"; its last answer, {event.start - start} s before Slurm noticed"
        end = event.end
        if end is not None and end < event.start:
            end, note = None, f"{note}; Slurm says that it ended before it began"
        key = f"sacctmgr:{event.node}@{utc(event.start):%Y-%m-%dT%H:%M:%SZ}"
        found.append(_outage("sacctmgr", (event.node,), start, end, note, key, raw.line("sacctmgr", event.line)))
    return found


def is_silent(event: NodeEvent) -> bool:
    """Return whether the node did not answer; Slurm then noticed the outage late."""
    return not condition(event.state).responds


def of_jobs(jobs: Iterable[EndedJob], events: Sequence[NodeEvent], terms: OutageTerms, raw: RawPaths) -> list[Draft]:
    """Jobs that died of a node: of all nodes it is one of the system; else one of nodes that no event names."""
    names = frozenset(terms.node_names)
    found = []
    for job in jobs:
        mine = tuple(node for node in job.nodes if node in names)
        whole = len(mine) == len(names)
        named = any(
            event.node in mine and event.start - terms.merge_s <= job.end <= (event.end or job.end) for event in events
        )
        if not mine or (named and not whole):
            continue
        note = f"job {job.job} of {len(job.nodes)} nodes: {job.state}"
        note += "" if whole or len(mine) == 1 else "; no event says which of its nodes failed"
        key = f"sacct:{job.job}@{utc(job.end):%Y-%m-%dT%H:%M:%SZ}"
        entry = _outage("sacct", mine, job.end, job.end, note, key, raw.line("sacct", job.line))
        found.append(replace(entry, what="job_interrupt", nodes=()) if whole else entry)
    return found


def of_boots(
    before: Sequence[NodeStart],
    now: Sequence[NodeStart],
    events: Sequence[NodeEvent],
    terms: OutageTerms,
    raw: RawPaths,
) -> list[Draft]:
    """Nodes that were booted since the last collection without an event: they show in their boot time alone."""
    names, earlier = frozenset(terms.node_names), {one.node: one.boot for one in before}
    found = []
    for one in now:
        last = earlier.get(one.node)
        if one.node not in names or one.boot is None or last is None or one.boot - last <= _BOOT_S:
            continue
        known = any(
            event.node == one.node and event.start - _BOOT_S <= one.boot <= (event.end or one.boot) + _BOOT_S
            for event in events
        )
        if not known:
            end = one.daemon if one.daemon is not None and one.daemon >= one.boot else one.boot
            key = f"scontrol:{one.node}@{utc(one.boot):%Y-%m-%dT%H:%MZ}"
            note = "it was booted without an event of Slurm's; when it went down no source says"
            found.append(_outage("scontrol", (one.node,), one.boot, end, note, key, raw.line("scontrol", one.line)))
    return found


def of_actions(actions: Sequence[Action], terms: OutageTerms) -> list[Draft]:
    """Nodes that the suite took out of service by the site's rule, until it gave them back."""
    names = frozenset(terms.node_names)
    found = []
    for action in actions:
        if action.node not in names or action.what != "drain" or action.outcome != "done":
            continue
        back = [
            one.time
            for one in actions
            if one.node == action.node and one.what in ("return", "release") and one.outcome == "done"
            and one.time > action.time
        ]  # fmt: skip
        why = "; ".join(f"{one.check}: {one.text}" for one in action.evidence[:2])
        note = f"quarantine: {why}"
        found.append(
            _outage("quarantine", (action.node,), int(action.time), int(min(back)) if back else None, note,
                    f"action:{action.number}", f"actions/{action.number}")
        )  # fmt: skip
    return found


def _outage(source: str, nodes: tuple[str, ...], start: int, end: int | None, note: str, key: str, place: str) -> Draft:
    return Draft(
        by=BY, source=source, what="node_interrupt", nodes=nodes, start=utc(start),
        end=None if end is None else utc(max(start, end)), cause=UNKNOWN, evidence=(key, place),
        note=one_line(note, _NOTE),
    )  # fmt: skip


def new_in(log: OutageLog, drafts: Iterable[Draft]) -> list[Draft]:
    """Those that the log does not have, and corrections of those that have ended since; a party's words stay."""
    known: dict[str, LogEntry] = {}
    for latest in log.latest.values():
        for version in log.versions(latest):
            if version.by == BY and version.evidence:
                known[version.evidence[0]] = latest
    found, taken = [], set[str]()
    for draft in drafts:
        key = draft.evidence[0]
        if key in taken:
            continue
        taken.add(key)
        if (entry := known.get(key)) is None:
            found.append(draft)
        elif entry.end is None and draft.end is not None and entry.what != "void":
            found.append(ended(entry, int(draft.end.timestamp()), draft.evidence))
    return found


def ended(entry: LogEntry, end: int, evidence: tuple[str, ...]) -> Draft:
    """The correction that gives ``entry`` its end."""
    return Draft(
        by=BY, source=entry.source, what=entry.what, nodes=entry.nodes, start=utc(entry.start),  # type: ignore[arg-type]
        end=utc(max(entry.start, end)), scheduled=entry.scheduled, cause=entry.cause,
        attribution=entry.attribution, exclusion=entry.exclusion, evidence=evidence, note=entry.note,  # type: ignore[arg-type]
        supersedes=str(entry.number),
    )  # fmt: skip


def utc(moment: float) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(int(moment), datetime.UTC)
