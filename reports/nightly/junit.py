"""Write a night as JUnit XML for CI servers."""

from collections.abc import Sequence
from xml.etree import ElementTree as ET

from kappa.core.ground.figures import figure
from kappa.core.record.acknowledgements import NOTHING_ACKNOWLEDGED, Acknowledgements
from reports.history.findings import FindingKind
from reports.history.judgement import JudgedSeries
from reports.history.listing import of_series
from reports.nightly.night import Night
from reports.nightly.summarise import JudgedNight
from reports.show.junit import cases_and_gaps, document, gap, suite, text


def junit(
    site: str,
    night: Night,
    judged: JudgedNight,
    findings: Sequence[JudgedSeries],
    problem: str = "",
    acknowledged: Acknowledgements = NOTHING_ACKNOWLEDGED,
) -> str:
    """Return a test suite of the night and one of the history, so that a missing result is no success.

    The first suite has a test case for each case and for each kind of gap. The second has a test case for each series;
    it fails if the series is worse than before.

    :param problem: the reason why the night was not compared with its past, or empty.
    """
    tests = cases_and_gaps(site, judged.cases, judged.gaps, acknowledged)
    past = [_series(site, one, acknowledged) for one in findings]
    past += [gap(f"{site}.history", "not compared with the past", problem, "")] if problem else []
    seconds = (night.ended or night.started) - night.started
    return document(
        [suite(f"{site} {night.mode} {night.night}", tests, seconds), suite(f"{site} history {night.night}", past, 0)]
    )


def _series(site: str, one: JudgedSeries, acknowledged: Acknowledgements) -> ET.Element:
    series, finding = one.series, one.finding
    test = ET.Element(
        "testcase",
        classname=text(f"{site}.history.{series.partition}"),
        name=text(f"{series.title} on {series.partition}+{series.environ} {series.folded_nodes}".rstrip()),
        time="0",
    )
    if one.worse:
        what = f"{one.verdict} since {one.since}: {figure(finding.before)} → {figure(finding.after)} {series.unit}"
        changes = "; ".join(one.changes) or "no recorded fact"
        ET.SubElement(test, "failure", message=text(what.strip())).text = text(f"changed at that time: {changes}")
        if known := acknowledged.of(of_series(one)):
            ET.SubElement(test, "system-out").text = text(str(known))
    elif finding.kind is FindingKind.THIN:
        ET.SubElement(test, "skipped", message="too few values for a comparison with its past")
    return test
