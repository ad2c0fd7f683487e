"""A campaign made of recorded results: what ``run`` leaves, without a cluster."""

import copy
import json
import pathlib
import uuid

import pytest
import yaml

from reports.acceptance.campaign import CONTRACT, REPORT, Campaign, CaseSeries
from tests.unit.reports.samples import Document, latency, report

CLAUSE: Document = {
    "id": "B1",
    "text": "A message of 8 B takes at most 10 us.",
    "selector": {"check": "OsuLatency", "partition": "cpu", "metric": "latency_8B"},
    "statistic": "median",
    "comparison": "at_most",
    "threshold": {"value": 10, "unit": "us"},
    "repeats": 3,
    "mandatory": True,
}


def clause(**changes):
    return {**copy.deepcopy(CLAUSE), **changes}


def contract(*clauses, **head):
    head = {"title": "Test", "system": "embedded", "date": "2026-11-21", "parties": {"buyer": "B"}, **head}
    return {"contract": head, "clauses": list(clauses) or [clause()]}


class Filled(Campaign):
    """A campaign that can be filled with attempts."""

    def demand(self, *clauses, **head):
        self.folder.mkdir(exist_ok=True)
        (self.folder / CONTRACT).write_text(yaml.safe_dump(contract(*clauses, **head), allow_unicode=True))
        return self

    def add(self, case, repeat=1, number=1, session=None):
        """An attempt that recorded ``case``; without one it was interrupted."""
        recorded = case or latency()
        series = CaseSeries(recorded["name"], recorded["partition"], recorded["environ"])
        attempt = self.begin(series, repeat, number)
        if case:
            document = report([case], uuid=session or str(uuid.uuid4()))
            (attempt.folder / REPORT).write_text(json.dumps(document))
        return attempt

    def measure(self, *values, **changes):
        for repeat, value in enumerate(values, start=1):
            self.add(latency(value=value, **changes), repeat)
        return self


@pytest.fixture
def campaign(tmp_path: pathlib.Path):
    return Filled(tmp_path / "campaign").demand()
