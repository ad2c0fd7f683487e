"""What a run lacks of what its site expects, from the site's modes and the census of the suite."""

from collections.abc import Sequence
from dataclasses import dataclass

from kappa.record.evidence import Census
from kappa.sites.expected import Site
from reports.verdict.case_verdict import CaseVerdict, executed
from reports.verdict.gaps import Gap


@dataclass(frozen=True)
class NotProvided:
    """A check that the site cannot run: (feature, the site's reason or '') of each feature that it lacks."""

    check: str
    family: str
    features: tuple[tuple[str, str], ...]

    @property
    def reason(self) -> str:
        return "; ".join(f"{feature}: {why or 'the site gives no reason'}" for feature, why in self.features)


def find_census(cases: Sequence[CaseVerdict]) -> Census | None:
    """The census of the suite, from the first case that has one."""
    return next((verdict.case.census for verdict in cases if verdict.case.census), None)


def not_provided(site: Site | None, census: Census | None) -> tuple[NotProvided, ...]:
    """Every check of the suite that the site does not offer."""
    commands = {feature: f"`{command}` installs it" for feature, command in (census.install if census else {}).items()}
    reasons = commands | (site.not_provided if site else {})
    return tuple(
        NotProvided(check.name, check.family, tuple((feature, reasons.get(feature, "")) for feature in check.missing))
        for check in (census.checks if census else ())
        if not check.offered
    )


def census_gaps(census: Census | None) -> list[Gap]:
    if census is None:
        return [Gap("the census of the suite is missing", "run PartitionState in the same session")]
    return [
        Gap("a check did not load", "ReFrame's warnings say why; load the whole suite with -R", one.file, one.problem)
        for one in census.not_loaded
    ]


def expectation_gaps(site: Site, mode: str, cases: Sequence[CaseVerdict], census: Census | None) -> list[Gap]:
    """A gap for each family and partition that ``mode`` expects and for which no case came to a result, and for each
    check of these families that is tagged with the mode and of which the report holds no case."""
    missing = {entry.check: entry for entry in not_provided(site, census)}
    expected = site.modes[mode]
    gaps = []
    for family, partitions in expected.items():
        for partition in partitions:
            there = [v.case for v in cases if (v.case.family, v.case.partition) == (family, partition)]
            if not any(executed(case) for case in there):
                why = f"none of its {len(there)} cases ran" if there else _why_absent(family, census, missing)
                gaps.append(_expected(mode, f"{family} on {partition}", why))
    classes = {verdict.case.check_class for verdict in cases}
    for check in census.checks if census else ():
        if check.family in expected and mode in check.tags and check.offered and check.name not in classes:
            gaps.append(_expected(mode, check.name, "the report holds no case of it"))
    return gaps


def _expected(mode: str, where: str, why: str) -> Gap:
    remedy = f"run the whole mode (--mode {mode}), or correct the site's expected.yaml"
    return Gap(f"expected in mode {mode}, but not run", remedy, where, why)


def _why_absent(family: str, census: Census | None, missing: dict[str, NotProvided]) -> str:
    if census is None:
        return "no case in the report"
    members = [check for check in census.checks if check.family == family]
    if not members:
        return "the suite has no check of this family"
    if any(check.offered for check in members):
        return "no case in the report"
    return "not provided here, " + "; ".join(sorted({missing[check.name].reason for check in members}))
