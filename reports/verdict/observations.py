"""What singles out a node in a case that did not fail: told below the results, and held against nobody."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kappa.core.ground.figures import counted, figure
from kappa.core.record.model import Case
from reports.verdict.advice import measured_against_bound
from reports.verdict.case_verdict import CaseVerdict
from reports.verdict.headroom import headroom
from reports.verdict.state import State


@dataclass(frozen=True)
class Observation:
    node: str
    case: str
    """The title of the case."""

    text: str


def observations(cases: Sequence[CaseVerdict]) -> list[Observation]:
    """What both measurements in one allocation single out, of cases that are within their bounds."""
    return [
        Observation(node, verdict.case.title, f"{_seen(node, verdict.case)}; {_allowed(verdict)}")
        for verdict in cases
        if verdict.state is not State.FAIL and verdict.case.first and not verdict.case.robbed
        for node in sorted({*verdict.case.first.suspects} & {*verdict.case.suspects})
    ]


def _seen(node: str, case: Case) -> str:
    """What the check says of the node, or else its figure beside the other nodes'."""
    for finding in case.findings:
        if finding.kind == "node" and finding.name == node:
            return f"{finding.quantity} {finding.evidence}"
    for metric, per_node in case.per_node.items():
        if node in per_node.values:
            middle = figure(float(np.median(list(per_node.values.values()))))
            nodes = counted(len(per_node.values), "node")
            return f"{metric} {figure(per_node.values[node])} {per_node.unit}, median of {nodes} {middle}"
    return "singled out"


def _allowed(verdict: CaseVerdict) -> str:
    """The figure of the case that is nearest to its bound."""
    near = [(room, number) for number, one in enumerate(verdict.metrics) if (room := headroom(one)) is not None]
    if not near:
        return "not a failure"
    return f"{measured_against_bound(verdict.metrics[min(near)[1]])}: not a failure"
