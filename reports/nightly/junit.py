"""A night as JUnit XML, for CI servers."""

import re
from collections.abc import Sequence
from xml.etree import ElementTree as ET

from kappa.core.ground.clean_text import clean
from kappa.core.ground.figures import figure
from reports.history.findings import Kind
from reports.history.judgement import JudgedSeries
from reports.nightly.night import Night
from reports.nightly.summarise import JudgedNight
from reports.verdict.advice import operator_line
from reports.verdict.case_verdict import CaseVerdict
from reports.verdict.state import State, grouped

# Characters that XML 1.0 cannot hold, not even escaped.
_FORBIDDEN = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(site: str, night: Night, judged: JudgedNight, findings: Sequence[JudgedSeries], problem: str = "") -> str:
    """A suite of the night and one of the history, so that what did not run is no success.

    In the first is a test case for each case and one for each kind of gap; in the second one for each series, which
    fails when it is worse than before.

    :param problem: why the night was not held against its past; empty when it was.
    """
    gaps = grouped(judged.gaps)
    tests = [_case(site, case) for case in judged.cases]
    tests += [_gap(f"{site}.incomplete", gap.what, "; ".join(places), gap.remedy) for gap, places in gaps]
    past = [_series(site, one) for one in findings]
    past += [_gap(f"{site}.history", "not held against the past", problem, "")] if problem else []
    root = ET.Element("testsuites")
    root.append(_suite(f"{site} {night.mode} {night.night}", tests, (night.ended or night.started) - night.started))
    root.append(_suite(f"{site} history {night.night}", past, 0))
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _suite(name: str, tests: Sequence[ET.Element], seconds: float) -> ET.Element:
    suite = ET.Element("testsuite", name=_text(name), tests=str(len(tests)), time=f"{seconds:.1f}")
    for count, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(count, str(sum(test.find(tag) is not None for test in tests)))
    suite.extend(tests)
    return suite


def _case(site: str, found: CaseVerdict) -> ET.Element:
    case = found.case
    test = ET.Element(
        "testcase",
        classname=_text(f"{site}.{case.partition}.{case.check_class or 'other'}"),
        name=_text(case.title),
        time=f"{case.took_s or 0:.1f}",
    )
    if found.state is State.FAIL:
        line = operator_line(found)
        ET.SubElement(test, "failure", message=_text(f"{line.what}; {line.where}")).text = _text(str(line))
    elif found.state is State.INCOMPLETE:
        why = "; ".join(f"{gap.what} {gap.detail}".strip() for gap in found.gaps)
        ET.SubElement(test, "error", type="incomplete", message=_text(why))
    elif found.unstable:
        said = [f"at first: {operator_line(attempt)}" for attempt in found.failed_attempts]
        ET.SubElement(test, "system-out").text = _text("\n".join(said))
    return test


def _series(site: str, one: JudgedSeries) -> ET.Element:
    series, finding = one.series, one.finding
    test = ET.Element(
        "testcase",
        classname=_text(f"{site}.history.{series.partition}"),
        name=_text(f"{series.title} on {series.partition}+{series.environ} {series.folded_nodes}".rstrip()),
        time="0",
    )
    if one.worse:
        what = f"{one.verdict} since {one.since}: {figure(finding.before)} → {figure(finding.after)} {series.unit}"
        changes = "; ".join(one.changes) or "nothing else that is recorded"
        ET.SubElement(test, "failure", message=_text(what.strip())).text = _text(f"changed at that time: {changes}")
    elif finding.kind is Kind.THIN:
        ET.SubElement(test, "skipped", message="too few values to judge it by its past")
    return test


def _gap(classname: str, what: str, where: str, remedy: str) -> ET.Element:
    test = ET.Element("testcase", classname=_text(classname), name=_text(what), time="0")
    ET.SubElement(test, "error", type="incomplete", message=_text(where or what)).text = _text(remedy)
    return test


def _text(text: str) -> str:
    return _FORBIDDEN.sub("\ufffd", clean(text))
