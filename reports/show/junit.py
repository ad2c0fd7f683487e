"""Write a verdict as JUnit XML for CI servers. A case that did not run or has no reference is an error."""

import re
from collections.abc import Sequence
from xml.etree import ElementTree as ET

from kappa.core.ground.clean_text import clean
from kappa.core.record.acknowledgements import Acknowledgements
from reports.verdict.advice import operator_line
from reports.verdict.case_verdict import CaseVerdict
from reports.verdict.judge import Verdict
from reports.verdict.named_findings import finding_of
from reports.verdict.state import Gap, State, grouped

# Characters that XML 1.0 cannot hold, not even escaped.
_FORBIDDEN = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def run_junit(verdict: Verdict) -> str:
    """Return the run as a test suite, with a test case for each case and for each kind of gap."""
    site = verdict.site.name if verdict.site else "unknown site"
    title = f"{site} {verdict.mode or ''} {verdict.session.time_start}"
    tests = cases_and_gaps(site, verdict.cases, verdict.gaps, verdict.acknowledged)
    return document([suite(title, tests, verdict.session.elapsed_s or 0)])


def document(suites: Sequence[ET.Element]) -> str:
    """Return the XML document of ``suites``."""
    root = ET.Element("testsuites")
    root.extend(suites)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def cases_and_gaps(
    site: str, cases: Sequence[CaseVerdict], gaps: Sequence[Gap], acknowledged: Acknowledgements
) -> list[ET.Element]:
    """Return a test case for each case and for each kind of gap."""
    kinds = grouped(tuple(gaps))
    return [
        *(_case(site, case, acknowledged) for case in cases),
        *(gap(f"{site}.incomplete", one.what, "; ".join(places), one.remedy) for one, places in kinds),
    ]


def suite(name: str, tests: Sequence[ET.Element], seconds: float) -> ET.Element:
    """Return a test suite with the numbers of its failures, errors and skipped tests."""
    found = ET.Element("testsuite", name=text(name), tests=str(len(tests)), time=f"{seconds:.1f}")
    for count, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        found.set(count, str(sum(test.find(tag) is not None for test in tests)))
    found.extend(tests)
    return found


def _case(site: str, found: CaseVerdict, acknowledged: Acknowledgements) -> ET.Element:
    case = found.case
    test = ET.Element(
        "testcase",
        classname=text(f"{site}.{case.partition}.{case.check_class or 'other'}"),
        name=text(case.title),
        time=f"{case.took_s or 0:.1f}",
    )
    if found.state is State.FAIL:
        line = operator_line(found)
        ET.SubElement(test, "failure", message=text(f"{line.what}; {line.where}")).text = text(str(line))
        if known := acknowledged.of(finding_of(found)):
            ET.SubElement(test, "system-out").text = text(str(known))
    elif found.state is State.INCOMPLETE:
        why = "; ".join(f"{gap.what} {gap.detail}".strip() for gap in found.gaps)
        ET.SubElement(test, "error", type="incomplete", message=text(why))
    elif found.unstable:
        said = [f"at first: {operator_line(attempt)}" for attempt in found.failed_attempts]
        ET.SubElement(test, "system-out").text = text("\n".join(said))
    return test


def gap(classname: str, what: str, where: str, remedy: str) -> ET.Element:
    """Return a test case with an error of type ``incomplete``."""
    test = ET.Element("testcase", classname=text(classname), name=text(what), time="0")
    ET.SubElement(test, "error", type="incomplete", message=text(where or what)).text = text(remedy)
    return test


def text(words: str) -> str:
    """Return ``words`` with each character that XML cannot hold replaced."""
    return _FORBIDDEN.sub("\ufffd", clean(words))
