"""The line about a failed case that an operator reads first: metric, nodes, deviation, hint and output file."""

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
# The daemons of every node use less than both limits.
LEAST_CORES, LEAST_SHARE = 0.25, 0.02


@dataclass(frozen=True)
class OperatorLine:
    """Hold the parts of the line; ``str()`` joins them."""

    title: str
    what: str
    where: str
    diagnosis: str
    load: str
    hint: str
    output: str

    @property
    def finding(self) -> str:
        """Return the failure, its nodes and the diagnosis in one string."""
        return "; ".join(part for part in (self.what, self.where, self.diagnosis) if part)

    def __str__(self) -> str:
        parts = (f"{self.title}: {self.what}", self.where, self.diagnosis, self.load, self.hint, self.output)
        return " | ".join(part for part in parts if part)


def operator_line(failed: CaseVerdict) -> OperatorLine:
    """Return the operator's line about a failed attempt."""
    case = failed.case
    if failed.suspicion:
        where = f"suspect {folded(failed.suspicion.nodes)} ({failed.suspicion.evidence})"
    elif case.nodes:
        where = f"on {folded(case.nodes)}"
    else:
        where = "no job ran"
    return OperatorLine(
        title=failed.title,
        what=what_failed(failed),
        where=where,
        diagnosis=explain(failed),
        load=used_by_others(case),
        # A hint is about nodes, and without a job there are none.
        hint=one_line(case.hint, REASON_LIMIT) if case.job_id else "",
        output=case.output or "",
    )


def equal_reasons(failed: Iterable[CaseVerdict]) -> list[list[CaseVerdict]]:
    """Group the failures that have the same reason and hint.

    A failure with a metric out of bounds or with a suspect node is a group of its own.
    """
    groups: dict[tuple[object, ...], list[CaseVerdict]] = {}
    for number, case in enumerate(failed):
        its_own = case.failed_metrics or case.suspicion
        groups.setdefault((number,) if its_own else (what_failed(case), case.case.hint), []).append(case)
    return list(groups.values())


def used_by_others(case: Case) -> str:
    """Return the cores that other processes used on the job's nodes during the measurement, and the other jobs there.

    The node with the most used cores comes first. The string is empty if the use was negligible.
    """
    loads = case.load_by_others.items()
    used = [(place, load) for place, load in loads if load.cores >= max(LEAST_CORES, LEAST_SHARE * load.of_cores)]
    worst = sorted(used, key=lambda found: found[1].cores, reverse=True)
    told = ", ".join(f"{load.cores:.1f} of {load.of_cores:.0f} cores of {place}" for place, load in worst[:3])
    more = f", and on {counted(len(worst) - 3, 'more node')}" if len(worst) > 3 else ""
    found = [f"during the measurement, other processes used {told}{more}"] if told else []
    jobs = one_line(case.provenance.other_jobs, MOST_JOBS_CHARS)
    return "; ".join([*found, f"other jobs on the same nodes: {', '.join(jobs.split())}"] if jobs else found)


def what_failed(failed: CaseVerdict) -> str:
    """Return the worst metric with its bound, or else the recorded reason."""
    metrics = failed.failed_metrics
    if metrics:
        more = f"; {counted(len(metrics) - 1, 'more metric')} out of bounds" if len(metrics) > 1 else ""
        contradiction = "" if failed.case.result != "pass" else "; ReFrame recorded a pass"
        return measured_against_bound(metrics[0]) + more + contradiction
    case = failed.case
    phase = "" if not case.fail_phase or case.fail_reason.startswith(case.fail_phase) else f"{case.fail_phase}: "
    # Lines that start with a bar quote the check's source code.
    reason = "\n".join(line for line in case.fail_reason[:10_000].splitlines() if not line.startswith("|"))
    return one_line(phase + (reason or f"ended as {case.result}, no reason recorded"), REASON_LIMIT).rstrip(":")


def measured_against_bound(verdict: MetricVerdict) -> str:
    """Return text like ``bandwidth_1MiB 41.2 MB/s, allowed ≥ 100 (-58 % from the reference)``."""
    metric = verdict.metric
    deviation = verdict.deviation_percent
    by = f" ({percent(deviation)} % from the reference)" if deviation is not None else ""
    value = " ".join(part for part in (measured(verdict), metric.unit) if part)
    return f"{metric.name} {value}, allowed {allowed(*metric.bounds)}{by}"


def measured(verdict: MetricVerdict) -> str:
    """Return the value with enough digits to differ from the bound that it violates."""
    value = verdict.metric.value
    if value is None:
        return ""
    lower, upper = verdict.metric.bounds
    if value < lower:
        return figure_apart(value, lower)
    return figure_apart(value, upper) if value > upper else figure(value)
