"""The record of a run: it gives the session of the reports it was made from, wherever the run's folder lies."""

import json
import math
import shutil

import pytest

from kappa.core.ground.errors import InputError
from kappa.core.record.evidence import Figure
from kappa.core.record.load import keep_record, load_session
from kappa.core.record.metric import metric_of
from kappa.core.record.runs import RECORD, RUN_REPORT
from tests.unit.reports.samples import DATA, latency, report


@pytest.fixture
def run(tmp_path):
    """Write a report of cases into the folder of a run, and return its path."""

    def write(*cases, **info):
        folder = tmp_path / "run"
        folder.mkdir(exist_ok=True)
        (folder / RUN_REPORT).write_text(json.dumps(report([*cases], **info)))
        return folder / RUN_REPORT

    return write


@pytest.mark.parametrize("recorded", sorted(DATA.glob("*.json")), ids=lambda path: path.stem)
def test_record_gives_the_session_of_each_recorded_report(recorded, tmp_path):
    path = shutil.copy(recorded, tmp_path / RUN_REPORT)
    before = load_session(path)
    assert keep_record(path) == before
    assert load_session(path) == before


def test_record_is_versioned_json(run):
    path = run(latency())
    keep_record(path)
    assert json.loads((path.parent / RECORD).read_text())["schema"] == "kappa-record-1"


def test_record_is_read_in_place_of_the_report(run):
    path = run(latency())
    keep_record(path)
    size = path.stat().st_size
    path.write_text(" " * size)
    assert load_session(path).runs[0][0].check_class == "OsuLatency"


def test_changed_report_counts_and_not_its_former_record(run):
    keep_record(run(latency(value=9)))
    assert load_session(run(latency(value=10.5))).runs[0][0].metrics[0].value == 10.5


def test_added_confirmation_counts_and_not_the_former_record(run):
    path = run(latency(), uuid="first")
    keep_record(path)
    again = path.parent / "confirmations/same-nodes-1.json"
    again.parent.mkdir()
    again.write_text(json.dumps(report([latency()], uuid="again", confirms="first", purpose="same-nodes")))
    assert len(load_session(path).again) == 1
    assert keep_record(path) == load_session(path)


def test_run_may_move_with_its_record(run, tmp_path):
    path = run({**latency(), "stagedir": str(tmp_path / "run/stage/case"), "result": "fail"})
    (tmp_path / "run/stage/case").mkdir(parents=True)
    keep_record(path)
    moved = (tmp_path / "run").rename(tmp_path / "elsewhere") / RUN_REPORT
    assert load_session(moved).runs[0][0].stagedir == str(tmp_path / "elsewhere/stage/case")


@pytest.mark.parametrize("value", [math.inf, -math.inf])
def test_infinite_value_stays_infinite(run, value):
    path = run(latency(value=value))
    keep_record(path)
    assert load_session(path).runs[0][0].metrics[0].value == value


@pytest.mark.parametrize("text", ["{", '{"schema": "kappa-record-1"}', '{"schema": "kappa-record-1", "session": 3}'])
def test_error_names_a_damaged_record(run, text):
    path = run(latency())
    (path.parent / RECORD).write_text(text)
    with pytest.raises(InputError, match=r"record\.json"):
        load_session(path)


@pytest.mark.parametrize("text", ["[]", "{}", '{"schema": "kappa-record-2"}'])
def test_record_of_another_version_leaves_the_report(run, text):
    path = run(latency(value=7.5))
    (path.parent / RECORD).write_text(text)
    assert load_session(path).runs[0][0].metrics[0].value == 7.5


def test_those_who_may_read_the_report_may_read_the_record(run):
    path = run(latency())
    path.chmod(0o640)
    keep_record(path)
    assert (path.parent / RECORD).stat().st_mode & 0o777 == 0o640


def test_received_record_names_no_other_report(run, tmp_path):
    path = run(latency(), uuid="first")
    again = path.parent / "confirmations/same-nodes-1.json"
    again.parent.mkdir()
    again.write_text(json.dumps(report([latency()], uuid="again", confirms="first", purpose="same-nodes")))
    keep_record(path)
    text = (path.parent / RECORD).read_text()
    (path.parent / RECORD).write_text(text.replace('"./', f'"{tmp_path}/victim/'))
    session = load_session(path)
    assert [session.path, session.again[0].path] == [str(path), str(again)]


def test_dangling_link_among_the_confirmations_is_no_report(run):
    path = run(latency(), uuid="first")
    keep_record(path)
    (path.parent / "confirmations").mkdir()
    (path.parent / "confirmations/same-nodes-1.json").symlink_to("/nowhere")
    assert load_session(path).again == ()


@pytest.mark.parametrize(
    ("value", "number", "raw"), [(4, 4.0, ""), (4.5, 4.5, ""), (True, None, "True"), ("4", None, "4"), (None, None, "")]
)
def test_metric_of_a_check_that_just_ran(value, number, raw):
    found = metric_of("m", Figure(value, 0, None, None, "nodes"))
    assert (found.value, found.raw) == (number, raw)
