"""Summarise a verdict in a sentence, in a few numbers, and as strict JSON."""

import json
import math
import re
import shlex
from collections.abc import Sequence
from typing import Any

from kappa.core.ground.clean_text import clean, one_line
from kappa.core.ground.figures import counted
from kappa.core.ground.node_lists import folded
from kappa.core.record.acknowledgements import Acknowledgement, Acknowledgements
from reports.verdict.advice import REASON_LIMIT, measured_against_bound, operator_line
from reports.verdict.bounds import sensitivity_of, tightness_of
from reports.verdict.case_verdict import CaseVerdict, executed
from reports.verdict.confirm import diagnose
from reports.verdict.expectations import find_census
from reports.verdict.judge import Verdict
from reports.verdict.metric_verdict import MetricVerdict
from reports.verdict.named_findings import finding_of
from reports.verdict.state import State, grouped
from reports.verdict.suspects import observations


def left_out_by_budget(verdict: Verdict) -> str:
    """Return a line on the checks that the run left out for its budget; empty if it left out none."""
    if not verdict.left_by_budget:
        return ""
    names = [one.check for one in verdict.left_by_budget]
    budget = f"{verdict.session.budget} node-hours"
    return f"left out by the budget of {budget}: {counted(len(names), 'check')}, {', '.join(names)}"


def changed_site(verdict: Verdict) -> str:
    """Return a sentence that names the site's files that changed since the run; empty if none did."""
    if not verdict.judged_by:
        return ""
    names = " and ".join(path.name for path in verdict.judged_by)
    have = "has" if len(verdict.judged_by) == 1 else "have"
    then = clean(str(verdict.judged_by[0].parent))
    return f"{names} {have} changed since this run, which {then} judged; --again judges it by the present files"


def headline(verdict: Verdict) -> str:
    """Return one sentence with the reason for the verdict."""
    cases = len(verdict.cases)
    kinds = len(grouped(verdict.gaps))
    missing = f"{counted(kinds, 'reason')} why the run is incomplete"
    if verdict.state is State.FAIL:
        failed = len(verdict.cases_in(State.FAIL))
        suspects = [suspect.node for suspect in verdict.suspects]
        where = f"; suspect: {folded(suspects)}" if suspects else ""
        also = f"; also {missing}" if kinds else ""
        return f"{failed} of {counted(cases, 'case')} failed{where}{also}."
    if verdict.state is State.INCOMPLETE:
        return f"Nothing failed in {counted(cases, 'case')}, but there {'is' if kinds == 1 else 'are'} {missing}."
    known = len(verdict.cases_in(State.KNOWN))
    but = f" or failed as expected ({known})" if known else ""
    return f"All {counted(cases, 'case')} passed{but}; everything expected ran, was measured and is within its bounds."


def tally(verdict: Verdict) -> list[tuple[int, str]]:
    """Return (number, state in words), failures first. Unstable cases also count in their state."""
    return [
        (len(verdict.cases_in(State.FAIL)), "failed"),
        (len(verdict.cases_in(State.INCOMPLETE)), "incomplete"),
        (len(verdict.cases_in(State.PASS)), "passed"),
        (len(verdict.cases_in(State.KNOWN)), "known to fail"),
        (len(verdict.unstable), "unstable"),
    ]


def rerun_command(verdict: Verdict) -> str:
    """Return the command that runs the checks that failed again, quoted for a shell; empty where there is none.

    ReFrame selects no build by its name: it is run for the checks that need it, which failed with it.
    """
    site, mode = verdict.site, verdict.mode
    names = {one.case.name.partition(" ")[0] for one in verdict.cases_in(State.FAIL) if not one.case.prepares}
    if site is None or mode is None or not names:
        return ""
    select = f"^({'|'.join(map(re.escape, sorted(names)))})(%|$)"
    return shlex.join(["kappa", "validate", clean(site.name), mode, "-n", select])


def checks_run(verdict: Verdict) -> int:
    """Return how many checks of the suite have a result; builds for them do not count."""
    census = find_census(verdict.cases)
    ran = {case.case.check_class for case in verdict.cases if executed(case.case)} - {None}
    return len(ran.intersection(check.name for check in census.checks) if census else ran)


