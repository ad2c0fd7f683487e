"""Judge one attempt at a case: compare ReFrame's result with the recorded values."""

import re
from dataclasses import dataclass, replace
from typing import Literal

from kappa.core.ground.clean_text import one_line
from kappa.core.record.evidence import Finding
from kappa.core.record.model import Case
from kappa.core.vocabulary.slurm_refusals import remedy_of
from reports.verdict import metric_verdict
from reports.verdict.metric_verdict import MetricVerdict, judge_metric
from reports.verdict.state import Gap, State

_REMEDIES = {
    metric_verdict.NO_VALUE: "read the job's output; the check must fail if it extracts no value",
    metric_verdict.NO_REFERENCE: "add a reference with bounds to the site's references, or declare it informational",
    metric_verdict.INVALID_BOUNDS: "correct this entry in the site's references",
    metric_verdict.TOO_FEW_EQUALS: "remove the reference for this partition; use absolute bounds for so few nodes",
    metric_verdict.UNEXPECTED_PASS: "if the cause is repaired, remove the xfail mark",
}
REASON_CHARS = 300
# The prefix of ReFrame's errors of jobs.
_PREFIX = re.compile(r"^[a-z ]*error: \[jobid=\d+\] ")
# Errors of ReFrame and of `patient_slurm.py`. JobError is not among them: a program that hangs without Slurm raises it.
_WITHOUT_END = ("JobBlockedError", "UntoldError")
# Slurm's states of a job that was ended for another job or for a failed node. If the check names no node, none is down.
_TAKEN_AWAY = ("PREEMPTED", "NODE_FAIL")
# As in `reframe_checks/base/hangs.py`.
_NO_STEP, _FORGOTTEN = "NO_STEP", "FORGOTTEN"
# Reasons to correct in the file that holds the check's references.
_IN_REFERENCES = (metric_verdict.NO_REFERENCE, metric_verdict.INVALID_BOUNDS, metric_verdict.TOO_FEW_EQUALS)
# For metrics that Kappa derives from a value in site.yaml, for instance a fraction of the peak.
_UNSTATED = "site.yaml lacks a value that a metric is derived from"


@dataclass(frozen=True)
class Suspicion:
    """Hold the nodes that a case points at, and the evidence."""

    nodes: tuple[str, ...]
    evidence: str


