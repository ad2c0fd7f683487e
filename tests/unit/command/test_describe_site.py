"""`kappa site new`: the first time, again, and over a site of somebody's own."""

import pytest

from kappa.app.command.main import main
from tests.unit.survey.clusters import Cluster, Recorded, node, partition, probe, surveyed


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "site_configs").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path / "site_configs/mine"


@pytest.fixture
def asked_of(monkeypatch):
    """Set the cluster's answers from now on."""

    def say(cluster):
        monkeypatch.setattr(
            "kappa.app.conduct.surveying.survey", lambda _asker, path, access, _tell: surveyed(cluster, path, access)
        )

    say(Recorded())
    return say


def one_node_down():
    cluster = Recorded()
    command = next(one for one in cluster.said if "show node" in one)
    cluster.said[command] = cluster.said[command].replace("State=IDLE", "State=DOWN", 1)
    return cluster


def files(folder):
    return {path: path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_the_first_time_writes_and_shows_where_all_comes_from(folder, asked_of, capsys):
    assert main(["site", "new", "mine", "--access=--account=a"]) == 0
    said = capsys.readouterr().out
    assert "FILL IN: gpu: Slurm has Gres=gpu:placeholder:1" in said
    site = (folder / "site.yaml").read_text()
    assert 'access: ["--account=a"]  # --access' in site and "  # probe of node1, node2: " in site


def test_a_limit_that_is_too_small_is_listed_and_in_the_site(folder, asked_of, capsys):
    text = probe("NAME", facts={"limit.open_files": 1024, "limit.open_files_hard": 4096})
    asked_of(Cluster(node("n1"), partition("batch", "n1"), {"batch": text}))
    assert main(["site", "new", "mine"]) == 0
    said = capsys.readouterr().out
    assert "too small on batch: open files 1024" in said
    assert "# Too small: open files 1024" in (folder / "site.yaml").read_text()


def test_again_changes_nothing_unasked(folder, asked_of, capsys):
    main(["site", "new", "mine", "--access=--account=a"])
    before = files(folder)
    capsys.readouterr()
    assert main(["site", "new", "mine"]) == 0
    assert "has not changed" in capsys.readouterr().out
    asked_of(one_node_down())
    assert main(["site", "new", "mine"]) == 1
    said = capsys.readouterr().out
    assert "parts.cpu.out_of_service: none -> node1" in said and "out of service now: node1" in said
    assert files(folder) == before


def test_what_somebody_edited_is_left_and_named(folder, asked_of, capsys):
    main(["site", "new", "mine"])
    edited = (folder / "site.yaml").read_text().replace("max_jobs: 1", "max_jobs: 2")
    (folder / "site.yaml").write_text(edited)
    asked_of(one_node_down())
    assert main(["site", "new", "mine", "--write"]) == 1
    assert "site.yaml: not updated" in capsys.readouterr().out
    assert (folder / "site.yaml").read_text() == edited
    assert main(["site", "new", "mine"]) == 0


def test_a_site_of_somebodys_own_is_not_touched(folder, asked_of, capsys):
    folder.mkdir()
    (folder / "site.yaml").write_text("descr: mine\n")
    assert main(["site", "new", "mine", "--write"]) == 2
    assert "choose another name" in capsys.readouterr().err
    assert len(files(folder)) == 1


def test_without_slurm_the_remedy_is_said(folder, monkeypatch, capsys):
    monkeypatch.setenv("PATH", "/nonexistent")
    assert main(["site", "new", "mine"]) == 2
    assert "load Slurm's module" in capsys.readouterr().err
    assert not folder.exists()
