"""Reading a run that somebody else packed starts no program, and changes no file outside it."""

import json
import os
import pathlib
import shutil

import pytest

from kappa.app.command.main import main
from kappa.app.conduct.leftovers import settle_all
from kappa.core.ground.folders import SUITE
from kappa.core.record.journal import unsettled
from kappa.core.sites.load import Site
from tests.unit.reports import samples

SITE = "cpu-infiniband"
READERS = [
    ["show", "RUN"],
    ["show", "--format=page", "RUN", "-o", "out.html"],
    ["bundle", "RUN", "1", "-o", "out.tar.gz"],
    ["compare", "RUN", "RUN"],
    ["validate", SITE, "--plan", "--against", "RUN"],
    ["node", "quarantine", SITE, "--run", "RUN", "--dry-run"],
    ["fabric", "calibrate", SITE, "cpu", "--run", "RUN"],
]


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """The reader's files, one of them of worth."""
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / "thesis").write_text("years")
    monkeypatch.setenv("KAPPA_HOME", str(folder))
    monkeypatch.delenv("KAPPA_RESULTS", raising=False)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return folder


@pytest.fixture
def packed(tmp_path, home):
    """A received folder: its journal names a site beside it, whose Slurm commands are the packer's, and a lock."""
    folder = tmp_path / "packed"
    evil = folder / "evil"
    shutil.copytree(SUITE / "site_configs" / SITE, evil)
    text = (evil / "site.yaml").read_text()
    (evil / "site.yaml").write_text(f"path: [{folder}/bin]\n{text}")
    commands(folder / "bin", tmp_path / "marker")
    run = folder / "run"
    run.mkdir()
    document = samples.report([samples.latency(value=900)])
    (run / "run-report.json").write_text(json.dumps(document))
    journal(run, evil, home / "thesis")
    return run


def commands(folder, marker):
    folder.mkdir(parents=True)
    for name in ("squeue", "scancel", "sacct", "sinfo", "scontrol"):
        (folder / name).write_text(f"#!/bin/sh\ntouch {marker}\n")
        (folder / name).chmod(0o755)


def journal(run, site=SITE, *locks):
    """The first line names the site and the locks: Kappa believed it once."""
    case = samples.latency(value=900)
    first = {"site": str(site), "locks": [str(lock) for lock in locks]}
    lines = [first, {"session_info": {"uuid": "u"}}, {"number": 0, "run": 0, "case": case}]
    (run / "run-report.json.journal").write_text("".join(f"{json.dumps(line)}\n" for line in lines))


def files(folder):
    """Each file and link below the folder with its content."""
    paths = [path for path in sorted(folder.rglob("*")) if path.is_symlink() or not path.is_dir()]
    return {path: os.readlink(path) if path.is_symlink() else path.read_bytes() for path in paths}


@pytest.mark.parametrize("words", READERS, ids=lambda words: words[0])
def test_a_received_run_starts_no_program_and_loses_no_file(words, packed, home, tmp_path, capsys):
    before = files(packed.parent), files(home)
    main([str(packed) if word == "RUN" else word for word in words])
    assert not (tmp_path / "marker").exists()
    assert (files(packed.parent), files(home)) == before
    assert f"{packed}: its session has not ended, and Kappa leaves it as it is" in capsys.readouterr().err


@pytest.mark.parametrize("given", ["results/evil/runs/0", "results/embedded/runs/1", "evil", "embedded"])
def test_a_working_directory_with_sites_of_its_own_starts_no_program(given, packed, tmp_path, monkeypatch):
    """The packer's folder looks like the home of Kappa, with a site, its results, and the cluster of a suite's site."""
    folder = tmp_path / "packed"
    for number, name in enumerate(("evil", "embedded")):
        run = folder / f"results/{name}/runs/{number}"
        shutil.copytree(packed, run)
        journal(run, name, folder / f"results/{name}/lock")
        (folder / f"results/{name}/lock").touch()
    (folder / "site_configs").mkdir()
    (folder / "evil").rename(folder / "site_configs/evil")
    commands(folder / ".kappa/cluster/bin", tmp_path / "marker")
    monkeypatch.delenv("KAPPA_HOME")
    monkeypatch.chdir(folder)
    main(["show", given])
    assert not (tmp_path / "marker").exists()


