"""Cost of the reports on a synthetic run of many nodes: figures of nodes, none of pairs."""

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import msgspec

from tests.benchmarks.pages import Opened, large_report, opened, print_command
from tests.scale.processes import REPOSITORY, Took, reports_took, took


@dataclass(frozen=True)
class Synthetic:
    nodes: int
    report_mib: float
    page_mb: float
    steps: dict[str, Took]
    opened: Opened | None
    """In Chromium, where there is one."""


def measure(nodes: int, folder: Path) -> Synthetic:
    """:raises RuntimeError: a command could not be done; it says why."""
    results, log = folder / "results", folder / "log.txt"
    results.mkdir(parents=True)
    environment = {**os.environ, "KAPPA_RESULTS": str(results), "PYTHONPATH": str(REPOSITORY)}
    report, page = results / "run-report.json", folder / "page.html"
    report.write_bytes(msgspec.json.encode(large_report(nodes, pairs=False)))
    steps = reports_took(report, page, environment, results, log)
    steps["localise"] = took([sys.executable, "-m", "tests.scale.localised", report], environment, results, log)
    if steps["localise"].status:
        raise RuntimeError(f"localisation: {log.read_text()[-3000:]}")
    seen = None
    if chromium := shutil.which("chromium"):
        seen = opened(chromium, page)
        steps["pdf"] = took(print_command(chromium, page), environment, results, log)
        if not page.with_suffix(".pdf").exists():
            raise RuntimeError(f"Chromium: {log.read_text()[-3000:]}")
    return Synthetic(nodes, report.stat().st_size / 2**20, page.stat().st_size / 1e6, steps, seen)
