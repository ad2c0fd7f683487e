"""`make check-all` records what it did in docs/tests.md."""

import datetime
import pathlib

from tests.gate.record import section
from tests.gate.running import Outcome, Step

XML = """<testsuite><testcase file="tests/test_a.py" name="test_it[x|y]"><properties>
<property name="exception" value="ValueError"/></properties><failure message="m"/></testcase></testsuite>"""


def test_date_revision_seconds_and_failures(tmp_path):
    (tmp_path / "test.xml").write_text(XML)
    log = pathlib.Path("lint.log")
    outcomes = [
        Outcome(Step("lint", ["make", "lint"]), log, 12.3, 0),
        Outcome(Step("test", ["make", "test"], results=tmp_path / "test.xml"), log, 700.0, 2, "status 1, make's 2"),
    ]
    text = section(outcomes, "abc123 with changes", datetime.datetime(2026, 11, 25, 22, 1))
    assert text.startswith("2026-11-25 22:01, revision abc123 with changes, on ")
    assert "| lint | 12 | passed |\n| test | 700 | failed: status 1, make's 2 |\n" in text
    assert text.endswith(r"- test: `tests/test_a.py`, 1 × ValueError, first `test_it[x\|y]`")
    assert section(outcomes[:1], "abc123", datetime.datetime(2026, 11, 25)).endswith("No test failed.")
