"""Judge a run by references that are newer than the run, and say what that changes."""

import math
from collections.abc import Iterator

from msgspec.structs import replace

from kappa.core.ground.figures import allowed
from kappa.core.record.metric import with_reference
from kappa.core.record.model import Case, Session
from kappa.core.sites.load import Site
from kappa.core.sites.references import CasePlace, SiteReferences
from reports.verdict.advice import measured
from reports.verdict.case_verdict import CaseVerdict
from reports.verdict.judge import Verdict


def with_present_references(session: Session, site: Site) -> Session:
    """Return the session with the bounds that the site's references give its metrics now.

    :raises InputError: a reference file of the site is not valid.
    """
    site.require_references()
    references = SiteReferences(site.folder)

    def of(session: Session) -> Session:
        runs = tuple(tuple(_case(case, references, site.name) for case in run) for run in session.runs)
        return replace(session, runs=runs, again=tuple(map(of, session.again)))

    return of(session)


def _case(case: Case, references: SiteReferences, site: str) -> Case:
    # A simulated case has no reference, and a foreign check has its own.
    if not case.reference_file or case.simulation:
        return case
    place = CasePlace(site, case.partition, case.environ, case.name)
    entries = references.of(case.reference_file, str(case.check_class), place)
    metrics = tuple(with_reference(metric, *entries.get(metric.name, (None, None))) for metric in case.metrics)
    unknown = sorted(entries.keys() - {metric.name for metric in metrics} - {*case.unmeasured, *case.declared_metrics})
    problem = f"{case.reference_file} names {', '.join(unknown)}, which this check does not measure" if unknown else ""
    by_bounds = _failed_by_bounds(case)
    case = replace(
        case, metrics=metrics, reference_problem=problem, first=case.first and _case(case.first, references, site)
    )
    if not by_bounds:
        return case
    # Its files stay where ReFrame left those of a failed case.
    return replace(case, result="pass", fail_phase="", fail_reason="", fail_info=None, outputdir=case.stagedir)


def _failed_by_bounds(case: Case) -> bool:
    """Return whether ReFrame failed a case by the recorded bounds alone: every metric has a value."""
    if case.result != "fail" or case.fail_phase != "performance":
        return False
    values = {one.name: one.value for one in case.metrics if one.value is not None and math.isfinite(one.value)}
    beyond = [
        one for one in case.metrics if one.name in values and not one.bounds[0] <= values[one.name] <= one.bounds[1]
    ]
    return bool(beyond) and values.keys() >= {*case.declared_metrics, *(one.name for one in case.metrics)}


def changes(before: Verdict, after: Verdict) -> tuple[str, ...]:
    """Return a line for the verdict, each case and each gap that differ, with the bounds that changed."""
    lines = [] if before.state is after.state else [f"verdict: {before.state.label} → {after.state.label}"]
    # The same session has the same cases in the same order.
    for earlier, case in zip(before.cases, after.cases, strict=False):
        lines += _of_case(earlier, case)
    for sign, gaps, others in (("gone", before.gaps, after.gaps), ("new", after.gaps, before.gaps)):
        known = {(gap.what, gap.place) for gap in others}
        lines += [
            f"{sign}: {gap.what}: {gap.place}".rstrip(": ") for gap in gaps if (gap.what, gap.place) not in known
        ]
    return tuple(lines)


def _of_case(before: CaseVerdict, after: CaseVerdict) -> Iterator[str]:
    metrics = {one.metric.name: one for one in before.metrics}
    moved = [
        f"{one.metric.name} {measured(one)} {one.metric.unit}".rstrip()
        + f", allowed {allowed(*earlier.metric.bounds)}, now {allowed(*one.metric.bounds)}"
        for one in after.metrics
        if (earlier := metrics.get(one.metric.name)) and earlier.metric.bounds != one.metric.bounds
    ]
    if before.state is not after.state:
        yield "; ".join([f"{after.title}: {before.state.label} → {after.state.label}", *moved])
    elif moved:
        yield "; ".join([f"{after.title}: still {after.state.label}", *moved])
