"""How fast the night's reports are with ten years of nights on record: ``python -m tests.benchmarks.nights``.

Every night but the newest has its summary, and after the first call its figures in the history; the newest has its
record and its report, as when a night ends. The figures are those of ``history``, six a node and night; one night in
fifty failed.
"""

import argparse
import datetime
import json
import pathlib
import tempfile
from typing import Any

from reports.nightly.night import SUMMARY, to_json
from tests.benchmarks.history import timed, write_reports
from tests.unit.nightly.samples import failed_night, keep_record, night, record

FAILED_EACH = 50


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--nights", type=int, default=4000)
    options.add_argument("--nodes", type=int, default=4)
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as results:
        nights = pathlib.Path(results, "nights")
        write_reports(nights, chosen.nights, chosen.nodes, seed=1)
        *earlier, newest = sorted(nights.iterdir())
        for number, folder in enumerate(earlier):
            keep_record(folder, record(**_when(folder)))
            make = night if (number + 1) % FAILED_EACH else failed_night
            kept = make(number, folder=folder.name, sessions=(_session(folder)["uuid"],), **_when(folder))
            (folder / SUMMARY).write_text(to_json(kept), encoding="utf-8")
        command = ("night", "report", "embedded", f"--results={results}")
        timed(f"{len(earlier)} nights into the history", results, *command)
        keep_record(newest, record(**_when(newest)))
        timed("the newest night", results, *command)


def _when(folder: pathlib.Path) -> dict[str, Any]:
    """The day and times of the night whose report is in ``folder``."""
    started = datetime.datetime.strptime(_session(folder)["time_start"], "%Y%m%dT%H%M%S%z")
    return {"night": f"{started:%Y-%m-%d}", "started": started.timestamp(), "ended": started.timestamp() + 600}


def _session(folder: pathlib.Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "run-report.json").read_text(encoding="utf-8"))["session_info"]
    return found


if __name__ == "__main__":
    main()
