"""How fast a history of 10^6 values is read in, judged and drawn: ``python -m tests.benchmarks.history``.

The reports are made from a recorded case (Fio with six metrics, 4 KiB of JSON), one on each of many nodes a night, with
a step or drift in one series of a hundred. Memory is the peak of the largest process.

With ``--like REPORT`` every night is that report of a session, as it is, under a date and an identifier of its own:
then the figures are those of what a site's own reports hold besides their values.
"""

import argparse
import copy
import datetime
import json
import os
import pathlib
import shutil
import sys
import tempfile
import uuid
from typing import Any

import numpy as np

from tests.scale.processes import took

DATA = pathlib.Path(__file__).parents[1] / "data/reports/campaign.json"
METRICS = 6


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--nights", type=int, default=400)
    options.add_argument("--nodes", type=int, default=417, help="six values of each a night (default: 417)")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--like", metavar="REPORT", type=pathlib.Path)
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "site_configs").mkdir()  # so that results are looked for here
        reports = pathlib.Path(folder, "results/site/runs")
        if chosen.like:
            size, values = copy_report(reports, chosen.nights, chosen.like)
        else:
            size, values = write_reports(reports, chosen.nights, chosen.nodes, chosen.seed)
        print(f"{values} values in {chosen.nights} reports of {size / chosen.nights / 2**20:.1f} MiB")
        ingest = timed("ingest", folder, "history", "site", "--add")
        print(f"ingest: {values / ingest:.0f} values/s")
        timed("ingest again, nothing new", folder, "history", "site", "--add")
        stored = sum(file.stat().st_size for file in pathlib.Path(folder).rglob("*.parquet"))
        print(f"stored: {stored / 2**20:.1f} MiB")
        shutil.rmtree(reports)
        timed("judge and render", folder, "history", "site", "--html", "history.html")


def write_reports(folder: pathlib.Path, nights: int, nodes: int, seed: int) -> tuple[int, int]:
    """Write a report for each night; returns bytes and values."""
    recorded = json.loads(DATA.read_text(encoding="utf-8"))
    cases = [case for run in recorded["runs"] for case in run["testcases"]]
    template = next(case for case in cases if len(case.get("perfvalues") or {}) == METRICS)
    rng = np.random.default_rng(seed)
    night = np.arange(nights)
    levels = 1 + 0.02 * rng.standard_normal((nodes, METRICS, nights))
    levels.reshape(-1, nights)[::200] *= 1 - 0.2 * night / nights
    levels.reshape(-1, nights)[100::200] *= np.where(night > nights // 2, 0.9, 1)
    size = 0
    for number in range(nights):
        entries = []
        for node in range(nodes):
            entry = copy.copy(template)
            entry["job_nodelist"] = [f"node{node}"]
            entry["provenance"] = {**template["provenance"], "nodelist": [f"node{node}"]}
            entry["perfvalues"] = {
                key: [value[0] * float(level), *value[1:]]
                for (key, value), level in zip(template["perfvalues"].items(), levels[node, :, number], strict=True)
            }
            entries.append(entry)
        size += _write_night(folder, number, {**recorded, "runs": [{"testcases": entries}]}, indent=None)
    return size, nights * nodes * METRICS


def copy_report(folder: pathlib.Path, nights: int, report: pathlib.Path) -> tuple[int, int]:
    """Write ``report`` once for each night; returns bytes and values."""
    recorded = json.loads(report.read_text(encoding="utf-8"))
    # As ReFrame indents it.
    size = sum(_write_night(folder, number, recorded, indent=2) for number in range(nights))
    cases = [case for run in recorded["runs"] for case in run["testcases"]]
    return size, nights * sum(len(case.get("perfvalues") or {}) for case in cases)


def _write_night(folder: pathlib.Path, number: int, report: dict[str, Any], indent: int | None) -> int:
    moment = datetime.datetime(2025, 1, 1, 2, tzinfo=datetime.UTC) + datetime.timedelta(days=number)
    own = {"uuid": str(uuid.UUID(int=number)), "time_start": f"{moment:%Y%m%dT%H%M%S%z}"}
    path = folder / f"{number:05}" / "run-report.json"
    path.parent.mkdir(parents=True)
    document = {**report, "session_info": {**report["session_info"], **own}}
    return path.write_text(json.dumps(document, indent=indent), encoding="utf-8")


def timed(what: str, folder: str, *arguments: str) -> float:
    """Run a command of the reports in ``folder``; print its time and the largest process of it."""
    used = took([sys.executable, "-m", "kappa.app.command.main", *arguments], os.environ, pathlib.Path(folder))
    print(f"{what}: {used.wall_s:.1f} s ({used.cpu_s:.1f} s of CPU), {used.peak_mib:.0f} MiB, exit {used.status}")
    return used.wall_s


if __name__ == "__main__":
    main()
