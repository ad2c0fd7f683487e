"""The verdict for machines: strict JSON, every number finite or null."""

import json
import math
from typing import Any

from reports.verdict.advice import operator_line
from reports.verdict.case_verdict import CaseVerdict
from reports.verdict.confirm import diagnose
from reports.verdict.judge import Verdict
from reports.verdict.loose import tightness_of
from reports.verdict.metric_verdict import MetricVerdict
from reports.verdict.observations import observations
from reports.verdict.sight import sight_of
from reports.verdict.state import State
from reports.verdict.summary import headline, tally


def to_json(verdict: Verdict) -> str:
    """The verdict as a JSON document. Values are in the metric's ``unit``, bounds absolute, null when unbounded."""
    tightness = tightness_of(verdict.cases)
    document = {
        "verdict": verdict.state.word.upper(),
        "exit_status": verdict.exit_status,
        "headline": headline(verdict),
        "breadth": verdict.breadth,
        "site": verdict.site.name if verdict.site else None,
        "mode": verdict.mode,
        "report": verdict.session.path,
        "session": verdict.session.uuid,
        "time_start": verdict.session.time_start,
        "counts": {what: number for number, what in tally(verdict)},
        "suspects": [
            {
                "node": suspect.node,
                "evidence": [{"case": title, "evidence": why} for title, why in suspect.evidence],
            }
            for suspect in verdict.suspects
        ],
        "observations": [
            {"node": one.node, "case": one.case, "text": one.text} for one in observations(verdict.cases)
        ],
        "incomplete": [
            {"what": gap.what, "where": gap.where, "detail": gap.detail, "remedy": gap.remedy, "cause": gap.cause}
            for gap in verdict.gaps
        ],
        "not_provided": [
            {"check": entry.check, "family": entry.family, "features": dict(entry.features)}
            for entry in verdict.not_provided
        ],
        "budget_node_hours": _number(verdict.session.budget),
        "left_out_by_budget": [{"check": one.check, "family": one.family} for one in verdict.left_by_budget],
        "relative_bounds": {"number": tightness.relative, "median_headroom": _finite(tightness.relative_median)},
        "absolute_bounds": {"number": tightness.bounds, "median_headroom": _finite(tightness.median)},
        "loose_bounds": [
            {"check": one.check, "metric": one.metric, "headroom": _finite(one.times)}
            for one in tightness.loose
        ],
        "weakest_bounds": [
            {
                "case": one.case,
                "metric": one.metric,
                "finds_in_a_run": _finite(one.in_a_run),
                "finds_in_a_week": _finite(one.in_a_week),
            }
            for one in sight_of(verdict.cases).weakest
        ],
        "cases": [_case(case) for case in verdict.cases],
    }
    return json.dumps(document, indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def _number(text: str) -> float | None:
    try:
        return _finite(float(text))
    except ValueError:
        return None


def _case(verdict: CaseVerdict) -> dict[str, Any]:
    case = verdict.case
    return {
        "name": case.name,
        "check_class": case.check_class,
        "family": case.family,
        "partition": case.partition,
        "environ": case.environ,
        "nodes": case.nodes,
        "job_id": case.job_id,
        "energy_j": _finite(case.energy_j),
        "state": verdict.state.word,
        "unstable": verdict.unstable,
        "diagnosis": diagnosis.value if (diagnosis := diagnose(verdict)) else None,
        "operator_line": str(operator_line(verdict)) if verdict.state is State.FAIL else None,
        "suspects": verdict.suspicion.nodes if verdict.suspicion else (),
        "metrics": [_metric(metric) for metric in verdict.metrics],
        "failed_attempts": [
            {"run": attempt.case.run, "nodes": attempt.case.nodes, "operator_line": str(operator_line(attempt))}
            for attempt in verdict.failed_attempts
        ],
        "repeated": [
            {
                "purpose": attempt.case.purpose,
                "nodes": attempt.case.nodes,
                "job_id": attempt.case.job_id,
                "state": attempt.state.word,
                "metrics": [_metric(metric) for metric in attempt.metrics],
            }
            for attempt in verdict.repeated
        ],
    }


def _metric(verdict: MetricVerdict) -> dict[str, Any]:
    metric = verdict.metric
    return {
        "name": metric.name,
        "value": _finite(metric.value),
        "unit": metric.unit,
        "reference": _finite(metric.reference) if verdict.bounded else None,
        "lower": _finite(verdict.lower),
        "upper": _finite(verdict.upper),
        "deviation_percent": _finite(verdict.deviation_percent),
        "relative": verdict.relative,
        "source": verdict.source.source if verdict.source else None,
        "finds_in_a_run": _finite(verdict.source.finds_in_a_run) if verdict.source else None,
        "finds_in_a_week": _finite(verdict.source.finds_in_a_week) if verdict.source else None,
        "state": verdict.state.word,
    }


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