@dataclass(frozen=True)
class CaseVerdict:
    """Hold the verdict on one attempt at a case.

    ``other_attempts``: attempts at the same case that this attempt supersedes. ``elsewhere``: attempts on other nodes.
    ``sets_aside``: which of the case's own findings do not count, those about speeds or those that name nodes.
    ``stands_for``: the node on which ReFrame's ``--distribute`` put the case that this attempt re-measures, or empty.
    """

    case: Case
    state: State
    metrics: tuple[MetricVerdict, ...]
    gaps: tuple[Gap, ...] = ()
    suspicion: Suspicion | None = None
    other_attempts: tuple["CaseVerdict", ...] = ()
    elsewhere: tuple["CaseVerdict", ...] = ()
    sets_aside: Literal["", "speeds", "nodes"] = ""
    stands_for: str = ""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Return the case's own findings that count."""
        if not self.sets_aside:
            return self.case.findings
        return tuple(finding for finding in self.case.findings if finding.slowdown is None)

    @property
    def suspects(self) -> tuple[str, ...]:
        """Return the nodes that the case's own measurement names and that count."""
        if self.sets_aside != "speeds":
            return () if self.sets_aside == "nodes" else self.case.suspects
        named = {finding.name for finding in self.case.findings}
        only_slow = named.difference(*(finding.nodes for finding in self.findings))
        return tuple(node for node in self.case.suspects if node not in only_slow)

    @property
    def pinned(self) -> str:
        """Return the node on which ReFrame's ``--distribute`` put the case, or an empty string."""
        return self.stands_for or self.case.pinned

    @property
    def title(self) -> str:
        return self.case.title_on(self.pinned)

    @property
    def repeated(self) -> tuple["CaseVerdict", ...]:
        """Return all attempts except this one."""
        return (*self.other_attempts, *self.elsewhere)

    @property
    def measurements(self) -> tuple["CaseVerdict", ...]:
        """Return all attempts, oldest first; attempts on other nodes come last."""
        return (*self.other_attempts, self, *self.elsewhere)

    @property
    def failed_attempts(self) -> tuple["CaseVerdict", ...]:
        return tuple(attempt for attempt in self.other_attempts if attempt.state is State.FAIL)

    @property
    def unstable(self) -> bool:
        """Return whether an earlier attempt failed and this one does not."""
        return self.state is not State.FAIL and not self.robbed and bool(self.failed_attempts)

    @property
    def by_figures_alone(self) -> bool:
        """Return whether the case failed only because metrics are out of bounds: no wrong result and no crash."""
        return bool(self.failed_metrics) and self.case.fail_phase in ("", "performance")

    @property
    def robbed(self) -> bool:
        """Return whether metrics are out of bounds, but other processes used too much of the machine to tell why."""
        return self.state is State.INCOMPLETE and bool(self.case.robbed) and self.by_figures_alone

    @property
    def shown_metrics(self) -> tuple[MetricVerdict, ...]:
        """Return the metrics to show: all of them, for a failed check only those with a value."""
        return tuple(m for m in self.metrics if m.metric.value is not None or self.state is not State.FAIL)

    @property
    def failed_metrics(self) -> tuple[MetricVerdict, ...]:
        """Return the metrics that are out of bounds, worst first."""
        failed = [metric for metric in self.metrics if metric.state is State.FAIL]
        return tuple(sorted(failed, key=lambda metric: metric.excess, reverse=True))


def without_a_job(case: Case) -> bool:
    """Return whether the setup failed or Slurm accepted no job; neither says anything about a node."""
    return case.result == "fail" and case.fail_phase in ("setup", "run") and case.job_id is None


def never_told(case: Case) -> bool:
    """Return whether the job was cancelled in the queue or Slurm lost its record; neither is a fault of a node."""
    return case.result == "fail" and case.error_type in _WITHOUT_END and not case.suspects


def taken_away(case: Case) -> bool:
    """Return whether Slurm ended the job although none of its nodes is down.

    Causes: the job was preempted; slurmctld wrongly took a node as failed; slurmctld did not start a step; slurmctld
    forgot the job.
    """
    return case.result == "fail" and case.ended_by_slurm in (*_TAKEN_AWAY, _NO_STEP, _FORGOTTEN) and not case.suspects


def executed(case: Case) -> bool:
    """Return whether the case has a result.

    A case has no result if it was skipped, had no job that began, was aborted, if Slurm ended its job, or if the end of
    its job is unknown.
    """
    if without_a_job(case) or never_told(case) or taken_away(case) or case.lost_to:
        return False
    if case.result == "pass" and case.check_class is not None:
        return case.job_id is not None
    return case.result in ("pass", "fail", "xfail", "xpass")


def judge_case(case: Case) -> CaseVerdict:
    """Judge one attempt at ``case`` without regard to load by other processes (see ``excuse.py``).

    For a check that is not Kappa's, only ReFrame's result counts.
    """
    metrics = tuple(judge_metric(case, metric) for metric in case.metrics)
    if not executed(case):
        return CaseVerdict(case, State.INCOMPLETE, metrics, (_not_executed(case),))
    # ReFrame 4.10 records an unexpected pass as a failure.
    if case.result == "xpass" or (case.result == "fail" and case.error_type == "UnexpectedSuccessError"):
        what = metric_verdict.UNEXPECTED_PASS
        return CaseVerdict(case, State.INCOMPLETE, metrics, (Gap(what, _REMEDIES[what], case.title),))
    state = {"pass": State.PASS, "xfail": State.KNOWN}.get(case.result, State.FAIL)
    if case.check_class is None:
        return CaseVerdict(case, state, metrics)
    if any(metric.state is State.FAIL for metric in metrics):
        state = State.FAIL
    gaps = tuple(replace(gap, where=case.title) for gap in _gaps(case, metrics, state))
    return CaseVerdict(case, State.INCOMPLETE if gaps and state is not State.FAIL else state, metrics, gaps)


