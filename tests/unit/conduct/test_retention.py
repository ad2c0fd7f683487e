"""The site's rule removes raw output, but none that is still needed; results stay."""

import datetime
import json
import random
import shutil

import pytest

from kappa.app.conduct.retention import remove_old_output, runs_with_output, tidy
from kappa.core.ground.errors import InputError
from kappa.core.record.actions import Action, keep_action
from kappa.core.record.load import load_session
from kappa.core.sites.load import Site
from reports.history.ingest import ingest, reports_in
from tests.unit.reports.samples import latency, report
from tests.unit.sites.test_site import EXPECTED, GOOD, SETTINGS

NOW = datetime.datetime(2026, 11, 22, 12).timestamp()
DAY_S = 86400.0


@pytest.fixture
def site(tmp_path):
    """site(rule): the site with this rule."""

    def make(rule=""):
        folder = tmp_path / "site_configs/here"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "expected.yaml").write_text(EXPECTED)
        (folder / "settings.py").write_text(SETTINGS.read_text())
        (folder / "site.yaml").write_text((f"keep: {rule}\n" if rule else "") + GOOD)
        return Site(folder)

    return make


@pytest.fixture
def results(tmp_path):
    return tmp_path / "results"


def a_run(results, days_ago, value=9.0, kind="runs"):
    """One that began so many days ago; its folder's name."""
    began = datetime.datetime.fromtimestamp(NOW - days_ago * DAY_S)
    folder = results / kind / f"{began:%Y%m%dT%H%M%S}-nightly"
    for raw in ("stage", "output", "confirmations/same-nodes-1/stage"):
        (folder / raw / "embedded/cpu").mkdir(parents=True)
        (folder / raw / "embedded/cpu/rfm_job.out").write_text("what it said\n")
        (folder / raw).with_name("reframe.out").write_text("[  PASSED  ]\n")
    started = f"{began.astimezone():%Y%m%dT%H%M%S%z}"
    document = report([latency(value=value)], uuid=f"run-{days_ago}", time_start=started)
    (folder / "run-report.json").write_text(json.dumps(document))
    (folder / "report.html").write_text("the page\n")
    return folder.name


def kept(results):
    return {run.folder.name for run in runs_with_output(results)}


def test_without_a_rule_nothing_goes(site, results):
    a_run(results, 4000)
    assert remove_old_output(site(), results, NOW) == []
    assert len(kept(results)) == 1


def test_what_goes_and_what_stays(site, results):
    old, newer = a_run(results, 10), [a_run(results, 1), a_run(results, 0.5, kind="nights")]
    (results / "runs/by-hand/stage").mkdir(parents=True)
    folder = results / "runs" / old
    [gone] = remove_old_output(site("{runs: 2}"), results, NOW)
    assert gone == folder
    assert kept(results) == set(newer)
    assert sorted(path.name for path in folder.iterdir()) == ["confirmations", "report.html", "run-report.json"]
    assert "removed the raw output of this run" in (folder / "report.html").read_text()
    assert not list(folder.rglob("rfm_job.out"))
    assert load_session(folder).uuid == "run-10"
    assert (results / "runs/by-hand/stage").exists()
    assert remove_old_output(site("{runs: 2}"), results, NOW) == []


def test_folder_that_no_session_wrote_stays(site, results, tmp_path):
    old = results / "runs" / a_run(results, 10)
    elsewhere = shutil.copytree(old, tmp_path / "elsewhere")
    (results / "runs/20200101T000000-thesis/output").mkdir(parents=True)
    (results / "runs/20200102T000000-linked").symlink_to(elsewhere)
    (old / "confirmations/output").symlink_to(elsewhere / "output")
    (old / "confirmations/reframe.out").write_text("")
    a_run(results, 1)
    assert remove_old_output(site("{runs: 1}"), results, NOW) == [old]
    assert (results / "runs/20200101T000000-thesis/output").exists()
    assert (elsewhere / "output/embedded/cpu/rfm_job.out").exists()
    assert (elsewhere / "stage/embedded/cpu/rfm_job.out").exists()
    assert (elsewhere / "report.html").read_text() == "the page\n"


@pytest.mark.parametrize(
    ("rule", "left"),
    [
        ("{days: 3}", {0, 2}), ("{runs: 3}", {0, 2, 5}), ("{runs: 1, days: 6}", {0, 2, 5}),
        ("{runs: 3, days: 1}", {0, 2, 5}), ("{runs: 1}", {0}),
    ],
)  # fmt: skip
def test_each_key_keeps(site, results, rule, left):
    names = {days: a_run(results, days) for days in (0, 2, 5, 8)}
    remove_old_output(site(rule), results, NOW)
    assert kept(results) == {names[days] for days in left}


def test_the_newest_always_stays(site, results):
    name = a_run(results, 100)
    remove_old_output(site("{days: 1}"), results, NOW)
    assert kept(results) == {name}


def test_failures_stay_longer(site, results):
    names = {days: a_run(results, days, 900.0 if days in (5, 8, 9) else 9.0) for days in (0, 2, 5, 8, 9)}
    remove_old_output(site("{runs: 1, failures: 2}"), results, NOW)
    assert kept(results) == {names[0], names[5], names[8]}


def test_what_a_quarantine_cites_stays(site, results):
    cited, other, _ = a_run(results, 9), a_run(results, 8), a_run(results, 0)
    drain = Action(what="drain", node="node2", time=NOW - 9 * DAY_S, outcome="done",
                   report=f"results/here/runs/{cited}/run-report.json")  # fmt: skip
    keep_action(results / "history", drain)
    remove_old_output(site("{runs: 1}"), results, NOW)
    assert cited in kept(results) and other not in kept(results)
    keep_action(results / "history", Action(what="return", node="node2", time=NOW, outcome="done"))
    remove_old_output(site("{runs: 1}"), results, NOW)
    assert cited not in kept(results)


def test_what_a_series_that_is_worse_cites_stays(site, results):
    noise = random.Random(1)
    names = {days: a_run(results, days, noise.gauss(4.0 if days >= 15 else 8.0, 0.1)) for days in range(40)}
    ingest(reports_in([results / "runs"]), results / "history")
    remove_old_output(site("{runs: 1}"), results, NOW)
    assert kept(results) == {names[0], names[14]}


def test_what_cannot_be_judged_counts_as_failed(site, results):
    name, _ = a_run(results, 5), a_run(results, 0)
    (results / "runs" / name / "run-report.json").write_text("{")
    remove_old_output(site("{runs: 1}"), results, NOW)
    assert name in kept(results)


def test_a_rule_that_says_too_little(site, results):
    with pytest.raises(InputError, match=r"site.yaml: line 1: keep: expected `runs`, `days` or both"):
        remove_old_output(site("{failures: 3}"), results)


def test_what_goes_wrong_is_told_and_no_more(site, results, capsys):
    a_run(results, 5), a_run(results, 0)
    (results / "history/actions").mkdir(parents=True)
    (results / "history/actions/bad.json").write_text("{")
    tidy(site("{runs: 1}"), results)
    assert "old raw output was not removed" in capsys.readouterr().err
    (results / "history/actions/bad.json").unlink()
    tidy(site("{runs: 1}"), results)
    assert "raw output removed by `keep` in site.yaml: 2026" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["99999999T999999-x", "99991231T235959-x", "00010101T000000-x"])
def test_a_folder_whose_name_has_no_possible_time_is_no_run(results, name):
    kept_run = a_run(results, 1)
    (results / "runs" / name / "stage").mkdir(parents=True)
    assert name not in kept(results) or name.startswith("9999123")
    assert kept_run in kept(results)
