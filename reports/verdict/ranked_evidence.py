"""What the checks' own measurements have against nodes, links and switches, ranked, and what an operator may do."""

import math
import shlex
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from kappa.ground.clean_text import one_line
from kappa.ground.figures import NOTHING, figure
from kappa.record.evidence import Finding
from reports.verdict.case_verdict import CaseVerdict

REASON_LIMIT = 120


@dataclass(frozen=True)
class Evidence:
    """A finding with the check that has it."""

    check: str
    partition: str
    finding: Finding

    @property
    def score(self) -> str:
        return NOTHING if self.finding.score is None else figure(self.finding.score, 3)


def ranked_evidence(cases: Sequence[CaseVerdict]) -> list[Evidence]:
    """Every finding of the cases: what could not be measured first, then by score."""
    found = [
        Evidence(verdict.case.check_class or "", verdict.case.partition, finding)
        for verdict in cases
        for finding in verdict.case.findings
    ]
    return sorted(found, key=lambda item: -math.inf if item.finding.score is None else -item.finding.score)


def drain_suggestions(evidence: Sequence[Evidence], decided: Collection[str] = ()) -> list[str]:
    """A command for each suspect node, in the order of ``evidence``; for people to read, nothing here runs it.

    None for the nodes about which the site's rule has ``decided``.
    """
    reasons: dict[str, str] = {}
    for item in evidence:
        if item.finding.kind == "node" and item.finding.name not in decided:
            reason = one_line(f"Kappa {item.check}: {item.finding.quantity} {item.finding.evidence}", REASON_LIMIT)
            reasons.setdefault(item.finding.name, reason)
    return [
        f"scontrol update nodename={shlex.quote(node)} state=drain reason={shlex.quote(reason)}"
        for node, reason in reasons.items()
    ]
