"""The tests that take long, as a table: ``python -m tests.times RESULTS.xml…`` reads what ``pytest --junitxml`` wrote.

``make test-times`` runs all tests and writes docs/tests.md so.
"""

import argparse
import os
import pathlib
import sys
from collections import defaultdict
from dataclasses import dataclass
from xml.etree import ElementTree

LISTED_FROM_S = 5.0
HEAD = """\
# How long the tests take

Written by `make test-times`, which runs both tiers: `test` is what `make test` runs, `long` what `make test-long` runs.
A test that makes what others share (a cluster, a build, a dry run) has its time as well.
"""


@dataclass(frozen=True)
class Timed:
    """A test and what it took with its set-up, s."""

    name: str
    tier: str
    seconds: float

    @property
    def folder(self) -> str:
        return "/".join(self.name.partition("::")[0].split("/")[:2])


def read(results: pathlib.Path) -> list[Timed]:
    """Every test that ran, in the order of the file."""
    return [_timed(case) for case in ElementTree.parse(results).iter("testcase") if case.find("skipped") is None]


def _timed(case: ElementTree.Element) -> Timed:
    kept = {entry.get("name"): entry.get("value", "") for entry in case.iter("property")}
    return Timed(kept["nodeid"] or "", kept["tier"] or "", float(case.get("time", "nan")))


def render(tests: list[Timed], machine: str) -> str:
    """The document: sums by folder and tier, and every test above ``LISTED_FROM_S``, the longest first."""
    groups = defaultdict[tuple[str, str], list[float]](list)
    for test in tests:
        groups[test.tier, test.folder].append(test.seconds)
    folders = [
        f"| {tier} | `{folder}` | {len(seconds)} | {sum(seconds):.0f} |"
        for (tier, folder), seconds in sorted(groups.items(), key=lambda one: (one[0][0] == "long", -sum(one[1])))
    ]
    listed = [
        f"| {test.seconds:.0f} | {test.tier} | `{_cell(test.name)}` |"
        for test in sorted(tests, key=lambda one: -one.seconds)
        if test.seconds > LISTED_FROM_S
    ]
    return "\n".join(
        [
            HEAD, f"{len(tests)} tests, recorded on {machine}.", "",
            "| tier | folder | tests | s |", "|---|---|---|---|", *folders, "",
            f"## Above {LISTED_FROM_S:g} s", "", "| s | tier | test |", "|---|---|---|", *listed, "",
        ]
    )  # fmt: skip


def _cell(name: str) -> str:
    return name.removeprefix("tests/").replace("|", r"\|")


def machine() -> str:
    lines = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    models = (line.partition(": ")[2] for line in lines if line.startswith("model name"))
    load = os.getloadavg()[2]
    return f"{len(os.sched_getaffinity(0))} cores of {next(models, os.uname().machine)}, load {load:.1f} at the end"


def main() -> int:
    parser = argparse.ArgumentParser("python -m tests.times", description=__doc__)
    parser.add_argument("results", type=pathlib.Path, nargs="+", metavar="RESULTS.xml")
    tests = [test for results in parser.parse_args().results for test in read(results)]
    sys.stdout.write(render(tests, machine()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
