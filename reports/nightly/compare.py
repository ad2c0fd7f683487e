"""What changed from one night to the next, and what to do first."""

from dataclasses import dataclass

from kappa.core.ground.figures import counted
from kappa.core.ground.node_lists import folded
from reports.history.gate import Judged
from reports.nightly.night import Night, Problem
from reports.verdict.state import State


@dataclass(frozen=True)
class Change:
    """``verdict`` is empty when it is the same as before; ``worse`` and ``otherwise`` are series that changed since."""

    verdict: str
    failing: tuple[Problem, ...]
    mended: tuple[Problem, ...]
    suspects: tuple[str, ...]
    cleared: tuple[str, ...]
    worse: tuple[Judged, ...]
    otherwise: tuple[Judged, ...]

    @property
    def nothing(self) -> bool:
        found = (self.failing, self.mended, self.suspects, self.cleared, self.worse, self.otherwise)
        return not self.verdict and not any(found)


def compare(before: Night | None, now: Night, findings: list[Judged]) -> Change:
    """``findings`` are those of the whole history; what began after ``before`` or is first found now is a change."""
    was = {problem.case: problem for problem in _failed(before)}
    fails = {problem.case: problem for problem in _failed(now)}
    mended = [problem for case, problem in was.items() if case not in fails and _passed(case, now)]
    old = before.suspects if before else {}
    cleared = [node for node, evidence in old.items() if node not in now.suspects and _answered(evidence, now)]
    since = before.ended or before.started if before else 0.0
    of_tonight = [one for one in findings if one.finding.changed and one.series.times[-1] > since]
    new = [one for one in of_tonight if _began(one) > since or not one.known]
    changed = before is None or before.state is not now.state
    return Change(
        verdict=f"{before.state.label if before else 'no earlier night'} → {now.state.label}" if changed else "",
        failing=tuple(problem for case, problem in fails.items() if case not in was),
        mended=tuple(mended),
        suspects=tuple(sorted(set(now.suspects) - set(old))),
        cleared=tuple(sorted(cleared)),
        worse=tuple(one for one in new if one.worse),
        otherwise=tuple(one for one in new if not one.worse),
    )


def _passed(case: str, now: Night) -> bool:
    """What did not run tonight is not mended, nor is what has a gap of its own; those of others do not matter."""
    return not now.gaps if now.passed is None else case in now.passed


def _answered(evidence: tuple[str, ...], now: Night) -> bool:
    """Whether all the cases that spoke against a node passed tonight; each piece of evidence begins with its case."""
    if now.passed is None:
        return not now.gaps
    passed = tuple(f"{case}: " for case in now.passed)
    return all(one.startswith(passed) for one in evidence)


def _failed(night: Night | None) -> list[Problem]:
    return [problem for problem in night.problems if problem.state is State.FAIL] if night else []


def _began(one: Judged) -> float:
    return float(one.series.times[min(one.finding.at, len(one.series.times) - 1)])


def first_step(night: Night, findings: list[Judged]) -> str:
    """The one thing to do first: the node that most speaks against, else the first failure, gap or slow series."""
    failed = _failed(night)
    if night.suspects:
        node = max(sorted(night.suspects), key=lambda name: len(night.suspects[name]))
        about = next((problem for problem in failed if node in problem.line), failed[0] if failed else None)
        hint = f" Hint: {about.hint}." if about and about.hint else ""
        return f"Look at {node}: {counted(len(night.suspects[node]), 'finding')} against it.{hint}"
    if failed:
        hint = f" Hint: {failed[0].hint}." if failed[0].hint else ""
        return f"Look at {failed[0].case}: {failed[0].line}.{hint}"
    if night.gaps:
        return f"Find out why the night is incomplete: {night.gaps[0]}."
    if slow := [one for one in findings if one.worse]:
        one = slow[0]
        nodes = f" on {folded(one.series.nodes.split(','))}" if one.series.nodes else ""
        changes = f" At that time changed: {'; '.join(one.changes)}." if one.changes else ""
        return f"Look at {one.series.title}{nodes}, {one.verdict} since {one.since}.{changes}"
    return "Nothing to do."
