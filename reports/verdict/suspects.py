"""Find suspect nodes: by a check's own measurement, or else by elimination over cases of one kind.

This module also ranks the findings of failed checks, suggests a drain command for each suspect, and lists
*observations*: nodes that stand out in a passed check.
"""

import math
import shlex
import statistics
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from kappa.core.ground.clean_text import one_line
from kappa.core.ground.figures import NOTHING, counted, figure
from kappa.core.record.evidence import Finding
from reports.verdict.advice import measured_against_bound, what_failed
from reports.verdict.bounds import headroom
from reports.verdict.case_verdict import CaseVerdict, Suspicion
from reports.verdict.state import State

REASON_LIMIT = 120


@dataclass(frozen=True)
class SuspectNode:
    """Hold a node with the evidence against it: (title of the failed case, evidence)."""

    node: str
    evidence: tuple[tuple[str, str], ...]
    #: The largest score of the checks' findings, as a multiple of the noise; infinite: the node could not be measured.
    score: float = 0.0

    @property
    def failures(self) -> int:
        return len(self.evidence)


@dataclass
class _Passed:
    """Hold the passed cases of a kind."""

    number: int = 0
    nodes: set[str] = field(default_factory=set)
    partitions: set[str] = field(default_factory=set)


class Attempts:
    """Every attempt of a session, in indices: a session may have thousands of equal cases."""

    def __init__(self, attempts: Iterable[CaseVerdict]) -> None:
        self._named_by: defaultdict[str, set[str]] = defaultdict(set)
        """Node -> the checks whose measurement names it."""
        self._passed: defaultdict[tuple[object, str | None], _Passed] = defaultdict(_Passed)
        """Kind of a case and a metric, or ``None`` for the whole case -> the cases that passed."""
        for attempt in attempts:
            case = attempt.case
            for node in attempt.suspects if attempt.state is State.FAIL and not case.robbed else ():
                self._named_by[node].add(str(case.check_class))
            within: list[str | None] = [one.metric.name for one in attempt.metrics if one.state is State.PASS]
            for metric in [*within, *([None] if attempt.state is State.PASS else [])]:
                passed = self._passed[case.kind, metric]
                passed.number += 1
                passed.nodes |= case.involved
                passed.partitions.add(case.partition)

    def localise(self, failed: CaseVerdict) -> Suspicion | None:
        """Return the nodes that ``failed`` points at; ``None`` if there are none.

        1. The check's own measurement names nodes: these.
        2. The measurement of another failed check names nodes that took part in this case: these.
        3. By elimination: a node is suspect if it took part in the failed case and in no passed case of the same
           class, metric, environment and parameters. A pass within one node says nothing about its link. At least one
           such pass in the same partition is needed for the comparison.

        No node is suspect if Slurm ended the job, or if the finding is about one adapter of all nodes.
        """
        case = failed.case
        if failed.suspects:
            return Suspicion(tuple(sorted(failed.suspects)), "named by the check's own measurement")
        if failed.findings:
            first = failed.findings[0]
            evidence = f"{first.kind} {first.name}: {first.quantity} {first.evidence}"
            return Suspicion(tuple(sorted(first.nodes)), evidence) if first.nodes else None
        if named := case.blamable & self._named_by.keys():
            checks = ", ".join(sorted(set().union(*(self._named_by[node] for node in named))))
            return Suspicion(tuple(sorted(named)), f"took part in the case and is named by the measurement of {checks}")
        return None if case.ended_by_slurm or case.check_class is None else self._by_elimination(failed)

    def _by_elimination(self, failed: CaseVerdict) -> Suspicion | None:
        case, kind = failed.case, failed.case.kind
        metrics: list[str | None] = [verdict.metric.name for verdict in failed.failed_metrics]
        for metric in metrics or [None]:
            passed = self._passed.get((kind, metric), _Passed())
            suspects = case.blamable - passed.nodes
            if suspects and case.partition in passed.partitions:
                cases = "the one passed case" if passed.number == 1 else f"any of the {passed.number} passed cases"
                return Suspicion(tuple(sorted(suspects)), f"not in {cases} of {case.check_class}")
        return None


def _against(node: str, failed: CaseVerdict) -> str:
    """Return the check's own finding on the node, or else the metric that is out of bounds and the evidence."""
    own = next((one for one in failed.findings if one.kind == "node" and one.name == node), None)
    if own:
        return f"{own.quantity} {own.evidence}"
    return "; ".join(filter(None, (what_failed(failed), failed.suspicion.evidence if failed.suspicion else "")))


