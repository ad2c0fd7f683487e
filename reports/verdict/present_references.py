"""Judge a run by references that are newer than the run, and say what that changes."""

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

# ReFrame's error for a metric beyond its bounds.
_OUT_OF_BOUNDS = "PerformanceError"


def with_present_references(session: Session, site: Site) -> Session:
    """Return the session with the bounds that the site's references give its metrics now.

    :raises InputError: a reference file of the site is not valid.
    """
    site.require_references()
    references = SiteReferences(site.folder)
    return _judged_by(session, references, site.name)


def _judged_by(session: Session, references: SiteReferences, site: str) -> Session:
    return replace(
        session,
        runs=tuple(tuple(_case(case, references, site) for case in run) for run in session.runs),
        again=tuple(_judged_by(other, references, site) for other in session.again),
    )


def _case(case: Case, references: SiteReferences, site: str) -> Case:
    # A simulated case has no reference, and a foreign check has its own.
    if not case.reference_file or case.simulation:
        return case
    place = CasePlace(site, case.partition, case.environ, case.name)
    entries = references.of(case.reference_file, str(case.check_class), place)
    metrics = tuple(with_reference(metric, *entries.get(metric.name, (None, None))) for metric in case.metrics)
    case = replace(
        case, metrics=metrics, reference_problem="", first=case.first and _case(case.first, references, site)
    )
    # The first measurement of a job has no error of its own.
    if case.result != "fail" or case.fail_phase != "performance" or case.error_type not in ("", _OUT_OF_BOUNDS):
        return case
    # ReFrame failed it by the former bounds only. Its files stay where ReFrame left those of failed cases.
    return replace(case, result="pass", fail_phase="", fail_reason="", fail_info=None, outputdir=case.stagedir)


def changes(before: Verdict, after: Verdict) -> tuple[str, ...]:
    """Return a line for the verdict, each case and each gap that differ, with the bounds that changed."""
    lines = [] if before.state is after.state else [f"verdict: {before.state.label} → {after.state.label}"]
    earlier = {_key(case): case for case in before.cases}
    for case in after.cases:
        lines += _of_case(earlier.get(_key(case), case), case)
    for sign, gaps, others in (("gone", before.gaps, after.gaps), ("new", after.gaps, before.gaps)):
        known = {(gap.what, gap.place) for gap in others}
        lines += [
            f"{sign}: {gap.what}: {gap.place}".rstrip(": ") for gap in gaps if (gap.what, gap.place) not in known
        ]
    return tuple(lines)


def _key(case: CaseVerdict) -> tuple[object, ...]:
    return *case.case.identity, case.case.nodes, case.case.job_id


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
