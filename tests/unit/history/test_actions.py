"""The history shows actions on nodes: on the terminal, for machines and on the page."""

import json

import pytest

from kappa.app.command import main as command
from kappa.core.ground.errors import InputError
from kappa.core.record.actions import keep_action, load_actions
from reports.history.ingest import ingest
from tests.unit.quarantine.samples import action, proof
from tests.unit.reports.samples import DATA


@pytest.fixture
def history(tmp_path, monkeypatch):
    """A history with one report and one action with hostile evidence."""
    monkeypatch.setenv("KAPPA_RESULTS", str(tmp_path))
    folder = tmp_path / "history"
    ingest([DATA / "campaign.json"], folder)
    keep_action(folder, action("node2", evidence=(proof(text="<script>alert(1)</script>"),)))
    return folder


def test_it_is_shown_everywhere(history, tmp_path, capsys):
    command.main(["history", "embedded", "--html", str(tmp_path / "h.html"), "--json", str(tmp_path / "h.json")])
    assert "node2: drained until" in capsys.readouterr().out
    [shown] = json.loads((tmp_path / "h.json").read_text())["actions"]
    assert (shown["node"], shown["what"], shown["outcome"], shown["evidence"][0]["check"]) == (
        "node2", "drain", "done", "NodeLinks",
    )  # fmt: skip
    page = (tmp_path / "h.html").read_text()
    assert "node2: drained until" in page and "<script>alert(1)" not in page


def test_only_what_was_done_since_then(history, capsys):
    command.main(["history", "embedded", "--since", "2030-01-01"])
    assert "node2" not in capsys.readouterr().out


def test_an_action_survives_its_file(history):
    assert load_actions(history) == [action("node2", evidence=(proof(text="<script>alert(1)</script>"),))]


def test_a_history_without_actions_has_none(tmp_path):
    assert load_actions(tmp_path) == []


def test_what_does_not_fit_is_named(history):
    [path] = (history / "actions").glob("*.json")
    path.write_text(path.read_text().replace('"done"', '"perhaps"'))
    with pytest.raises(InputError, match=rf"{path.name}: outcome"):
        load_actions(history)
