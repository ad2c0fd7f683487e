"""One attempt at a case: what ReFrame concluded, held against what was recorded."""

import re
from dataclasses import dataclass, replace

from kappa.core.ground.clean_text import one_line
from kappa.core.record.model import Case
from kappa.core.vocabulary.slurm_refusals import remedy_of
from reports.verdict import metric_verdict
from reports.verdict.metric_verdict import MetricVerdict, judge_metric
from reports.verdict.state import Gap, State

_REMEDIES = {
    metric_verdict.NO_VALUE: "look at the job's output; the check must fail when it extracts nothing",
    metric_verdict.NO_REFERENCE: "give it a reference and bounds in the site's references, or declare it informational",
    metric_verdict.INVALID_BOUNDS: "correct this entry in the site's references",
    metric_verdict.TOO_FEW_EQUALS: "leave its reference out here; absolute bounds judge so few nodes",
    metric_verdict.UNEXPECTED_PASS: "if the cause is mended, remove the xfail mark",
}
REASON_CHARS = 300
# The prefix of ReFrame's errors of jobs.
_PREFIX = re.compile(r"^[a-z ]*error: \[jobid=\d+\] ")
# Errors of ReFrame and of `patient_slurm.py`; JobError itself is that of a program that hangs where there is no Slurm.
_WITHOUT_END = ("JobBlockedError", "UntoldError")
# How Slurm ends a job for another, or for want of a node: where the check names none, none is down.
_TAKEN_AWAY = ("PREEMPTED", "NODE_FAIL")
# As in `reframe_checks/base/hang_watch.py`.
_NO_STEP, _FORGOTTEN = "NO_STEP", "FORGOTTEN"
# To be mended in the file that the check takes its references from.
_IN_REFERENCES = (metric_verdict.NO_REFERENCE, metric_verdict.INVALID_BOUNDS, metric_verdict.TOO_FEW_EQUALS)
# For metrics that follow from what the site states, as the fraction of a peak does.
_UNSTATED = "the site does not state what a metric follows from"


@dataclass(frozen=True)
class Suspicion:
    """The nodes that a case points at, and why."""

    nodes: tuple[str, ...]
    evidence: str


@dataclass(frozen=True)
class CaseVerdict:
    """``other_attempts`` are those at the same case that this one supersedes; ``elsewhere`` those on other nodes."""

    case: Case
    state: State
    metrics: tuple[MetricVerdict, ...]
    gaps: tuple[Gap, ...] = ()
    suspicion: Suspicion | None = None
    other_attempts: tuple["CaseVerdict", ...] = ()
    elsewhere: tuple["CaseVerdict", ...] = ()

    @property
    def repeated(self) -> tuple["CaseVerdict", ...]:
        """Every attempt but this one."""
        return (*self.other_attempts, *self.elsewhere)

    @property
    def measurements(self) -> tuple["CaseVerdict", ...]:
        """All attempts, oldest first; those on other nodes last."""
        return (*self.other_attempts, self, *self.elsewhere)

    @property
    def failed_attempts(self) -> tuple["CaseVerdict", ...]:
        return tuple(attempt for attempt in self.other_attempts if attempt.state is State.FAIL)

    @property
    def unstable(self) -> bool:
        """It failed first and no longer does."""
        return self.state is not State.FAIL and not self.robbed and bool(self.failed_attempts)

    @property
    def by_figures_alone(self) -> bool:
        """It is out of bounds, and that is all: a wrong result or a crash is not a matter of speed."""
        return bool(self.failed_metrics) and self.case.fail_phase in ("", "performance")

    @property
    def robbed(self) -> bool:
        """It is out of bounds, but others used too much of the machine meanwhile to tell why."""
        return self.state is State.INCOMPLETE and bool(self.case.robbed) and self.by_figures_alone

    @property
    def shown_metrics(self) -> tuple[MetricVerdict, ...]:
        """The metrics that say something: what a failed check did not come to measure is left out."""
        return tuple(m for m in self.metrics if m.metric.value is not None or self.state is not State.FAIL)

    @property
    def failed_metrics(self) -> tuple[MetricVerdict, ...]:
        """The metrics out of bounds, worst first."""
        failed = [metric for metric in self.metrics if metric.state is State.FAIL]
        return tuple(sorted(failed, key=lambda metric: metric.excess, reverse=True))


