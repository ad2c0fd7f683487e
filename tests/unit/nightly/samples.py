"""Nights as they are recorded, a site to judge them, and the options of `kappa night`."""

import argparse
import datetime
import json
import pathlib
from typing import Any
from unittest import mock

from kappa.app.command.main import parser
from reports.nightly.night import Night, NightRecord, Problem
from reports.verdict.state import State
from tests.unit.reports.samples import Document

START = 1_795_226_400.0
DAY_S = 86_400.0


def parse(arguments: list[str]) -> argparse.Namespace:
    """Return the options of ``kappa night`` for a site that need not exist."""
    with mock.patch("kappa.app.command.arguments.site_name", str):
        return parser().parse_args(["night", *arguments])


def night(number: int = 0, **changes: Any) -> Night:
    """The night of the (15 + number)th of November 2026 or later: a pass on four nodes."""
    started = START + number * DAY_S
    values: dict[str, Any] = {
        "folder": f"night-{number:05}",
        "night": _day(number),
        "started": started,
        "ended": started + 600,
        "mode": "nightly",
        "state": State.PASS,
        "headline": "all 9 cases passed",
        "sessions": (f"session-{number}",),
        "counts": {"pass": 9, "unstable": 0},
        "problems": (),
        "gaps": (),
        "suspects": {},
        "planned": (),
        "covered": (),
        "nodes": ("node1", "node2", "node3", "node4"),
        "nights": 4,
        "drain": (),
    }
    return Night(**{**values, **changes})


def _day(number: int) -> str:
    return (datetime.date(2026, 11, 15) + datetime.timedelta(days=number)).isoformat()


def failure(case: str = "NodeLinks on scratch+packaged", node: str = "node2") -> Problem:
    return Problem(case, State.FAIL, f"slowest 23 MB/s, allowed ≥ 100; suspect {node}", "look at the link")


def failed_night(number: int, node: str = "node2", **changes: Any) -> Night:
    values = {
        "state": State.FAIL,
        "headline": f"1 of 9 cases failed; suspect: {node}",
        "problems": (failure(node=node),),
        "suspects": {node: (f"{failure().case}: named by the check's own measurement",)},
        "drain": (f"scontrol update nodename={node} state=drain reason=Kappa",),
    }
    return night(number, **{**values, **changes})


def record(**changes: Any) -> NightRecord:
    values: dict[str, Any] = {
        "night": "2026-11-15", "started": START, "deadline": START + 3600, "mode": "nightly", "nights": 4,
        "ended": START + 600,
    }  # fmt: skip
    return NightRecord(**{**values, **changes})


def keep_record(folder: pathlib.Path, kept: NightRecord) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "night.json").write_text(json.dumps({**vars(kept), "planned": list(kept.planned)}), encoding="utf-8")


def keep_report(folder: pathlib.Path, document: Document, name: str = "run-report.json") -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document), encoding="utf-8")


def pinned(entry: Document, node: str, **changes: Any) -> Document:
    """The case as ``--distribute`` runs it on ``node``."""
    name = f"{entry['name']} %.part=embedded:cpu %.nid={node}"
    provenance = {**entry["provenance"], "nodelist": [node]}
    return {**entry, "display_name": name, "job_nodelist": [node], "provenance": provenance, **changes}
