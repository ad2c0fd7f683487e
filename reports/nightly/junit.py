"""A night as JUnit XML, for CI servers."""

import re
from xml.etree import ElementTree as ET

from reports.case_verdict import CaseVerdict
from reports.gaps import grouped
from reports.nightly.night import Night
from reports.nightly.summarise import Judged
from reports.operator import operator_line
from reports.state import State

# What XML 1.0 cannot hold, not even escaped.
_FORBIDDEN = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(site: str, night: Night, judged: Judged) -> str:
    """One test case for each case and one for each kind of gap, so that what did not run is no success."""
    gaps = grouped(judged.gaps)
    tests = [_case(site, case) for case in judged.cases]
    tests += [_gap(site, gap.what, "; ".join(places), gap.remedy) for gap, places in gaps]
    suite = ET.Element(
        "testsuite",
        name=_text(f"{site} {night.mode} {night.night}"),
        tests=str(len(tests)),
        failures=str(sum(test.find("failure") is not None for test in tests)),
        errors=str(sum(test.find("error") is not None for test in tests)),
        skipped="0",
        time=f"{(night.ended or night.started) - night.started:.1f}",
    )
    suite.extend(tests)
    root = ET.Element("testsuites")
    root.append(suite)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _case(site: str, found: CaseVerdict) -> ET.Element:
    case = found.case
    test = ET.Element(
        "testcase",
        classname=_text(f"{site}.{case.partition}.{case.check_class or 'other'}"),
        name=_text(case.title),
        time=f"{case.run_time_s or 0:.1f}",
    )
    if found.state is State.FAIL:
        line = operator_line(found)
        ET.SubElement(test, "failure", message=_text(f"{line.what}; {line.where}")).text = _text(str(line))
    elif found.state is State.INCOMPLETE:
        why = "; ".join(f"{gap.what} {gap.detail}".strip() for gap in found.gaps)
        ET.SubElement(test, "error", type="incomplete", message=_text(why))
    return test


def _gap(site: str, what: str, where: str, remedy: str) -> ET.Element:
    test = ET.Element("testcase", classname=_text(f"{site}.incomplete"), name=_text(what), time="0")
    ET.SubElement(test, "error", type="incomplete", message=_text(where or what)).text = _text(remedy)
    return test


def _text(text: str) -> str:
    return _FORBIDDEN.sub("\ufffd", text)
