"""Write docs/tests.md: the record of the last ``make check-all``, and a table of the long tests.

``python -m tests.times RESULTS.xml…`` renews the table from the results of ``pytest --junitxml``; the record stays.
"""

import argparse
import os
import pathlib
import sys
from collections import defaultdict
from dataclasses import dataclass
from xml.etree import ElementTree

PAGE = pathlib.Path("docs/tests.md")
LISTED_FROM_S = 5.0
CHECK_HEAD = """\
# Tests

## The last `make check-all`

`make check-all` runs every step of continuous integration and every test, and writes this section.
"""
TIMES_HEAD = """\
## How long the tests take

`make test-times` and `make check-all` run both tiers and write this section. `make test` runs the tier `test`, `make
test-long` the tier `long`. If tests share a cluster, a build or a dry run, its time counts for the test that makes it.
"""


@dataclass(frozen=True)
class Timed:
    """A test and its time with its set-up, s."""

    name: str
    tier: str
    seconds: float

    @property
    def folder(self) -> str:
        return "/".join(self.name.partition("::")[0].split("/")[:2])


def read(results: pathlib.Path) -> list[Timed]:
    """Return every test that ran, in the order of the file."""
    cases = (case for case in ElementTree.parse(results).iter("testcase") if case.find("skipped") is None)
    return [timed for case in cases if (timed := _timed(case))]


def _timed(case: ElementTree.Element) -> Timed | None:
    kept = {entry.get("name"): entry.get("value", "") for entry in case.iter("property")}
    # A file that could not be collected, or a test whose worker crashed, has neither.
    known = "nodeid" in kept and "tier" in kept
    return Timed(kept["nodeid"], kept["tier"], float(case.get("time", "nan"))) if known else None


def rewrite(page: pathlib.Path = PAGE, *, check: str = "", tests: list[Timed] | None = None) -> None:
    """Write the record ``check``, the table of ``tests``, or both into ``page``; keep a part that is not given."""
    before, head, table = page.read_text(encoding="utf-8").partition(TIMES_HEAD.partition("\n")[0])
    if check:
        before = f"{CHECK_HEAD}\n{check}\n\n"
    text = before + (render(tests, machine()) if tests is not None else head + table)
    part = page.with_suffix(".part")
    part.write_text(text, encoding="utf-8")
    part.replace(page)


def render(tests: list[Timed], machine: str) -> str:
    """Return the table: sums by folder and tier, and every test above ``LISTED_FROM_S``, the longest first."""
    groups = defaultdict[tuple[str, str], list[float]](list)
    for test in tests:
        groups[test.tier, test.folder].append(test.seconds)
    folders = [
        f"| {tier} | `{folder}` | {len(seconds)} | {sum(seconds):.0f} |"
        for (tier, folder), seconds in sorted(groups.items(), key=lambda one: (one[0][0] == "long", -sum(one[1])))
    ]
    listed = [
        f"| {test.seconds:.0f} | {test.tier} | `{cell(test.name)}` |"
        for test in sorted(tests, key=lambda one: -one.seconds)
        if test.seconds > LISTED_FROM_S
    ]
    return "\n".join(
        [
            TIMES_HEAD, f"{len(tests)} tests, recorded on {machine}.", "",
            "| tier | folder | tests | s |", "|---|---|---|---|", *folders, "",
            f"### Above {LISTED_FROM_S:g} s", "", "| s | tier | test |", "|---|---|---|", *listed, "",
        ]
    )  # fmt: skip


def cell(name: str) -> str:
    return name.removeprefix("tests/").replace("|", r"\|")


def machine() -> str:
    lines = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    models = (line.partition(": ")[2] for line in lines if line.startswith("model name"))
    load = os.getloadavg()[2]
    return f"{len(os.sched_getaffinity(0))} cores of {next(models, os.uname().machine)}, load {load:.1f} at the end"


def main() -> int:
    parser = argparse.ArgumentParser("python -m tests.times", description=__doc__)
    parser.add_argument("results", type=pathlib.Path, nargs="+", metavar="RESULTS.xml")
    rewrite(tests=[test for results in parser.parse_args().results for test in read(results)])
    return 0


if __name__ == "__main__":
    sys.exit(main())
