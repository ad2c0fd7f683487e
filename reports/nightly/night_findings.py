"""The findings of a night by name: suspect nodes, cases that failed, and series that became worse."""

from collections.abc import Sequence
from dataclasses import dataclass

from kappa.core.ground.clean_text import one_line
from kappa.core.ground.figures import figure
from kappa.core.record.acknowledgements import NamedFinding
from reports.history.judgement import JudgedSeries
from reports.history.listing import of_series
from reports.nightly.night import Night, Problem
from reports.verdict.state import State

_TEXT_LIMIT = 400


@dataclass(frozen=True)
class NightFinding:
    """A finding, what was found in a line, and the hint where to look, which may be empty."""

    finding: NamedFinding
    text: str
    hint: str = ""


def of_problem(night: Night, problem: Problem) -> NamedFinding:
    """Return the failed case, with the nodes against which it speaks."""
    about = f"{problem.case}: "
    nodes = {node for node, evidence in night.suspects.items() if any(one.startswith(about) for one in evidence)}
    return NamedFinding("case", problem.case, tuple(sorted(nodes)))


def findings_of_night(night: Night, judged: Sequence[JudgedSeries]) -> list[NightFinding]:
    """Return every finding of ``night``, the node against which most speaks first; ``judged`` is the whole history."""
    nodes = sorted(night.suspects, key=lambda node: (-len(night.suspects[node]), node))
    suspects = [
        NightFinding(NamedFinding("node", node, (node,)), one_line("; ".join(night.suspects[node]), _TEXT_LIMIT))
        for node in nodes
    ]
    failed = [
        NightFinding(of_problem(night, problem), one_line(problem.line, _TEXT_LIMIT), problem.hint)
        for problem in night.problems
        if problem.state is State.FAIL
    ]
    worse = [NightFinding(of_series(one), _told(one)) for one in judged if one.worse]
    return [*suspects, *failed, *worse]


def _told(one: JudgedSeries) -> str:
    before, after = figure(one.finding.before), figure(one.finding.after)
    return f"{one.verdict} since {one.since}: {before} → {after} {one.series.unit}".rstrip()