def suspect_nodes(attempts: Iterable[CaseVerdict]) -> tuple[SuspectNode, ...]:
    """Return every suspect node of the session with its evidence, sorted by failures, then by score."""
    # A re-measured case counts once.
    found: dict[str, dict[str, str]] = {}
    scores: dict[str, float] = {}
    for attempt in attempts:
        if attempt.suspicion:
            for node in attempt.suspicion.nodes:
                found.setdefault(node, {})[attempt.title] = _against(node, attempt)
        for finding in attempt.findings if attempt.state is State.FAIL else ():
            for node in finding.nodes if finding.kind == "node" else ():
                scores[node] = max(scores.get(node, 0), math.inf if finding.score is None else finding.score)
    nodes = [SuspectNode(node, tuple(evidence.items()), scores.get(node, 0)) for node, evidence in found.items()]
    return tuple(sorted(nodes, key=lambda suspect: (-suspect.failures, -suspect.score, suspect.node)))


@dataclass(frozen=True)
class RankedFinding:
    """Hold a finding of a failed check. ``suspect`` is the node at fault, or empty."""

    check: str
    partition: str
    finding: Finding
    suspect: str = ""

    @property
    def score(self) -> str:
        return NOTHING if self.finding.score is None else figure(self.finding.score, 3)


def ranked_evidence(cases: Sequence[CaseVerdict]) -> list[RankedFinding]:
    """Return every finding of the failed cases: nodes that could not be measured first, then by score."""
    found = [
        RankedFinding(verdict.case.check_class or "", verdict.case.partition, finding, _suspect(verdict, finding))
        for verdict in cases
        if verdict.state is State.FAIL
        for finding in verdict.findings
    ]
    return sorted(found, key=lambda item: -math.inf if item.finding.score is None else -item.finding.score)


def _suspect(failed: CaseVerdict, finding: Finding) -> str:
    suspects = failed.suspicion.nodes if failed.suspicion else ()
    return finding.name if finding.kind == "node" and finding.name in suspects else ""


def drain_suggestions(evidence: Sequence[RankedFinding], decided: Collection[str] = ()) -> list[str]:
    """Return a drain command for each suspect node, in the order of ``evidence``. Kappa only prints them.

    Leave out the nodes that the site's quarantine rule has ``decided`` about.
    """
    reasons: dict[str, str] = {}
    for item in evidence:
        if item.suspect and item.suspect not in decided:
            reason = one_line(f"Kappa {item.check}: {item.finding.quantity} {item.finding.evidence}", REASON_LIMIT)
            reasons.setdefault(item.suspect, reason)
    return [
        f"scontrol update nodename={shlex.quote(node)} state=drain reason={shlex.quote(reason)}"
        for node, reason in reasons.items()
    ]


@dataclass(frozen=True)
class Observation:
    """Describe a node that stands out in a case that is within its bounds."""

    node: str
    case: str
    """The title of the case."""

    text: str


def observations(cases: Sequence[CaseVerdict]) -> list[Observation]:
    """Return the nodes that stand out in both measurements of one allocation, in cases within their bounds."""
    return [
        Observation(node, verdict.title, f"{_seen(node, verdict)}; {_allowed(verdict)}")
        for verdict in cases
        if verdict.state is not State.FAIL and verdict.case.first and not verdict.case.robbed
        for node in sorted({*verdict.case.first.suspects} & {*verdict.suspects})
    ]


def _seen(node: str, verdict: CaseVerdict) -> str:
    """Return the check's finding on the node, or else its value with the median of all nodes."""
    for finding in verdict.findings:
        if finding.kind == "node" and finding.name == node:
            return f"{finding.quantity} {finding.evidence}"
    for metric, per_node in verdict.case.per_node.items():
        if node in per_node.values:
            middle = figure(statistics.median(per_node.values.values()))
            nodes = counted(len(per_node.values), "node")
            return f"{metric} {figure(per_node.values[node])} {per_node.unit}, median of {nodes} {middle}"
    return "stands out in the check's measurement"


def _allowed(verdict: CaseVerdict) -> str:
    """Return the metric of the case that is nearest to its bound."""
    near = [(room, number) for number, one in enumerate(verdict.metrics) if (room := headroom(one)) is not None]
    if not near:
        return "not a failure"
    return f"{measured_against_bound(verdict.metrics[min(near)[1]])}: not a failure"
