"""What a verdict says in a sentence and in a few numbers; shared by the terminal and the page."""

from collections.abc import Sequence

from kappa.core.ground.clean_text import one_line
from kappa.core.ground.figures import counted
from kappa.core.ground.node_lists import folded
from reports.verdict.advice import REASON_LIMIT, measured_against_bound
from reports.verdict.case_verdict import CaseVerdict, executed
from reports.verdict.expectations import find_census
from reports.verdict.gaps import grouped
from reports.verdict.judge import Verdict
from reports.verdict.state import State


def left_out_by_budget(verdict: Verdict) -> str:
    """What the run did without for its budget; empty when it had none, or room for all."""
    if not verdict.left_by_budget:
        return ""
    names = [one.check for one in verdict.left_by_budget]
    budget = f"{verdict.session.budget} node-hours"
    return f"left out by the budget of {budget}: {counted(len(names), 'check')}, {', '.join(names)}"


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
    """What is known to fail: the metrics beyond their bounds, or the reason on record."""
    metrics = [measured_against_bound(metric) for metric in case.metrics if metric.state is State.KNOWN]
    return "; ".join(metrics) or one_line(case.case.fail_reason, REASON_LIMIT) or "no reason recorded"