def _not_executed(case: Case) -> Gap:
    if case.lost_to or case.result == "pass":
        lost = "the result of the case is lost", "remove the cause and run the case again; no node is to blame"
        dry = "no job ran, although the result is a pass", "run the case without --dry-run"
        return Gap(*(lost if case.lost_to else dry), case.title, case.lost_to)
    if without_a_job(case) or never_told(case):
        said = _said_by_sbatch(case.fail_reason)
        remedy = remedy_of(said) or "remove the cause and run the case again; no node is to blame"
        return Gap(f"no job ran: {said}", remedy, case.title)
    if taken_away(case):
        what = f"Slurm ended the job before it was done: {case.ended_by_slurm}"
        if case.ended_by_slurm == _NO_STEP:
            refused = "Slurm did not start a step of the job"
            why = one_line(case.fail_reason.rpartition(f"{refused}: ")[2], 200)
            return Gap(refused, "check that slurmctld is up: `scontrol ping`", case.title, why)
        if case.ended_by_slurm == _FORGOTTEN:
            remedy = "check whether slurmctld was killed, and run the case again"
            return Gap("Slurm forgot the job before it was done", remedy, case.title)
        remedy = "no node of the job is down; check for preemption or a restart of slurmctld, and run the case again"
        return Gap(what, remedy, case.title)
    how = {
        "abort": "aborted while it ran" if case.nodes else "aborted before it ran",
        "fail_deps": "skipped, because a case that it depends on failed",
        "skip": "skipped",
    }.get(case.result, f"ended as {one_line(case.result, 30)!r}")
    reason = one_line(case.fail_reason or (case.hint if case.result == "skip" else ""), 200)
    return Gap(how, "read ReFrame's log for the reason, and run the case again", case.title, reason)


def _said_by_sbatch(reason: str) -> str:
    """Return sbatch's own error message, or else all of ``reason``."""
    told = [line.partition("error:")[2] for line in reason[:10_000].splitlines() if line.startswith("sbatch: error:")]
    said = " ".join(told).replace("Batch job submission failed:", "") or _PREFIX.sub("", reason)
    return one_line(said, REASON_CHARS)


def _gaps(case: Case, metrics: tuple[MetricVerdict, ...], state: State) -> list[Gap]:
    gaps = []
    if case.reference_problem:
        remedy = "correct the site's references"
        gaps.append(Gap("the references are not usable", remedy, detail=one_line(case.reference_problem, 300)))
    for name, why in case.unmeasured.items():
        remedy = "add it to site.yaml (docs/site-reference.md)"
        gaps.append(Gap(_UNSTATED, remedy, detail=one_line(f"{name}: {why}", 300)))
    for metric in metrics:
        # A failed or aborted check already explains its missing values.
        if metric.reason and not (metric.reason == metric_verdict.NO_VALUE and state is not State.PASS):
            file = (
                f"references/{case.reference_file}" if case.reference_file and metric.reason in _IN_REFERENCES else ""
            )
            detail = ", ".join(part for part in (metric.metric.name, metric.detail, file) if part)
            gaps.append(Gap(metric.reason, _REMEDIES[metric.reason], detail=detail))
    if state is State.PASS:
        measured = {metric.metric.name for metric in metrics}
        for name in case.declared_metrics:
            if name not in measured:
                gaps.append(Gap(metric_verdict.NO_VALUE, _REMEDIES[metric_verdict.NO_VALUE], detail=name))
        if not metrics and not case.declared_metrics:
            gaps.append(Gap("the check measures no metric", "declare its metrics in the check"))
    return gaps
