"""Every command finds a site, its newest run and a path alike, and suggests the nearest name for a wrong one."""

import json
import pathlib
import shutil

import pytest

from kappa.app.command import main as command
from kappa.core.ground.errors import InputError
from kappa.core.ground.folders import site_name, site_with_results
from kappa.core.record.runs import find_run, reports_of

SITE = pathlib.Path(__file__).parents[3] / "site_configs/cpu-infiniband"
RECORDED = pathlib.Path(__file__).parents[2] / "data/reports/outcomes.json"

OF_SITES = [
    ["validate"], ["doctor"], ["validate", "--plan"], ["runs"], ["history"], ["learn"], ["node", "quarantine"],
    ["node", "return"], ["node", "ack"], ["site", "software"], ["night", "run"], ["night", "report"],
    ["acceptance", "plan"], ["spack", "install"], ["spack", "mirror", "sources"],
]  # fmt: skip
OF_SITES_AND_MORE = [
    ["night", "schedule", "SITE", "systemd"],
    ["acceptance", "run", "SITE", "folder"],
    ["fabric", "calibrate", "SITE", "cpu"],
]
OF_RUNS = [
    ["show", "SITE"],
    ["show", "SITE", "--open"],
    ["compare", "SITE"],
    ["bundle", "SITE", "1"],
    ["validate", "our-cluster", "--plan", "--against", "SITE"],
    ["node", "quarantine", "our-cluster", "--run", "SITE"],
    ["fabric", "calibrate", "our-cluster", "cpu", "--run", "SITE"],
]
EVERY = [*([*words, "SITE"] for words in OF_SITES), *OF_SITES_AND_MORE, *OF_RUNS]


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """A working directory with a copy of an example site, and without results."""
    monkeypatch.delenv("KAPPA_RESULTS", raising=False)
    shutil.copytree(SITE, tmp_path / "site_configs/our-cluster")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def stored(folder, name="run-report.json"):
    place = pathlib.Path("results/our-cluster", folder)
    place.mkdir(parents=True)
    return pathlib.Path(shutil.copy(RECORDED, place / name))


def said(words, capsys):
    """Exit status and standard error, whichever way a command ends."""
    try:
        status = command.main(words)
    except SystemExit as end:
        status = end.code
    return status, capsys.readouterr().err


@pytest.mark.parametrize("words", EVERY, ids=" ".join)
@pytest.mark.parametrize("name", ["our-clustr", "site_configs/our-clustr"], ids=["name", "path"])
def test_what_is_not_there_is_refused_with_the_nearest_name(words, name, capsys):
    status, error = said([name if word == "SITE" else word for word in words], capsys)
    assert status == 2
    assert "'our-cluster'" in error and name in error and "Traceback" not in error, error


@pytest.mark.parametrize("words", EVERY, ids=" ".join)
def test_without_a_name_the_usage_is_told(words, capsys):
    status, error = said(words[: words.index("SITE")], capsys)
    assert status == 2 and ("usage: " in error or "SITE is missing" in error), error


@pytest.mark.parametrize("words", [one for one in OF_RUNS if one[0] != "compare"], ids=" ".join)
def test_a_site_without_a_run_is_said(words, capsys):
    status, error = said(["our-cluster" if word == "SITE" else word for word in words], capsys)
    assert status == 2 and "`kappa validate our-cluster`" in error, error


def test_a_site_has_a_name_and_a_path(here):
    assert site_name("our-cluster") == site_name("site_configs/our-cluster/") == "our-cluster"
    shutil.copytree(SITE, here / "elsewhere/ours")
    with pytest.raises(InputError, match=f"kappa --sites {here / 'elsewhere'} "):
        site_name("elsewhere/ours")
    (here / "results/gone").mkdir(parents=True)
    assert site_with_results("gone") == "gone"
    with pytest.raises(InputError, match="there is no site 'gone'"):
        site_name("gone")


def test_a_run_is_a_report_or_the_newest_of_a_folder_or_site():
    folders = ("runs/20261121T020000-full", "nights/20261122T020000", "runs/20261123T020000-smoke")
    old, night, new = map(stored, folders)
    results = old.parents[2]
    assert reports_of(results) == [new, night, old]
    for name in ("our-cluster", "site_configs/our-cluster"):
        assert find_run(name).samefile(new)
    for path in (results, new.parent.parent, new.parent, new):
        assert find_run(str(path)).samefile(new)
    assert find_run(str(night.parent)).samefile(night)
    by_hand = stored("reports", "run-report-3.json")
    assert find_run("our-cluster").samefile(by_hand), "of all the newest, by the time of its file"


def test_a_folder_without_a_run_and_a_misspelt_path_are_told_apart(here):
    (here / "results/empty").mkdir(parents=True)
    with pytest.raises(InputError, match="results/empty: no run-report"):
        find_run("results/empty")
    with pytest.raises(InputError, match=r"no file or folder results/emty: did you mean 'empty'"):
        find_run("results/emty")


def test_the_commands_that_follow_a_validation(capsys):
    stored("runs/20261121T020000-nightly")
    report = stored("runs/20261122T020000-nightly")
    judged = command.main(["show", "our-cluster", "--json", "-"])
    assert json.loads(capsys.readouterr().out)["report"] == str(report.absolute())
    assert command.main(["runs", "our-cluster", "--json", "-"]) == 0
    runs = json.loads(capsys.readouterr().out)["runs"]
    assert [one["report"].split("/")[-2] for one in runs] == ["20261121T020000-nightly", "20261122T020000-nightly"]
    assert {one["verdict"] for one in runs} == {("PASS", "FAIL", "INCOMPLETE")[judged]}
    assert command.main(["runs", "our-cluster", "--newest", "1"]) == 0
    out = capsys.readouterr().out
    assert "results/our-cluster/runs/20261122T020000-nightly" in out and "20261121T020000-nightly" not in out
    assert command.main(["compare", "our-cluster"]) == 0


def test_a_run_that_cannot_be_judged_is_listed_and_named(capsys):
    stored("runs/20261121T020000-nightly")
    stored("runs/20261122T020000-nightly").write_text("{")
    assert command.main(["runs", "our-cluster"]) == 2
    out = capsys.readouterr().out
    assert "20261121T020000-nightly" in out and "20261122T020000-nightly/run-report.json: line 1: not valid JSON" in out


@pytest.mark.parametrize("browser", [True, False])
def test_a_page_is_opened_or_its_place_is_told(browser, monkeypatch, capsys):
    report = stored("runs/20261122T020000-nightly")
    for variable in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(variable, raising=False)
    if browser:
        monkeypatch.setenv("BROWSER", "true %s")
    else:
        monkeypatch.delenv("BROWSER", raising=False)
    shown = []
    monkeypatch.setattr("webbrowser.open", lambda uri: shown.append(uri) or True)
    assert command.main(["show", "our-cluster", "--open"]) == 0
    page = report.with_suffix(".html").absolute()
    assert shown == ([page.as_uri()] if browser else [])
    assert (f":{page}" in capsys.readouterr().out) is not browser
