"""What the checks' own measurements have against nodes, links and switches, ranked, and what an operator may do."""

import math
import shlex
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from kappa.core.ground.clean_text import one_line
from kappa.core.ground.figures import NOTHING, figure
from kappa.core.record.evidence import Finding
from reports.verdict.case_verdict import CaseVerdict
from reports.verdict.state import State

REASON_LIMIT = 120


@dataclass(frozen=True)
class Evidence:
    """A finding of a check that failed; ``suspect`` is the node that it speaks against, if it is against one."""

    check: str
    partition: str
    finding: Finding
    suspect: str = ""

    @property
    def score(self) -> str:
        return NOTHING if self.finding.score is None else figure(self.finding.score, 3)


def ranked_evidence(cases: Sequence[CaseVerdict]) -> list[Evidence]:
    """Every finding of the cases that failed: what could not be measured first, then by score."""
    found = [
        Evidence(verdict.case.check_class or "", verdict.case.partition, finding, _suspect(verdict, finding))
        for verdict in cases
        if verdict.state is State.FAIL
        for finding in verdict.case.findings
    ]
    return sorted(found, key=lambda item: -math.inf if item.finding.score is None else -item.finding.score)


def _suspect(failed: CaseVerdict, finding: Finding) -> str:
    suspects = failed.suspicion.nodes if failed.suspicion else ()
    return finding.name if finding.kind == "node" and finding.name in suspects else ""


def drain_suggestions(evidence: Sequence[Evidence], decided: Collection[str] = ()) -> list[str]:
    """A command for each suspect node, in the order of ``evidence``; for people to read, nothing here runs it.

    None for the nodes about which the site's rule has ``decided``.
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
