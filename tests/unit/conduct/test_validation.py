"""A judged run keeps its record and verdict and is in the site's history; where it cannot, its verdict stays."""

import json

import pytest

from kappa.app.conduct.validation import Validation
from kappa.core.ground.folders import site_folder
from kappa.core.record.runs import RECORD, VERDICT
from kappa.core.sites.load import Site
from reports.history import dataset
from reports.verdict.stored import judge_report
from tests.unit.reports.samples import complete


@pytest.fixture
def validation(tmp_path, monkeypatch):
    monkeypatch.setenv("KAPPA_RESULTS", str(tmp_path))
    folder = tmp_path / "runs/20261122T020000-nightly"
    folder.mkdir(parents=True)
    (folder / "run-report.json").write_text(json.dumps(complete()))
    return Validation(Site(site_folder("embedded")), "nightly", [], folder)


def test_a_judged_run_is_in_the_history(validation, tmp_path, capsys):
    status = validation.judge()
    known = dataset.sessions(tmp_path / "history")
    assert known
    assert validation.judge() == status
    assert dataset.sessions(tmp_path / "history") == known
    assert capsys.readouterr().err == ""


def test_a_damaged_history_is_named_and_the_verdict_stays(validation, tmp_path, capsys):
    status = validation.judge()
    (month,) = (tmp_path / "history").rglob("*.parquet")
    month.write_bytes(b"damaged")
    assert validation.judge() == status
    assert f"left out of the history: cannot read {month}" in capsys.readouterr().err


def test_a_judged_run_keeps_its_record_and_verdict(validation):
    status = validation.judge()
    kept = judge_report(validation.report)
    assert kept.exit_status == status
    assert {RECORD, VERDICT} <= {path.name for path in validation.folder.iterdir()}


@pytest.mark.parametrize("name", [RECORD, VERDICT])
def test_a_record_that_cannot_be_written_is_named_and_the_verdict_stays(validation, name, capsys):
    (validation.folder / name).mkdir()
    status = validation.judge()
    said = capsys.readouterr()
    assert f"cannot write {validation.folder / name}" in said.err and "INCOMPLETE" in said.out
    (validation.folder / name).rmdir()
    assert validation.judge() == status
