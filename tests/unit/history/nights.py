"""Reports of many nights, each with a latency and what the tests change of it."""

import datetime
import json
import pathlib
from collections.abc import Iterable, Sequence
from typing import Any

import duckdb

from reports.history.dataset import files
from reports.history.ingest import ingest, reports_in
from tests.unit.reports.samples import Document, latency, report

START = datetime.datetime(2026, 1, 20, 2, tzinfo=datetime.UTC)


def night(number: int, cases: Sequence[Document], **info: Any) -> Document:
    moment = START + datetime.timedelta(days=number)
    return report(list(cases), **{"uuid": f"night-{number}", "time_start": f"{moment:%Y%m%dT%H%M%S%z}", **info})


def write(folder: pathlib.Path, number: int, document: Document) -> pathlib.Path:
    path = folder / f"{number:03}" / "run-report.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def with_facts(value: float, **facts: Any) -> Document:
    """A latency with other facts in its provenance."""
    entry = latency(value=value)
    return {**entry, "provenance": {**entry["provenance"], **facts}}


def on(nodes: Sequence[str], partition: str = "cpu", value: float = 9.0) -> Document:
    """A latency measured on ``nodes``."""
    entry = latency(partition, value, job_nodelist=nodes)
    return {**entry, "provenance": {**entry["provenance"], "nodelist": nodes}}


def history_of(folder: pathlib.Path, nights: Iterable[Sequence[Document]]) -> pathlib.Path:
    """The dataset of these nights' cases."""
    for number, cases in enumerate(nights):
        write(folder / "runs", number, night(number, cases))
    ingest(reports_in([folder / "runs"]), folder / "history")
    return folder / "history"


def rows(history: pathlib.Path) -> list[dict[str, Any]]:
    """The rows of the dataset, with times in UTC."""
    found = []
    with duckdb.connect() as database:
        for path in files(history):
            database.execute(
                "SELECT * REPLACE (time AT TIME ZONE 'UTC' AS time) FROM read_parquet(?, hive_partitioning = false)",
                [str(path)],
            )
            names = [column[0] for column in database.description or ()]
            found += [dict(zip(names, row, strict=True)) for row in database.fetchall()]
    return found