def without_a_job(case: Case) -> bool:
    """It could not be set up, or Slurm took no job for it, which says nothing of any node."""
    return case.result == "fail" and case.fail_phase in ("setup", "run") and case.job_id is None


def never_told(case: Case) -> bool:
    """Its job was cancelled while it waited, or Slurm no longer says what became of it: neither is a node's doing."""
    return case.result == "fail" and case.error_type in _WITHOUT_END and not case.suspects


def taken_away(case: Case) -> bool:
    """Slurm ended its job, and no node of it is down: it was preempted, or slurmctld took nodes for failed in vain; or
    slurmctld did not answer when the job wanted to go on, or forgot the job."""
    return case.result == "fail" and case.ended_by_slurm in (*_TAKEN_AWAY, _NO_STEP, _FORGOTTEN) and not case.suspects


def executed(case: Case) -> bool:
    """True when the case came to a result: it had a job that began, whose end is known and not of Slurm's making, was
    not skipped, and not aborted before that had nodes."""
    if without_a_job(case) or never_told(case) or taken_away(case) or case.lost_to:
        return False
    if case.result == "abort":
        return bool(case.nodes)
    if case.result == "pass" and case.check_class is not None:
        return case.job_id is not None
    return case.result in ("pass", "fail", "xfail", "xpass")


def judge_case(case: Case) -> CaseVerdict:
    """Judge one attempt at ``case``, with no excuse by load (``excuse.py``).

    A check that is not Kappa's is judged by ReFrame's result alone.
    """
    metrics = tuple(judge_metric(case, metric) for metric in case.metrics)
    if not executed(case):
        return CaseVerdict(case, State.INCOMPLETE, metrics, (_not_executed(case),))
    # ReFrame 4.10 counts an unexpected pass among the failures and records it as one.
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
        lost = "its result is lost", "mend that and run again: no node is to blame"
        dry = "no job ran, although the result is a pass", "run it without --dry-run"
        return Gap(*(lost if case.lost_to else dry), case.title, case.lost_to)
    if without_a_job(case) or never_told(case):
        said = _said_by_sbatch(case.fail_reason)
        return Gap(f"no job ran: {said}", remedy_of(said) or "no node is to blame: mend it and run again", case.title)
    if taken_away(case):
        what = f"Slurm ended the job before it was done: {case.ended_by_slurm}"
        if case.ended_by_slurm == _NO_STEP:
            refused = "Slurm did not start a step of the job"
            why = one_line(case.fail_reason.rpartition(f"{refused}: ")[2], 200)
            return Gap(refused, "is slurmctld up? `scontrol ping`", case.title, why)
        if case.ended_by_slurm == _FORGOTTEN:
            return Gap("Slurm forgot the job before it was done", "was slurmctld killed? run it again", case.title)
        return Gap(what, "no node of it is down: was it preempted, or slurmctld restarted? run it again", case.title)
    how = {
        "abort": "aborted before it ran",
        "fail_deps": "skipped, because a case that it needs failed",
        "skip": "skipped",
    }.get(case.result, f"ended as {one_line(case.result, 30)!r}")
    reason = one_line(case.fail_reason or (case.hint if case.result == "skip" else ""), 200)
    return Gap(how, "run it again; ReFrame's log says why", case.title, reason)


def _said_by_sbatch(reason: str) -> str:
    """Return sbatch's own words on its error, or else all of ``reason``."""
    told = [line.partition("error:")[2] for line in reason[:10_000].splitlines() if line.startswith("sbatch: error:")]
    said = " ".join(told).replace("Batch job submission failed:", "") or _PREFIX.sub("", reason)
    return one_line(said, REASON_CHARS)


def _gaps(case: Case, metrics: tuple[MetricVerdict, ...], state: State) -> list[Gap]:
    gaps = []
    if case.reference_problem:
        remedy = "mend the site's references"
        gaps.append(Gap("the references could not be used", remedy, detail=one_line(case.reference_problem, 300)))
    for name, why in case.unmeasured.items():
        remedy = "state it in site.yaml (docs/site-reference.md)"
        gaps.append(Gap(_UNSTATED, remedy, detail=one_line(f"{name}: {why}", 300)))
    for metric in metrics:
        # The failure explains why a failed or aborted check did not measure a metric.
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
            gaps.append(Gap("the check measures nothing", "a check must declare its metrics"))
    return gaps
