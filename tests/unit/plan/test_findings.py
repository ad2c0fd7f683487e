"""What the campaigns found is what their tables say."""

import pathlib
import re
from collections import Counter

from kappa.core.vocabulary.checks import catalogue
from reports.plan.findings import of_campaign

DOCS = pathlib.Path(__file__).parents[3] / "docs"
# | check | faults that it can see | failed in rounds with those | …
ROW = re.compile(r"\| (\w+) \| [^|]+ \| (\d+)/\d+ [^|]*\| [^|]+\| \d+/\d+ ")


def test_the_findings_are_those_of_the_tables_by_check():
    found = Counter()
    for name in ("fault-campaign.md", "fault-kinds.md"):
        for line in (DOCS / name).read_text(encoding="utf-8").splitlines():
            row = ROW.match(line)
            if row and row[1] in catalogue():
                found[row[1]] += int(row[2])
    assert of_campaign() == dict(found)
