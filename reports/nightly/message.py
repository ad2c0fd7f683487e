"""A short message in Markdown: what changed since last night, what to do first."""

import re

from kappa.core.ground.clean_text import one_line
from kappa.core.ground.figures import counted, figure
from reports.history.gate import Judged
from reports.nightly.archive import Archive
from reports.nightly.compare import Change, compare, first_step
from reports.nightly.coverage import coverage
from reports.nightly.night import Night, Problem
from reports.verdict.state import State

# A message is read on a phone; the dashboard has the rest.
LIMIT = 8
LINE_LIMIT = 400
_MEANING = re.compile(r"([\\`*_\[\]<>#|~@&])")


def message(site: str, archive: Archive, findings: list[Judged]) -> str:
    """The message on the newest night of ``archive``, which has at least one."""
    before, now = archive.before, archive.nights[-1]
    change = compare(before, now, findings)
    lines = [f"# {escape(site)}, night of {now.night}: {now.state.label}", "", f"{escape(now.headline)}.", ""]
    lines += [f"**First:** {escape(first_step(now, findings))}", ""]
    if now.drain:
        lines += [
            "To take it out of service (a suggestion, nothing runs it):",
            "",
            f"    {one_line(now.drain[0], LINE_LIMIT)}",
            "",
        ]
    if now.actions:
        lines += ["## Nodes out of service, or back", "", *_listed([escape(line) for line in now.actions]), ""]
    since = f"the night of {before.night}" if before else "ever"
    lines += [f"## Changed since {since}", "", *_changes(change, archive.lost), ""]
    lasting = [problem for problem in now.problems if problem.state is State.FAIL and problem not in change.failing]
    if lasting:
        lines += ["## Still failing", "", *_listed([_problem(problem) for problem in lasting]), ""]
    if missing := (*now.gaps, *archive.damaged):
        lines += ["## Not judged", "", *_listed([escape(gap) for gap in missing]), ""]
    if now.left_out_by_budget:
        lines += [f"{escape(now.left_out_by_budget)}.", ""]
    lines += [escape(_covered(archive, now))]
    return "\n".join(lines).rstrip() + "\n"


def escape(text: str) -> str:
    """``text`` on one line, with nothing in it that Markdown or HTML would act on."""
    return _MEANING.sub(r"\\\1", one_line(text, LINE_LIMIT)).replace("://", ":\u200b//")


def _changes(change: Change, lost: tuple[Night, ...]) -> list[str]:
    if change.nothing and not lost:
        return ["Nothing."]
    lines = [
        f"lost, its machine failed or it was killed: the night of {night.night} in {escape(night.folder)}"
        for night in lost
    ]
    lines += [f"verdict: {change.verdict}"] if change.verdict else []
    lines += [f"new suspect: **{escape(node)}**" for node in change.suspects]
    lines += [f"new: {_problem(problem)}" for problem in change.failing]
    lines += [f"{one.verdict}: {_series(one)}" for one in change.worse]
    lines += [f"mended: {escape(problem.case)}" for problem in change.mended]
    lines += [f"no longer suspect: {escape(node)}" for node in change.cleared]
    lines += [f"{one.verdict}: {_series(one)}" for one in change.otherwise]
    return _listed(lines)


def _problem(problem: Problem) -> str:
    return escape(f"{problem.case}: {problem.line}")


def _series(one: Judged) -> str:
    finding, unit = one.finding, one.series.unit
    place = f" on {one.series.nodes}" if one.series.of_one_node else ""
    what = f"{one.series.title}{place}, {figure(finding.before)} → {figure(finding.after)} {unit}".strip()
    changes = "; ".join(one.changes) or "nothing else that is recorded"
    return escape(f"{what}; changed at that time: {changes}")


def _listed(lines: list[str]) -> list[str]:
    shown = [f"- {line}" for line in lines[:LIMIT]]
    return [*shown, f"- and {len(lines) - LIMIT} more"] if len(lines) > LIMIT else shown


def _covered(archive: Archive, now: Night) -> str:
    if not now.nights:
        return "No rotation over nodes."
    overdue = [one.node for one in coverage(archive) if one.overdue]
    late = f"; overdue: {', '.join(overdue)}" if overdue else ""
    return (
        f"One by one tonight: {', '.join(now.covered) or 'no node'}"
        f" (each of {counted(len(archive.nodes_with_turns), 'node')} within {counted(now.nights, 'night')}{late})."
    )
