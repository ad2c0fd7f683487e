"""Find the expected cases that a run lacks, by the site's description and the census of the suite."""

import itertools
import shlex
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from msgspec import structs

from kappa.core.record.evidence import Census
from kappa.core.record.model import Session, own_parameters
from kappa.core.sites.load import Site
from kappa.core.vocabulary.checks import catalogue
from kappa.core.vocabulary.features import SIMULATED
from kappa.core.vocabulary.modes import MODES
from kappa.core.vocabulary.scales import derived_features
from reports.verdict.case_verdict import CaseVerdict, executed
from reports.verdict.state import Gap

_SELECT = ("-n", "--name", "-x", "--exclude", "-t", "--tag", "-T", "--exclude-tag", "-p", "--prgenv", "-E",
           "--filter-expr", "--system", "--gpu-only", "--cpu-only")  # fmt: skip

_MOST_FAMILIES = 3


@dataclass(frozen=True)
class NotProvided:
    """Describe a check that the site cannot run, or runs in part.

    ``features`` lists each missing feature with the site's reason, or ``""``.
    """

    check: str
    family: str
    features: tuple[tuple[str, str], ...]

    @property
    def reason(self) -> str:
        return "; ".join(f"{feature}: {why or 'the site gives no reason'}" for feature, why in self.features)


@dataclass(frozen=True)
class LeftByBudget:
    """Name a check that a night left out to stay within its node-hours."""

    check: str
    family: str


def find_census(cases: Sequence[CaseVerdict]) -> Census | None:
    """Return the census of the suite from the first case that has one."""
    return next((verdict.case.census for verdict in cases if verdict.case.census), None)


def not_provided(site: Site | None, census: Census | None) -> tuple[NotProvided, ...]:
    """Return every check of the suite that the site cannot run, with the reasons."""
    commands = {feature: f"`{command}` installs it" for feature, command in (census.install if census else {}).items()}
    reasons = site.expected.reasons | commands | site.expected.not_provided if site else commands
    return tuple(
        NotProvided(check.name, check.family, tuple((feature, reasons.get(feature, "")) for feature in check.missing))
        for check in (census.checks if census else ())
        if not check.offered
    )


def state_not_provided(cases: Sequence[CaseVerdict]) -> Iterator[NotProvided]:
    """Yield the kinds of state that a check compares but no node of the partition reports."""
    for case in (verdict.case for verdict in cases if verdict.case.not_provided):
        why = f"no node of {case.partition} reports it"
        yield NotProvided(case.check_class or case.name, case.family, ((", ".join(case.not_provided), why),))


def census_gaps(census: Census | None) -> list[Gap]:
    """Return a gap for a missing census, or for each check file that did not load."""
    if census is None:
        return [Gap("the census of the suite is missing", "run PartitionState in the same session")]
    remedy = "read ReFrame's warnings for the reason, and load the whole suite with -R"
    return [Gap("a check did not load", remedy, one.file, one.problem) for one in census.not_loaded]


def expectation_gaps(
    site: Site, mode: str, cases: Sequence[CaseVerdict], census: Census | None, without: Collection[str] = ()
) -> list[Gap]:
    """Return a gap for each thing that ``mode`` expects and the report lacks, except for the checks in ``without``.

    - A family on a partition where no case has a result. Where some have one: each case that the site offers there.
    - A scale or placement that the partition can run but does not.
    - A feature that a partition lacks for a case of the mode, without a reason.
    """
    missing = {entry.check: entry for entry in not_provided(site, census)}
    nothing_left: set[str] = set()
    if census:
        nothing_left = _families_without(census, mode, without)
        census = structs.replace(census, checks=tuple(check for check in census.checks if check.name not in without))
    there = Counter((verdict.case.family, verdict.case.partition) for verdict in cases)
    ran = {(verdict.case.family, verdict.case.partition) for verdict in cases if executed(verdict.case)}
    gaps = []
    for family, partitions in site.modes[mode].items():
        for partition in partitions:
            place = family, partition
            if place not in ran and family not in nothing_left:
                none = f"none of its {there[place]} cases ran"
                why = none if place in there else _why_absent(family, census, missing)
                gaps.append(_expected(mode, f"{family} on {partition}", why, absent=place not in there))
    if census:
        gaps += _absent_cases(site, mode, cases, census, ran)
        gaps += _absent_scales(site, mode, census)
    return [*gaps, *_unexplained(site, mode)]


def _families_without(census: Census, mode: str, without: Collection[str]) -> set[str]:
    """Return the families whose checks in this mode are all in ``without``."""
    runs = [check for check in census.checks if check.offered and MODES[mode].takes_some(check.name, check.tags)]
    kept = {check.family for check in runs if check.name not in without}
    return {check.family for check in runs if check.name in without} - kept


