"""Find the changes since the night before and the first thing to do, and write both as a short Markdown message."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from kappa.core.ground.clean_text import one_line
from kappa.core.ground.figures import counted, figure
from kappa.core.record.acknowledgements import NOTHING_ACKNOWLEDGED, Acknowledgement, Acknowledgements
from reports.history.judgement import JudgedSeries
from reports.history.listing import of_series
from reports.nightly.archive import Archive, node_coverage
from reports.nightly.night import Night, Problem
from reports.nightly.night_findings import findings_of_night, of_problem
from reports.verdict.state import State

# The most lines of a list: the message is for a phone, and the dashboard has the rest.
LIMIT = 8
LINE_LIMIT = 400
_MEANING = re.compile(r"([\\`*_\[\]<>#|~@&])")


@dataclass(frozen=True)
class NightChanges:
    """Hold the changes since the night before.

    ``verdict`` is empty if it did not change; ``worse`` and ``otherwise`` are series that changed since.
    """

    verdict: str
    failing: tuple[Problem, ...]
    mended: tuple[Problem, ...]
    suspects: tuple[str, ...]
    cleared: tuple[str, ...]
    worse: tuple[JudgedSeries, ...]
    otherwise: tuple[JudgedSeries, ...]

    @property
    def nothing(self) -> bool:
        found = (self.failing, self.mended, self.suspects, self.cleared, self.worse, self.otherwise)
        return not self.verdict and not any(found)


def changes_between(before: Night | None, now: Night, findings: list[JudgedSeries]) -> NightChanges:
    """Return the changes between two nights.

    ``findings`` cover the whole history. A finding is a change if it began after ``before`` or is found for the first
    time now.
    """
    was = {problem.case: problem for problem in _failed(before)}
    fails = {problem.case: problem for problem in _failed(now)}
    mended = [problem for case, problem in was.items() if case not in fails and _passed(case, now)]
    old = before.suspects if before else {}
    cleared = [node for node, evidence in old.items() if node not in now.suspects and _answered(evidence, now)]
    since = before.ended or before.started if before else 0.0
    of_tonight = [one for one in findings if one.finding.changed and one.series.times[-1] > since]
    new = [one for one in of_tonight if one.began > since or not one.known]
    changed = before is None or before.state is not now.state
    return NightChanges(
        verdict=f"{before.state.label if before else 'no earlier night'} → {now.state.label}" if changed else "",
        failing=tuple(problem for case, problem in fails.items() if case not in was),
        mended=tuple(mended),
        suspects=tuple(sorted(set(now.suspects) - set(old))),
        cleared=tuple(sorted(cleared)),
        worse=tuple(one for one in new if one.worse),
        otherwise=tuple(one for one in new if not one.worse),
    )


def _passed(case: str, now: Night) -> bool:
    """Return whether the case ran this night without a gap of its own and passed; gaps of other cases do not matter."""
    return not now.gaps if now.passed is None else case in now.passed


def _answered(evidence: tuple[str, ...], now: Night) -> bool:
    """Return whether all cases with evidence against a node passed this night.

    Each piece of evidence starts with the title of its case.
    """
    if now.passed is None:
        return not now.gaps
    passed = tuple(f"{case}: " for case in now.passed)
    return all(one.startswith(passed) for one in evidence)


def _failed(night: Night | None) -> list[Problem]:
    return [problem for problem in night.problems if problem.state is State.FAIL] if night else []


def first_step(
    night: Night, findings: list[JudgedSeries], acknowledged: Acknowledgements = NOTHING_ACKNOWLEDGED
) -> str:
    """Return the first thing to do; skip acknowledged findings.

    Look at the node with the most evidence against it, or else the first failure, the first gap or a worse series.
    """
    failed = [problem for problem in _failed(night) if not acknowledged.of(of_problem(night, problem))]
    if suspects := [node for node in sorted(night.suspects) if not acknowledged.of_node(node)]:
        node = max(suspects, key=lambda name: len(night.suspects[name]))
        about = next((problem for problem in failed if node in problem.line), failed[0] if failed else None)
        hint = f" Hint: {about.hint}." if about and about.hint else ""
        return f"Look at {node}: {counted(len(night.suspects[node]), 'finding')} against it.{hint}"
    if failed:
        hint = f" Hint: {failed[0].hint}." if failed[0].hint else ""
        return f"Look at {failed[0].case}: {failed[0].line}.{hint}"
    if night.gaps:
        return f"Find out why the night is incomplete: {night.gaps[0]}."
    if slow := [one for one in findings if one.worse and not acknowledged.of(of_series(one))]:
        one = slow[0]
        nodes = f" on {one.series.folded_nodes}" if one.series.nodes else ""
        changes = f" Changed at that time: {'; '.join(one.changes)}." if one.changes else ""
        return f"Look at {one.series.title}{nodes}, {one.verdict} since {one.since}.{changes}"
    return "Every finding is acknowledged." if findings_of_night(night, findings) else "Nothing to do."


def acknowledged_findings(archive: Archive, findings: list[JudgedSeries]) -> list[tuple[str, Acknowledgement]]:
    """Return the acknowledged findings of the newest night, by name."""
    named = [one.finding for one in findings_of_night(archive.nights[-1], findings)]
    return [(finding.name, known) for finding in named if (known := archive.acknowledged.of(finding))]


def message(site: str, archive: Archive, findings: list[JudgedSeries], links: Sequence[str] = ()) -> str:
    """Return the message on the newest night of ``archive``, which has at least one night.

    :param links: URLs of the night's pages, for the end of the message.
    """
    before, now = archive.before, archive.nights[-1]
    change = changes_between(before, now, findings)
    lines = [f"# {escape(site)}, night of {now.night}: {now.state.label}", "", f"{escape(now.headline)}.", ""]
    lines += [f"**First:** {escape(first_step(now, findings, archive.acknowledged))}", ""]
    if now.drain:
        lines += [
            "This command drains the node. Kappa does not run it:",
            "",
            f"    {one_line(now.drain[0], LINE_LIMIT)}",
            "",
        ]
    if now.actions:
        lines += ["## Nodes drained or resumed", "", *_listed([escape(line) for line in now.actions]), ""]
    since = f"Changed since the night of {before.night}" if before else "Found in the first night"
    lines += [f"## {since}", "", *_changes(change, archive), ""]
    lasting = [problem for problem in now.problems if problem.state is State.FAIL and problem not in change.failing]
    if lasting:
        lines += ["## Still failing", "", *_listed([_problem(problem, archive) for problem in lasting]), ""]
    if known := acknowledged_findings(archive, findings):
        lines += ["## Acknowledged", "", *_listed([escape(f"{name}: {one}") for name, one in known]), ""]
    if missing := (*now.gaps, *archive.damaged):
        lines += ["## Not judged", "", *_listed([escape(gap) for gap in missing]), ""]
    if now.left_out_by_budget:
        lines += [f"{escape(now.left_out_by_budget)}.", ""]
    lines += [escape(_covered(archive, now)), ""]
    lines += [f"<{link}>" for link in links]
    return "\n".join(lines).rstrip() + "\n"


def escape(text: str) -> str:
    """Return ``text`` on one line, with all Markdown and HTML markup escaped."""
    return _MEANING.sub(r"\\\1", one_line(text, LINE_LIMIT)).replace("://", ":\u200b//")


def _changes(change: NightChanges, archive: Archive) -> list[str]:
    lost = archive.lost
    if change.nothing and not lost:
        return ["Nothing."]
    lines = [
        f"lost night: {night.night} in {escape(night.folder)}; its machine failed, or the night was killed"
        for night in lost
    ]
    lines += [f"verdict: {change.verdict}"] if change.verdict else []
    known = archive.acknowledged
    lines += [f"new suspect: **{escape(node)}**{_until(known.of_node(node))}" for node in change.suspects]
    lines += [f"new: {_problem(problem, archive)}" for problem in change.failing]
    lines += [f"{one.verdict}: {_series(one)}{_until(known.of(of_series(one)))}" for one in change.worse]
    lines += [f"no longer fails: {escape(problem.case)}" for problem in change.mended]
    lines += [f"no longer suspect: {escape(node)}" for node in change.cleared]
    lines += [f"{one.verdict}: {_series(one)}" for one in change.otherwise]
    return _listed(lines)


def _problem(problem: Problem, archive: Archive) -> str:
    known = archive.acknowledged.of(of_problem(archive.nights[-1], problem))
    return escape(f"{problem.case}: {problem.line}") + _until(known)


def _until(known: Acknowledgement | None) -> str:
    """By whom and why stands further below."""
    return f", acknowledged until {known.until}" if known else ""


def _series(one: JudgedSeries) -> str:
    finding, unit = one.finding, one.series.unit
    place = f" on {one.series.nodes}" if one.series.of_one_node else ""
    what = f"{one.series.title}{place}, {figure(finding.before)} → {figure(finding.after)} {unit}".strip()
    changes = "; ".join(one.changes) or "no recorded fact"
    return escape(f"{what}; changed at that time: {changes}")


def _listed(lines: list[str]) -> list[str]:
    shown = [f"- {line}" for line in lines[:LIMIT]]
    return [*shown, f"- and {len(lines) - LIMIT} more"] if len(lines) > LIMIT else shown


def _covered(archive: Archive, now: Night) -> str:
    if not now.nights:
        return "This night has no rotation over nodes."
    overdue = [one.node for one in node_coverage(archive) if one.overdue]
    late = f"; overdue: {', '.join(overdue)}" if overdue else ""
    return (
        f"Nodes measured alone this night: {', '.join(now.covered) or 'none'}"
        f" (each of {counted(len(archive.nodes_with_turns), 'node')} within {counted(now.nights, 'night')}{late})."
    )
