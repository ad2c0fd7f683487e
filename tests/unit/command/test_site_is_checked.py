"""A command that is about a site refuses one whose files hold a name that nothing knows."""

import pathlib
import shutil

import pytest

from kappa.app.command import main as command

SITE = pathlib.Path(__file__).parents[3] / "site_configs/cpu-infiniband"
RECORDED = pathlib.Path(__file__).parents[2] / "data/reports/outcomes.json"


@pytest.mark.parametrize(
    "words",
    [
        ["validate", "cpu-infiniband"],
        ["verdict", str(RECORDED), "--site", "site_configs/cpu-infiniband"],
        ["html", str(RECORDED), "-o", "page.html", "--site", "site_configs/cpu-infiniband"],
        ["history", "cpu-infiniband"],
        ["ingest", "cpu-infiniband"],
        ["learn", "cpu-infiniband"],
        ["nightly", "run", "cpu-infiniband"],
        ["quarantine", "cpu-infiniband"],
        ["return", "cpu-infiniband", "node1"],
        ["acceptance", "plan", "cpu-infiniband"],
        ["spack", "install", "cpu-infiniband", "--verify"],
        ["spack", "mirror", "FOLDER", "cpu-infiniband"],
    ],
    ids=lambda words: words[0],
)
def test_a_typing_error_is_refused_by_name(words, tmp_path, monkeypatch, capsys):
    shutil.copytree(SITE, tmp_path / "site_configs/cpu-infiniband")
    site = tmp_path / "site_configs/cpu-infiniband/site.yaml"
    site.write_text(site.read_text().replace("scale_two_nodes", "scale_two_node", 1))
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("KAPPA_RESULTS", raising=False)
    assert command.main(words) == 2
    said = capsys.readouterr()
    assert "site.yaml" in said.err + said.out and "scale_two_node'" in said.err + said.out, said
    assert "scale_two_nodes" in said.err + said.out
