"""The one line that an operator needs first: what failed, where, by how much, what to look at, and the output."""

from collections.abc import Iterable
from dataclasses import dataclass

from kappa.core.ground.clean_text import one_line
from kappa.core.ground.figures import allowed, counted, figure, figure_apart, percent
from kappa.core.ground.node_lists import folded
from kappa.core.record.model import Case
from reports.verdict.case_verdict import CaseVerdict
from reports.verdict.confirm import explain
from reports.verdict.metric_verdict import MetricVerdict

REASON_LIMIT = 300
MOST_JOBS_CHARS = 60
# Use below both limits comes from every node's own daemons.
LEAST_CORES, LEAST_SHARE = 0.25, 0.02


@dataclass(frozen=True)
class OperatorLine:
    """The parts of the line; ``str()`` joins them."""

    title: str
    what: str
    where: str
    diagnosis: str
    load: str
    hint: str
    output: str

    @property
    def finding(self) -> str:
        """The failure, its place, and the diagnosis."""
        return "; ".join(part for part in (self.what, self.where, self.diagnosis) if part)

    def __str__(self) -> str:
        parts = (f"{self.title}: {self.what}", self.where, self.diagnosis, self.load, self.hint, self.output)
        return " | ".join(part for part in parts if part)


def operator_line(failed: CaseVerdict) -> OperatorLine:
    """The line of a failed attempt."""
    case = failed.case
    if failed.suspicion:
        where = f"suspect {folded(failed.suspicion.nodes)} ({failed.suspicion.evidence})"
    elif case.nodes:
        where = f"on {folded(case.nodes)}"
    else:
        where = "no job ran"
    return OperatorLine(
        title=case.title,
        what=what_failed(failed),
        where=where,
        diagnosis=explain(failed),
        load=used_by_others(case),
        # A hint about nodes says nothing if no node had the job.
        hint=one_line(case.hint, REASON_LIMIT) if case.job_id else "",
        output=case.output or "",
    )


def equal_reasons(failed: Iterable[CaseVerdict]) -> list[list[CaseVerdict]]:
    """The failures, those together that have the same reason, which is neither a figure nor speaks against a node."""
    groups: dict[tuple[object, ...], list[CaseVerdict]] = {}
    for number, case in enumerate(failed):
        its_own = case.failed_metrics or case.suspicion
        groups.setdefault((number,) if its_own else (what_failed(case), case.case.hint), []).append(case)
    return list(groups.values())


def used_by_others(case: Case) -> str:
    """The cores that others than the job used on its nodes while it was measured, most first, and the other jobs that
    were there; empty when next to nothing."""
    loads = case.load_by_others.items()
    used = [(place, load) for place, load in loads if load.cores >= max(LEAST_CORES, LEAST_SHARE * load.of_cores)]
    worst = sorted(used, key=lambda found: found[1].cores, reverse=True)
    told = ", ".join(f"{load.cores:.1f} of {load.of_cores:.0f} cores of {place}" for place, load in worst[:3])
    more = f", and on {counted(len(worst) - 3, 'more node')}" if len(worst) > 3 else ""
    found = [f"others used {told}{more} while it was measured"] if told else []
    jobs = one_line(case.provenance.other_jobs, MOST_JOBS_CHARS)
    return "; ".join([*found, f"beside it on its nodes: job {', '.join(jobs.split())}"] if jobs else found)


def what_failed(failed: CaseVerdict) -> str:
    """The worst figure with its bound, or the reason that was recorded."""
    metrics = failed.failed_metrics
    if metrics:
        more = f"; {counted(len(metrics) - 1, 'more metric')} out of bounds" if len(metrics) > 1 else ""
        contradiction = "" if failed.case.result != "pass" else "; ReFrame recorded a pass"
        return measured_against_bound(metrics[0]) + more + contradiction
    case = failed.case
    phase = "" if not case.fail_phase or case.fail_reason.startswith(case.fail_phase) else f"{case.fail_phase}: "
    # Lines with a bar quote the source code where a check raised.
    reason = "\n".join(line for line in case.fail_reason[:10_000].splitlines() if not line.startswith("|"))
    return one_line(phase + (reason or f"ended as {case.result}, no reason recorded"), REASON_LIMIT).rstrip(":")


def measured_against_bound(verdict: MetricVerdict) -> str:
    """For instance ``bandwidth_1MiB 41.2 MB/s, allowed ≥ 100 (-58 % from the reference)``."""
    metric = verdict.metric
    deviation = verdict.deviation_percent
    by = f" ({percent(deviation)} % from the reference)" if deviation is not None else ""
    value = " ".join(part for part in (measured(verdict), metric.unit) if part)
    return f"{metric.name} {value}, allowed {allowed(verdict.lower, verdict.upper)}{by}"


def measured(verdict: MetricVerdict) -> str:
    """The value, with enough digits to tell it from a bound that it breaks."""
    value = verdict.metric.value
    if value is None:
        return ""
    if value < verdict.lower:
        return figure_apart(value, verdict.lower)
    return figure_apart(value, verdict.upper) if value > verdict.upper else figure(value)