@pytest.fixture
def own(home):
    """A dead run in the reader's own results."""
    run = home / f"results/{SITE}/runs/20261128T020000-smoke"
    run.mkdir(parents=True)
    (run.parents[1] / "lock").touch()
    journal(run, SITE, run.parents[1] / "lock")
    return run


def test_a_dead_run_of_ones_own_gets_its_report(own):
    main(["show", str(own)])
    assert (own / "run-report.json").exists()


def linked_run(own, packed):
    shutil.rmtree(own)
    (packed / "run-report.json").unlink()
    own.symlink_to(packed)


def linked_confirmations(own, packed):
    (own / "run-report.json.journal").unlink()
    (packed / "run-report.json").unlink()
    (own / "confirmations").symlink_to(packed)


def linked_journal(own, packed):
    (own / "run-report.json.journal").unlink()
    (own / "run-report.json.journal").symlink_to(packed / "run-report.json.journal")


def of_another_user(own, packed):
    if os.geteuid():
        pytest.skip("only root gives files away")
    os.chown(own / "run-report.json.journal", 12345, 12345)


def folder_of_another_user(own, packed):
    if os.geteuid():
        pytest.skip("only root gives files away")
    os.chown(own, 12345, 12345)


def linked_lock(own, packed):
    lock = own.parents[1] / "lock"
    lock.unlink()
    lock.symlink_to(own.parents[3] / "thesis")


STRANGE = [linked_run, linked_confirmations, linked_journal, of_another_user, folder_of_another_user, linked_lock]


@pytest.mark.parametrize("given", ["site", "folder"])
@pytest.mark.parametrize("make", STRANGE)
def test_a_session_that_is_not_the_users_own_is_left_as_it_is(make, given, own, packed, home, capsys):
    make(own, packed)
    before = files(packed.parent), files(home)
    main(["show", SITE if given == "site" else str(own)])
    assert (files(packed.parent), {**files(home), **locks(own)}) == (before[0], {**before[1], **locks(own)})
    assert "its session has not ended, and Kappa leaves it as it is" in capsys.readouterr().err


def locks(own):
    """The lock of the user's own results may be taken."""
    lock = own.parents[1] / "lock"
    return {} if lock.is_symlink() else {lock: b""}


def test_an_acceptance_below_the_results_is_left_as_it_is(own, packed, capsys):
    """Its own lock tells whether it lives, not the lock of the results."""
    attempt = own.parents[1] / "acceptance/attempts/1"
    attempt.parent.mkdir(parents=True)
    own.rename(attempt)
    main(["show", str(attempt)])
    assert not (attempt / "run-report.json").exists()


def test_a_linked_stage_folder_cancels_no_job(own, home, tmp_path, monkeypatch):
    """The stage folder of a received run leads to the jobs of a session that lives."""
    other = home / f"results/{SITE}/runs/live/stage"
    other.mkdir(parents=True)
    (own / "stage").symlink_to(other)
    commands(tmp_path / "bin", tmp_path / "marker")
    (tmp_path / "bin/squeue").write_text(f"#!/bin/sh\necho '7|{other}/x'\n")
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    results = own.parents[1]
    settle_all(Site(SUITE / "site_configs" / SITE), unsettled(results), results, print)
    assert not (tmp_path / "marker").exists() and (own / "run-report.json").exists()


@pytest.mark.parametrize("kind", ["fifo", "zeros"])
def test_an_incomplete_report_that_is_no_file_is_left_as_it_is(kind, packed, capsys):
    part = packed / "run-report.json.part"
    os.mkfifo(part) if kind == "fifo" else part.symlink_to("/dev/zero")
    main(["show", str(packed)])
    assert pathlib.Path(part).exists()
