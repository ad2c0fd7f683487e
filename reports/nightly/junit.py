"""A night as JUnit XML, for CI servers."""

from collections.abc import Sequence
from xml.etree import ElementTree as ET

from kappa.core.ground.figures import figure
from reports.history.findings import FindingKind
from reports.history.judgement import JudgedSeries
from reports.nightly.night import Night
from reports.nightly.summarise import JudgedNight
from reports.show.junit import cases_and_gaps, document, gap, suite, text


def junit(site: str, night: Night, judged: JudgedNight, findings: Sequence[JudgedSeries], problem: str = "") -> str:
    """A suite of the night and one of the history, so that what did not run is no success.

    In the first is a test case for each case and one for each kind of gap; in the second one for each series, which
    fails when it is worse than before.

    :param problem: why the night was not held against its past; empty when it was.
    """
    tests = cases_and_gaps(site, judged.cases, judged.gaps)
    past = [_series(site, one) for one in findings]
    past += [gap(f"{site}.history", "not held against the past", problem, "")] if problem else []
    seconds = (night.ended or night.started) - night.started
    return document(
        [suite(f"{site} {night.mode} {night.night}", tests, seconds), suite(f"{site} history {night.night}", past, 0)]
    )


def _series(site: str, one: JudgedSeries) -> ET.Element:
    series, finding = one.series, one.finding
    test = ET.Element(
        "testcase",
        classname=text(f"{site}.history.{series.partition}"),
        name=text(f"{series.title} on {series.partition}+{series.environ} {series.folded_nodes}".rstrip()),
        time="0",
    )
    if one.worse:
        what = f"{one.verdict} since {one.since}: {figure(finding.before)} → {figure(finding.after)} {series.unit}"
        changes = "; ".join(one.changes) or "nothing else that is recorded"
        ET.SubElement(test, "failure", message=text(what.strip())).text = text(f"changed at that time: {changes}")
    elif finding.kind is FindingKind.THIN:
        ET.SubElement(test, "skipped", message="too few values to judge it by its past")
    return test
