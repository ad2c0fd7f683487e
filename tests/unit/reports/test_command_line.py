"""Exit statuses and messages of the command as it is run."""

import json
import os
import shutil
import subprocess
import sys

import pytest
import yaml

from kappa.app.command.main import main
from kappa.core.vocabulary.features import ENVIRONMENT_FEATURES, PARTITION_FEATURES, STORAGE_FEATURES
from tests.unit.reports.samples import DATA, REPOSITORY, complete, latency, report
from tests.waiting import PATIENCE_S

HAS = ["scale_one_node", "scale_two_nodes", "network", "compute", "osu", "hpl"]
# HPL runs in mode smoke, which the reports here do not hold.
SITE = f"""
descr: a site
partitions:
  cpu:
    nodes: 2
    cores: {{per_node: 2}}
    environments: [system]
    features: {HAS[:4]}
    also_in: {{smoke: [Hpl]}}
environments:
  system: {{features: {HAS[4:]}, hpl: xhpl}}
"""


@pytest.fixture
def site(tmp_path):
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "site.yaml").write_text(SITE)
    known = {**PARTITION_FEATURES, **STORAGE_FEATURES, **ENVIRONMENT_FEATURES}
    left_out = [
        {"families": ["compute/hpl"], "modes": ["nightly"], "why": "smoke has it"},
        {"features": [feature for feature in known if feature not in HAS], "why": "a small machine"},
    ]
    (folder / "expected.yaml").write_text(yaml.safe_dump({"left_out": left_out}))
    return folder


@pytest.fixture
def saved(tmp_path):
    def save(document):
        path = tmp_path / "run-report.json"
        path.write_text(document if isinstance(document, str) else json.dumps(document))
        return path

    return save


def run(*arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "kappa.app.command.main", *map(str, arguments)],
        cwd=REPOSITORY, capture_output=True, check=False, timeout=PATIENCE_S,
        env={**os.environ, "PYTHONIOENCODING": "utf-8", **environment}, encoding="utf-8", errors="replace",
    )  # fmt: skip


@pytest.fixture
def called(capsys, monkeypatch):
    """The same within this process: status, standard output, standard error."""

    def call(*arguments):
        monkeypatch.chdir(REPOSITORY)
        try:
            status = main([*map(str, arguments)])
        except SystemExit as stop:
            status = stop.code
        return status, *capsys.readouterr()

    return call


@pytest.mark.parametrize(
    ("document", "status", "word"),
    [
        (complete(), 0, "✔ PASS"),
        (complete(latency("gpu", value=900)), 1, "✘ FAIL"),
        (report([latency()]), 2, "◌ INCOMPLETE"),
        (report([]), 2, "◌ INCOMPLETE"),
    ],
)
def test_verdict_and_exit_status(document, status, word, site, saved, called):
    found, text, error = called("show", saved(document), "--site", site)
    assert (found, error) == (status, "")
    assert word in text


def test_exit_status_of_the_command(site, saved):
    done = run("show", saved(complete(latency("gpu", value=900))), "--site", site)
    assert (done.returncode, done.stderr) == (1, "")
    assert "✘ FAIL" in done.stdout


def test_the_mode_is_a_choice(site, saved, called):
    assert called("show", saved(complete()), "--site", site, "--mode", "smoke")[0] == 2


def test_a_site_that_is_not_there(saved, called):
    document = complete()
    for entry in document["runs"][0]["testcases"]:
        entry["system"] = "nowhere"
    status, text, _ = called("show", saved(document))
    assert status == 2
    assert "the report's site is unknown" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("show", "none.json"), "there is no file or folder none.json"),
        (("show", "tests/unit/reports"), "no run-report*.json or report*.json in this folder"),
        (("show", DATA / "campaign.json", "--site", "none"), "there is no site 'none'"),
        (("show", DATA / "campaign.json", "--mode", "x"), "--mode x: "),
        (("show", DATA / "campaign.json", "--json", "none/v.json"), "cannot write none/v.json: No such file"),
        (("show", DATA / "campaign.json", "--json", "tests"), "cannot write tests: Is a directory"),
        (("show", "--format=page", DATA / "campaign.json", "-o", "none/r"), "cannot write none/r: No such file"),
        (("show", "--format=page", "none.json"), "there is no file or folder none.json"),
        (("show",), "required: RUN"),
        (("show", DATA / "campaign.json", "-o", "x"), "--output needs --format page, junit"),
        (("judge", "x"), "there is no 'judge'"),
        (("nod",), "did you mean 'node'?"),
        (("night", "reprot"), "did you mean 'report'?"),
        ((), "usage: kappa"),
    ],
    ids=range(14),
)
def test_a_usage_error_is_2_and_says_why(arguments, message, called):
    status, text, error = called(*arguments)
    assert (status, text) == (2, "")
    assert message in error


@pytest.mark.parametrize("text", ["", "{", "[]", '{"session_info": {}, "runs": [{"testcases": [{}]}]}', "\x1b[2J"])
def test_a_broken_report_is_2_and_names_the_file(text, site, saved, called):
    for shape in ("verdict", "page", "junit"):
        status, _, error = called("show", "--format", shape, saved(text), "--site", site)
        assert status == 2
        assert "run-report.json" in error
        assert "\x1b" not in error


def test_a_fault_of_the_program_does_not_read_as_fail(site, saved, called, monkeypatch):
    monkeypatch.setattr("reports.verdict.stored.judge", lambda *_: 1 / 0)
    status, _, error = called("show", saved(complete()), "--site", site)
    assert status == 2
    assert "ZeroDivisionError" in error


def test_json_for_machines(site, saved, tmp_path, called):
    assert called("show", saved(complete()), "--site", site, "--json", tmp_path / "v.json")[0] == 0
    assert json.loads((tmp_path / "v.json").read_text())["verdict"] == "PASS"
    assert not list(tmp_path.glob(".*.part"))


def test_html_is_written_whatever_the_verdict(site, saved, tmp_path, called):
    path = saved(complete(latency("gpu", value=900)))
    assert called("show", "--format=page", path, "--site", site) == (0, f"FAIL: {path.with_suffix('.html')}\n", "")
    page = tmp_path / "page.html"
    page.write_text("old")
    assert called("show", "--format=page", tmp_path, "--site", site, "-o", page)[0] == 0
    assert "900 us" in page.read_text()
    assert not list(tmp_path.glob(".*.part"))


def test_a_bad_report_leaves_the_old_page(tmp_path, saved, called):
    page = tmp_path / "page.html"
    page.write_text("old")
    assert called("show", "--format=page", saved("{"), "-o", page)[0] == 2
    assert page.read_text() == "old"


def test_a_terminal_without_unicode(site, saved):
    done = run("show", saved(complete()), "--site", site, PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, "")
    assert "PASS" in done.stdout


def test_colour_only_where_wanted(site, saved):
    assert "\x1b[" in run("show", saved(complete()), "--site", site, FORCE_COLOR="1", TERM="xterm").stdout
    plain = run("show", saved(complete()), "--site", site, FORCE_COLOR="1", NO_COLOR="1", TERM="xterm").stdout
    assert "\x1b[32m" not in plain


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_a_reader_that_goes_away_does_not_change_the_status(site, saved):
    document = complete(*[latency("gpu", name=f"Case {number}") for number in range(600)])
    verdict = f"{sys.executable} -m kappa.app.command.main show {saved(document)} --site {site} -v"
    command = f"{verdict} | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", command], cwd=REPOSITORY, capture_output=True, text=True, check=False, timeout=PATIENCE_S
    )
    assert (done.stdout, done.stderr) == ("0\n", "")
