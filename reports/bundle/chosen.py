"""Which cases of a run a finding is about."""

from collections.abc import Sequence

from kappa.core.ground.errors import InputError
from kappa.core.ground.nearest import suggestion
from reports.verdict.case_verdict import CaseVerdict
from reports.verdict.judge import Verdict
from reports.verdict.state import State


def chosen(verdict: Verdict, finding: str) -> list[CaseVerdict]:
    """Those that ``finding`` names: a node, by what speaks against it; a check or a case, or the number of a failure.

    :raises InputError: there is none; says what there is.
    """
    failed = verdict.cases_in(State.FAIL)
    if finding.isdecimal() and 1 <= int(finding) <= len(failed):
        return [failed[int(finding) - 1]]
    suspect = next((one for one in verdict.suspects if one.node == finding), None)
    if suspect:
        titles = {title for title, _ in suspect.evidence}
        return [case for case in verdict.cases if case.case.title in titles]
    named = [case for case in verdict.cases if finding in (case.case.title, case.case.name, case.case.check_class)]
    if named:
        return _worst(named)
    raise InputError(_nothing(verdict, failed, finding))


def _worst(cases: Sequence[CaseVerdict]) -> list[CaseVerdict]:
    """The failures among them, if there is any."""
    return [case for case in cases if case.state is State.FAIL] or list(cases)


def _nothing(verdict: Verdict, failed: Sequence[CaseVerdict], finding: str) -> str:
    nodes = [suspect.node for suspect in verdict.suspects]
    checks = {str(case.case.check_class or case.case.name) for case in verdict.cases}
    there = [f"{number}: {case.case.title}" for number, case in enumerate(failed[:20], start=1)]
    there += [f"suspects {', '.join(nodes)}"] if nodes else []
    return (
        f"no finding {finding!r} in this run, {suggestion(finding, {*nodes, *checks})}; a finding is a suspect node, a"
        f" check or the number of a failure ({'; '.join(there) or 'nothing failed'})"
    )
