"""A verdict in a sentence, in a few numbers, and as strict JSON for machines."""

import json
import math
import re
import shlex
from collections.abc import Sequence
from typing import Any

from kappa.core.ground.clean_text import clean, one_line
from kappa.core.ground.figures import counted
from kappa.core.ground.node_lists import folded
from reports.verdict.advice import REASON_LIMIT, measured_against_bound, operator_line
from reports.verdict.bounds import sensitivity_of, tightness_of
from reports.verdict.case_verdict import CaseVerdict, executed
from reports.verdict.confirm import diagnose
from reports.verdict.expectations import find_census
from reports.verdict.judge import Verdict
from reports.verdict.metric_verdict import MetricVerdict
from reports.verdict.state import State, grouped
from reports.verdict.suspects import observations


def left_out_by_budget(verdict: Verdict) -> str:
    """The checks that the run left out for its budget; empty when it had none, or room for all."""
    if not verdict.left_by_budget:
        return ""
    names = [one.check for one in verdict.left_by_budget]
    budget = f"{verdict.session.budget} node-hours"
    return f"left out by the budget of {budget}: {counted(len(names), 'check')}, {', '.join(names)}"


def changed_site(verdict: Verdict) -> str:
    """A sentence that says which files of the site changed since the run; empty without."""
    if not verdict.judged_by:
        return ""
    names = " and ".join(path.name for path in verdict.judged_by)
    verb = "differs" if len(verdict.judged_by) == 1 else "differ"
    then = clean(str(verdict.judged_by[0].parent))
    return f"{names} {verb} from what judged this run then, which --site {then} judges by again"


def headline(verdict: Verdict) -> str:
    """One sentence that says why the verdict is what it is."""
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
    return f"All {counted(cases, 'case')} passed{but}; everything expected was run, measured and within its bounds."


def tally(verdict: Verdict) -> list[tuple[int, str]]:
    """(number, what) of each state, failures first; unstable cases are also counted in their state."""
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
    """How many checks of the suite came to a result; what they build first is none of them."""
    census = find_census(verdict.cases)
    ran = {case.case.check_class for case in verdict.cases if executed(case.case)} - {None}
    return len(ran.intersection(check.name for check in census.checks) if census else ran)


def fabrics_simulated(cases: Sequence[CaseVerdict]) -> str:
    """Which fabrics were simulated, for people; empty for a run that measured."""
    fabrics = {found.case.simulation.fabric: found.case.simulation.kind for found in cases if found.case.simulation}
    calibrated = sorted(name for name, kind in fabrics.items() if kind == "calibrated")
    others = sorted(fabrics.keys() - set(calibrated))
    parts = (("calibrated", calibrated), ("from specifications alone", others))
    return "; ".join(f"{what}: {', '.join(names)}" for what, names in parts if names)


def known_failure(case: CaseVerdict) -> str:
    """The known failure: the metrics beyond their bounds, or the reason on record."""
    metrics = [measured_against_bound(metric) for metric in case.metrics if metric.state is State.KNOWN]
    return "; ".join(metrics) or one_line(case.case.fail_reason, REASON_LIMIT) or "no reason recorded"


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
        "judged_by": [clean(str(path)) for path in verdict.judged_by],
        "suspects": [
            {
                "node": suspect.node,
                "evidence": [{"case": title, "evidence": why} for title, why in suspect.evidence],
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
        "cases": [_case(case) for case in verdict.cases],
    }
    return json.dumps(document, indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def _number(text: str) -> float | None:
    try:
        return finite(float(text))
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
        "energy_j": finite(case.energy_j),
        "state": verdict.state.word,
        "unstable": verdict.unstable,
        "diagnosis": diagnosis.value if (diagnosis := diagnose(verdict)) else None,
        "operator_line": str(operator_line(verdict)) if verdict.state is State.FAIL else None,
        "suspects": verdict.suspicion.nodes if verdict.suspicion else (),
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
        "reference": finite(metric.reference) if verdict.bounded else None,
        "lower": finite(verdict.lower),
        "upper": finite(verdict.upper),
        "deviation_percent": finite(verdict.deviation_percent),
        "relative": verdict.relative,
        "source": verdict.source.source if verdict.source else None,
        "finds_in_a_run": finite(verdict.source.finds_in_a_run) if verdict.source else None,
        "finds_in_a_week": finite(verdict.source.finds_in_a_week) if verdict.source else None,
        "state": verdict.state.word,
    }


def finite(value: float | None) -> float | None:
    """Return what strict JSON can hold: ``None`` for what is no number or not finite."""
    return value if value is not None and math.isfinite(value) else None
