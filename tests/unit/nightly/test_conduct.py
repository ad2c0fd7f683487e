"""Runs of a night, with ReFrame replaced by a script that records its command line."""

import json
import sys

import pytest

from kappa.app.conduct import night
from kappa.app.conduct.night import BusyError, conduct, only_one
from kappa.app.conduct.validation import Validation, using
from kappa.core.sites.load import Site
from reports.nightly.alert import NightAlert
from tests.unit.nightly.samples import parse

REFRAME = r"""#!/bin/bash
for word; do case $word in --report-file=*) report=${word#*=} ;; esac; done
echo "$*" >> %(folder)s/called
%(does)s
"""
WRITES = 'printf \'{"session_info": {}, "runs": []}\' > "$report"'


@pytest.fixture
def called(tmp_path, monkeypatch):
    """Runs a night with these options; what ReFrame was called with, in words."""
    (tmp_path / "site_configs/here").mkdir(parents=True)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setattr(Validation, "judge", lambda self: 0)
    monkeypatch.setattr(night, "turns", lambda *_: {"cpu": ["node1", "node2"], "gpu": ["node3"]})
    monkeypatch.setattr(night, "publish", lambda *_, **__: 0)

    def run(*arguments, does=WRITES):
        (tmp_path / "reframe").write_text(REFRAME % {"folder": tmp_path, "does": does})
        (tmp_path / "reframe").chmod(0o755)
        results, site = tmp_path / "results", Site(tmp_path / "site_configs/here")
        with only_one(results, site) as lock:
            options = parse(["run", "here", *arguments])
            conduct(options, site, results, lock, lambda: "")
        return [line.split() for line in (tmp_path / "called").read_text().splitlines()]

    return run


def records(tmp_path):
    return [json.loads(path.read_text()) for path in (tmp_path / "results/nights").glob("*/night.json")]


def test_the_mode_and_then_the_nodes_whose_turn_it_is(called, tmp_path):
    mode, cpu, together, gpu = called("--", "-S", "A.a=1")
    [folder] = (tmp_path / "results/nights").iterdir()
    assert mode[-5:] == ["-r", "--mode=nightly", "-S", "A.a=1", f"--report-file={folder}/run-report.json.part"]
    on_nodes = ["--repeat=3", "--system=here:cpu", "-J", "nodelist=node1,node2", "-S", "A.a=1"]
    assert cpu[cpu.index("-t") :] == [
        "-t", "scale_one_node", "-T", "many_nodes", "--distribute=all", *on_nodes,
        f"--report-file={folder}/rotation/cpu/run-report.json.part",
    ]  # fmt: skip
    assert together[together.index("-t") :] == [
        "-t", "scale_one_node", "-t", "many_nodes", *on_nodes,
        f"--report-file={folder}/rotation/cpu-together-1/run-report.json.part",
    ]  # fmt: skip
    alone = ["-t", "scale_one_node", "--distribute=all", "--repeat=3", "--system=here:gpu", "-J", "nodelist=node3"]
    assert gpu[gpu.index("-t") :][: len(alone)] == alone
    [record] = records(tmp_path)
    assert (record["planned"], record["cut"]) == (["node1", "node2", "node3"], "")
    assert (folder / "run-report.json").exists() and (folder / "rotation/gpu/run-report.json").exists()


def test_no_rotation(called):
    assert len(called("--nights=0")) == 1


def test_the_limit_cuts_a_night_and_nothing_more_is_run(called, tmp_path, monkeypatch):
    monkeypatch.setattr(night, "RESERVE", 0.97)
    assert len(called("--limit=30s", does="exec sleep 600")) == 1
    [record] = records(tmp_path)
    assert (record["cut"], record["planned"]) == ("it reached its time limit", [])


def test_a_session_without_a_report_ends_no_night(called, tmp_path):
    assert len(called(does="exit 1")) == 4
    assert (next(tmp_path.glob("results/nights/*/night.log"))).read_text().count("ReFrame wrote no report") == 4


def test_what_a_killed_night_left_is_kept(called, tmp_path):
    lost = tmp_path / "results/nights/20200101T000000"
    for folder in (lost, lost / "rotation/cpu"):
        folder.mkdir(parents=True)
    (lost / "run-report.json.part").write_text("{}")
    (lost / "rotation/cpu/run-report.json.part").write_text('{"cut')
    called("--nights=0")
    assert (lost / "run-report.json").exists()
    assert not (lost / "rotation/cpu/run-report.json").exists()


def test_the_nodes_wait_for_a_run_by_hand_but_no_longer_than_the_night(called, tmp_path, monkeypatch):
    monkeypatch.setattr(night, "RESERVE", 0.9)
    with using(tmp_path / "results", None):
        (tmp_path / "called").touch()
        assert called("--limit=30s") == []
    [record] = records(tmp_path)
    assert (record["cut"], record["planned"]) == ("it reached its time limit", ["node1", "node2", "node3"])
    log = next(tmp_path.glob("results/nights/*/night.log")).read_text()
    assert "another run uses" in log, "the mode does not wait"


def test_a_second_night_says_which_is_running(tmp_path):
    running = pytest.raises(BusyError, match=r"^another night, .* holds the lock \(process ")
    site = Site(tmp_path)
    with only_one(tmp_path, site), running, only_one(tmp_path, site):
        pass


def test_an_alert_goes_out_when_all_is_written_and_its_failure_is_in_the_log(called, tmp_path, monkeypatch, capsys):
    def published(*_, link, deliver, **__):
        deliver(NightAlert(link, "text", "{}", ("findings",), "folder"))
        return 1

    monkeypatch.setattr(night, "publish", published)
    called(f"--webhook-file={tmp_path / 'none'}", "--link=https://h/k")
    [folder] = (tmp_path / "results/nights").iterdir()
    [line] = [line for line in (folder / "night.log").read_text().splitlines() if line.startswith("alert: ")]
    assert line.endswith(f"not delivered: cannot read {tmp_path / 'none'}: No such file or directory")
    assert line in capsys.readouterr().err