def _absent_cases(
    site: Site, mode: str, cases: Sequence[CaseVerdict], census: Census, ran: set[tuple[str, str]]
) -> Iterator[Gap]:
    """Yield a gap for each expected case that the report lacks, if its family ran; otherwise the family is the gap."""
    there = {(verdict.case.name, verdict.case.partition, verdict.case.environ) for verdict in cases}
    classes = {verdict.case.check_class for verdict in cases}
    for check in census.checks:
        partitions = site.modes[mode].get(check.family, ())
        if not partitions or not check.offered:
            continue
        selected = MODES[mode].takes_some(check.name, check.tags)
        if check.cases is None and selected and check.name not in classes:
            yield _expected(mode, check.name, "the report has no case of this check", absent=True)
        programs = catalogue()[check.name].needs_environ if check.name in catalogue() else []
        for case in check.cases or ():
            if not MODES[mode].takes(check.name, check.tags, own_parameters(case.name)):
                continue
            for partition, environ in case.places:
                expected = partition in partitions and (check.family, partition) in ran
                if not expected or (case.name, partition, environ) in there:
                    continue
                needs = [*case.features, *programs]
                if not site.expected.leaves_out(mode, partition, check.family, needs):
                    where = f"{case.name} on {partition}+{environ}"
                    yield _expected(mode, where, "the report does not have this case", absent=True)


def _absent_scales(site: Site, mode: str, census: Census) -> Iterator[Gap]:
    expected = {partition for partitions in site.modes[mode].values() for partition in partitions}
    for name, partition in census.partitions.items():
        if SIMULATED in partition.features:
            continue  # on a simulated machine, the user chooses the scales
        derived = derived_features(partition.nodes, partition.sockets, partition.numa_domains)
        for feature, why in derived.items() if name in expected else ():
            left_out = (one for one in site.expected.left_out if not one.narrowed)
            if feature in partition.features or any(one.covers(mode, name, "", [feature]) for one in left_out):
                continue
            remedy = "add the feature to the partition in site.yaml, or add a reason to expected.yaml under left_out"
            yield Gap("the partition can run a scale that it leaves out", remedy, f"{feature} on {name}", why)


def _unexplained(site: Site, mode: str) -> Iterator[Gap]:
    remedy = "add it to site.yaml, or a reason to expected.yaml: under not_provided for the whole site, else left_out"
    for one in site.unexplained(mode):
        features = " and ".join(need.replace("|", " or ") for need in one.features)
        families = ", ".join(one.families[:_MOST_FAMILIES]) + (", …" if len(one.families) > _MOST_FAMILIES else "")
        yield Gap("a feature is missing without a reason", remedy, f"{features} on {one.partition}", f"for {families}")


def left_by_budget(session: Session, census: Census | None) -> tuple[LeftByBudget, ...]:
    """Return the checks that the session left out for its budget, according to its record."""
    families = {check.name: check.family for check in census.checks} if census else {}
    names = filter(None, session.left_out.split(":"))
    return tuple(LeftByBudget(name, families.get(name, "")) for name in names)


def breadth(site: Site, mode: str, census: Census | None) -> str:
    """Return how many of the families that the site can run ``mode`` expects; empty if it expects all."""
    offered = {check.family for check in census.checks if check.offered} if census else set()
    expected = offered & set(site.modes.get(mode, ()))
    return f"expects {len(expected)} of {len(offered)} families" if expected != offered else ""


def _expected(mode: str, where: str, why: str, *, absent: bool = False) -> Gap:
    remedy = f"run the whole mode (--mode {mode}), or add a reason to expected.yaml under left_out"
    return Gap(f"expected in mode {mode}, but not run", remedy, where, why, absent)


def _why_absent(family: str, census: Census | None, missing: dict[str, NotProvided]) -> str:
    if census is None:
        return "no case in the report"
    members = [check for check in census.checks if check.family == family]
    if not members:
        return "the suite has no check of this family"
    if any(check.offered for check in members):
        return "no case in the report"
    return "not provided here, " + "; ".join(sorted({missing[check.name].reason for check in members}))


def selecting(command_line: str) -> list[str]:
    """Return the options of ReFrame's command line that select cases, in any spelling."""
    try:
        words = shlex.split(command_line)
    except ValueError:
        return []
    found = []
    for word, after in itertools.zip_longest(words, words[1:], fillvalue=""):
        name = word.partition("=")[0] if word.startswith("--") else word[:2]
        if name in _SELECT and not (name == "--system" and ":" not in word + after):
            found.append(f"{word} {after}" if word == name and not name.endswith("-only") else word)
    return found


def in_one(gaps: Sequence[Gap], command_line: str, mode: str) -> list[Gap]:
    """Return ``gaps`` with all cases that the session's options left out of ``mode`` joined into one gap."""
    options = selecting(command_line)
    absent = [gap for gap in gaps if gap.absent]
    if not options or not absent:
        return list(gaps)
    left = f"{' '.join(options)} leaves out {len(absent)} expected families, checks or cases"
    one = Gap(f"only a part of mode {mode} was selected", f"run the whole mode for its verdict: --mode {mode}", left)
    return [*(gap for gap in gaps if not gap.absent), one]
