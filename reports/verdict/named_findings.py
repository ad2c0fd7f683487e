"""The findings of a verdict by name: what somebody can acknowledge."""

from kappa.core.record.acknowledgements import NamedFinding
from reports.verdict.case_verdict import CaseVerdict
from reports.verdict.judge import Verdict, speaking
from reports.verdict.state import State


def finding_of(failed: CaseVerdict) -> NamedFinding:
    """Return the failure, with the nodes that it names."""
    nodes = {node for attempt in speaking(failed) if attempt.suspicion for node in attempt.suspicion.nodes}
    return NamedFinding("case", failed.title, tuple(sorted(nodes)))


def findings_of(verdict: Verdict) -> list[NamedFinding]:
    """Return its suspect nodes and its failures."""
    suspects = [NamedFinding("node", suspect.node) for suspect in verdict.suspects]
    return [*suspects, *map(finding_of, verdict.cases_in(State.FAIL))]
