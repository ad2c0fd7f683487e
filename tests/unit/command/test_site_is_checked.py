"""A command for a site refuses a site whose files hold an unknown name."""

import json
import pathlib
import shutil
from collections import Counter

import pytest

from kappa.app.command import main as command
from kappa.app.conduct import preflight
from kappa.app.conduct.leftovers import NoReportError
from kappa.app.conduct.session import Conductor, ReframeSession
from kappa.app.conduct.validation import Validation
from kappa.core.ground.documents import YamlFile
from kappa.core.ground.processes import Stop, StoppedError
from kappa.core.sites.load import JUDGED_BY, Site

SITE = pathlib.Path(__file__).parents[3] / "site_configs/cpu-infiniband"
RECORDED = pathlib.Path(__file__).parents[2] / "data/reports/outcomes.json"


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A copy of the example site under its own name, in the working directory."""
    folder = tmp_path / "site_configs/our-cluster"
    shutil.copytree(SITE, folder)
    for path in folder.glob("references/*.yaml"):
        path.write_text(path.read_text().replace(SITE.name, folder.name))
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("KAPPA_RESULTS", raising=False)
    return folder


@pytest.mark.parametrize(
    "words",
    [
        ["validate", "our-cluster"],
        ["show", str(RECORDED), "--site", "site_configs/our-cluster"],
        ["show", "--format=page", str(RECORDED), "-o", "page.html", "--site", "site_configs/our-cluster"],
        ["history", "our-cluster"],
        ["history", "our-cluster", "--add"],
        ["learn", "our-cluster"],
        ["night", "run", "our-cluster"],
        ["node", "quarantine", "our-cluster"],
        ["node", "return", "our-cluster", "node1"],
        ["acceptance", "plan", "our-cluster"],
        ["spack", "install", "our-cluster", "--verify"],
        ["spack", "mirror", "FOLDER", "our-cluster"],
    ],
    ids=lambda words: words[0],
)
def test_a_typing_error_is_refused_by_name(words, site, capsys):
    path = site / "site.yaml"
    path.write_text(path.read_text().replace("scale_two_nodes", "scale_two_node", 1))
    assert command.main(words) == 2
    said = capsys.readouterr()
    assert "site.yaml" in said.err + said.out and "scale_two_node'" in said.err + said.out, said
    assert "scale_two_nodes" in said.err + said.out


CONTRACT = """
contract: {title: t, system: our-cluster, date: 2026-11-26, parties: {buyer: b}}
clauses:
  - id: A
    text: t
    selector: {check: Stream, metric: triad}
    statistic: median
    comparison: at_least
    threshold: {value: 1, unit: MB/s}
    repeats: 1
    mandatory: true
"""
JUDGE = ["show", str(RECORDED), "--site", "site_configs/our-cluster"]
PAGE = ["show", "--format=page", str(RECORDED), "-o", "page.html", "--site", "site_configs/our-cluster"]


@pytest.mark.parametrize("name", ["acceptance.yaml", "references/network.yaml"])
def test_what_a_verdict_does_not_ask_for_may_be_broken_and_stops_a_run(name, site, capsys):
    def said(*words):
        status = command.main([*words])
        return status, capsys.readouterr()

    sound, _ = said(*JUDGE), said(*PAGE)
    (site / name).write_text("contract: [")
    for words in (JUDGE, PAGE):
        assert name not in said(*words)[1].err
    assert said(*JUDGE) == sound
    for words in (["validate", "our-cluster"], ["night", "run", "our-cluster"], ["validate", "our-cluster", "--plan"]):
        status, told = said(*words)
        assert (status, name in told.err) == (2, True), told


@pytest.fixture
def parsed(monkeypatch):
    """How often each YAML file was parsed."""
    found = Counter()
    loaded = YamlFile.__init__

    def count(self, path, *arguments, **keywords):
        found[path.name] += 1
        loaded(self, path, *arguments, **keywords)

    monkeypatch.setattr(YamlFile, "__init__", count)
    return found


def test_a_verdict_parses_what_it_needs_once(site, parsed):
    command.main(JUDGE)
    assert parsed == {"site.yaml": 1, "expected.yaml": 1}


def test_a_run_parses_every_file_once_before_it_starts(site, parsed, monkeypatch, capsys):
    def start(self, conductor):
        raise NoReportError("ReFrame is started")

    (site / "acceptance.yaml").write_text(CONTRACT)
    for asks_slurm in ("_of_slurm", "_of_nodes"):
        monkeypatch.setattr(preflight, asks_slurm, lambda *_: [])
    monkeypatch.setattr(ReframeSession, "run", start)
    assert command.main(["validate", "our-cluster"]) == 2
    assert "ReFrame is started" in capsys.readouterr().err
    references = {path.name for path in site.glob("references/*.yaml")}
    assert parsed == dict.fromkeys({"site.yaml", "expected.yaml", "acceptance.yaml", *references}, 1)


def test_a_run_keeps_what_it_was_judged_by(site, tmp_path, monkeypatch, capsys):
    run, before = tmp_path / "run", (site / "expected.yaml").read_text()

    def measured(self, conductor):
        (site / "expected.yaml").write_text(f"{before}# edited while it ran\n")
        self.report.write_text(RECORDED.read_text().replace('"bench', '"our-cluster'))
        raise StoppedError("stopped, with a report")

    def verdict(*options):
        status = command.main(["show", str(run), "--json", "-", *options])
        return status, json.loads(capsys.readouterr().out)

    run.mkdir()
    monkeypatch.setattr(ReframeSession, "run", measured)
    validation = Validation(Site(site), "nightly", [], run)
    with pytest.raises(StoppedError):
        validation.measure(Conductor(Stop()))
    validation.judge()
    capsys.readouterr()
    then = run / JUDGED_BY / "our-cluster"
    assert (then / "expected.yaml").read_text() == before
    assert (then / "site.yaml").read_text() == (site / "site.yaml").read_text()
    status, told = verdict()
    assert told["judged_by"] == [str(then / "expected.yaml")]
    assert verdict("--site", str(then)) == (status, told | {"judged_by": []})
    (site / "expected.yaml").write_text("left_out: [")
    assert verdict()[0] == status, "a file broken now does not matter for an earlier run"
    (site / "expected.yaml").write_text(before)
    assert verdict()[1]["judged_by"] == []
