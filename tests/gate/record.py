"""Write the record of ``make check-all`` into docs/tests.md."""

import datetime
import subprocess
from collections.abc import Sequence

from tests import times
from tests.gate.ending import failures_of, row
from tests.gate.running import Outcome

# Each test counts once: the tests of test-mutations are among these.
TIERS = ("test", "test-long")


def write(outcomes: Sequence[Outcome]) -> None:
    """Record ``outcomes``, and the times of the tests if both tiers left results."""
    times.rewrite(check=section(outcomes, _revision(), datetime.datetime.now()))
    results = [one.step.results for one in outcomes if one.step.name in TIERS and one.step.results]
    if len(results) == len(TIERS) and all(path.exists() for path in results):
        times.rewrite(tests=[test for path in results for test in times.read(path)])


def section(outcomes: Sequence[Outcome], revision: str, now: datetime.datetime) -> str:
    failures = [
        f"- {one.step.name}: `{group.first.file}`, {group.count} × {times.cell(group.first.exception)}, first"
        f" `{times.cell(group.first.test)}`"
        for one in outcomes
        for group in failures_of(one)
    ]
    return "\n".join(
        [
            f"{now:%Y-%m-%d %H:%M}, revision {revision}, on {times.machine()}.", "",
            "| step | s | result |", "|---|---|---|",
            *(f"| {name} | {seconds} | {times.cell(result)} |" for name, seconds, result, _ in map(row, outcomes)), "",
            *(failures or ["No test failed."]),
        ]
    )  # fmt: skip


def _revision() -> str:
    def git(*words: str) -> str:
        return subprocess.run(["git", *words], capture_output=True, text=True, check=False).stdout.strip()

    changed = " with changes" if git("status", "--porcelain", "--", ".", ":!docs/tests.md") else ""
    return (git("rev-parse", "--short=12", "HEAD") or "unknown") + changed
