"""Scripts beside a job are no package: they import each other from their folder, as in a job."""

import sys

import pytest

from reframe_checks.base.job_files import FOLDER


@pytest.fixture(autouse=True)
def as_in_a_job(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    yield
    for name in ("crashed", "exchange", "exchanged", "halves", "search", "steps", "watch_nodes"):
        sys.modules.pop(name, None)