def fabrics_simulated(cases: Sequence[CaseVerdict]) -> str:
    """Return the simulated fabrics in words; empty for a run that measured."""
    fabrics = {found.case.simulation.fabric: found.case.simulation.kind for found in cases if found.case.simulation}
    calibrated = sorted(name for name, kind in fabrics.items() if kind == "calibrated")
    others = sorted(fabrics.keys() - set(calibrated))
    parts = (("calibrated", calibrated), ("from specifications alone", others))
    return "; ".join(f"{what}: {', '.join(names)}" for what, names in parts if names)


def known_failure(case: CaseVerdict) -> str:
    """Return the metrics beyond their bounds of a known failure, or else the recorded reason."""
    metrics = [measured_against_bound(metric) for metric in case.metrics if metric.state is State.KNOWN]
    return "; ".join(metrics) or one_line(case.case.fail_reason, REASON_LIMIT) or "no reason recorded"


def to_json(verdict: Verdict) -> str:
    """Return the verdict as JSON. Values and absolute bounds are in the metric's ``unit``; no bound is null."""
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
        "judged_by": [clean(str(path)) for path in verdict.judged_by],
        "changes": verdict.changes,
        "suspects": [
            {
                "node": suspect.node,
                "evidence": [{"case": title, "evidence": why} for title, why in suspect.evidence],
                "acknowledged": acknowledged_document(verdict.acknowledged.of_node(suspect.node)),
            }
            for suspect in verdict.suspects
        ],
        "observations": [vars(one) for one in observations(verdict.cases)],
        "incomplete": [
            {"what": gap.what, "where": gap.where, "detail": gap.detail, "remedy": gap.remedy, "cause": gap.cause}
            for gap in verdict.gaps
        ],
        "not_provided": [
            {"check": entry.check, "family": entry.family, "features": dict(entry.features)}
            for entry in verdict.not_provided
        ],
        "budget_node_hours": _number(verdict.session.budget),
        "left_out_by_budget": [vars(one) for one in verdict.left_by_budget],
        "relative_bounds": {"number": tightness.relative, "median_headroom": finite(tightness.relative_median)},
        "absolute_bounds": {"number": tightness.bounds, "median_headroom": finite(tightness.median)},
        "loose_bounds": [
            {"check": one.check, "metric": one.metric, "headroom": finite(one.times)}
            for one in tightness.loose
        ],
        "weakest_bounds": [
            {
                "case": one.case,
                "metric": one.metric,
                "finds_in_a_run": finite(one.in_a_run),
                "finds_in_a_week": finite(one.in_a_week),
            }
            for one in sensitivity_of(verdict.cases).weakest
        ],
        "cases": [_case(case, verdict.acknowledged) for case in verdict.cases],
    }
    return json.dumps(document, indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def _number(text: str) -> float | None:
    try:
        return finite(float(text))
    except ValueError:
        return None


def acknowledged_document(known: Acknowledgement | None) -> dict[str, str] | None:
    """Return until when, by whom and why a finding is acknowledged; ``None`` if it is not."""
    return {"until": f"{known.until}", "by": known.by, "reason": known.reason} if known else None


def _case(verdict: CaseVerdict, acknowledged: Acknowledgements) -> dict[str, Any]:
    case = verdict.case
    known = acknowledged.of(finding_of(verdict)) if verdict.state is State.FAIL else None
    return {
        "name": case.name,
        "check_class": case.check_class,
        "family": case.family,
        "partition": case.partition,
        "environ": case.environ,
        "nodes": case.nodes,
        "job_id": case.job_id,
        "energy_j": finite(case.energy_j),
        "state": verdict.state.word,
        "unstable": verdict.unstable,
        "diagnosis": diagnosis.value if (diagnosis := diagnose(verdict)) else None,
        "operator_line": str(operator_line(verdict)) if verdict.state is State.FAIL else None,
        "suspects": verdict.suspicion.nodes if verdict.suspicion else (),
        "acknowledged": acknowledged_document(known),
        "notes": case.notes,
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
        "value": finite(metric.value),
        "unit": metric.unit,
        "reference": finite(metric.reference) if metric.bounded else None,
        "lower": finite(metric.lower),
        "upper": finite(metric.upper),
        "deviation_percent": finite(verdict.deviation_percent),
        "relative": metric.relative,
        "source": metric.source.source if metric.source else None,
        "finds_in_a_run": finite(metric.source.finds_in_a_run) if metric.source else None,
        "finds_in_a_week": finite(metric.source.finds_in_a_week) if metric.source else None,
        "state": verdict.state.word,
    }


def finite(value: float | None) -> float | None:
    """Return ``value`` for strict JSON: ``None`` if it is no number or not finite."""
    return value if value is not None and math.isfinite(value) else None
