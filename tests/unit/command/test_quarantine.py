"""``kappa node quarantine`` and ``kappa node return`` from the command line, beside Slurm's commands as scripts."""

import datetime
import json

import pytest

from kappa.app.command import main as command
from tests.unit.conduct.quarantined import RULE, Ward
from tests.unit.reports.samples import finding, latency, report

PASS, FAIL, UNDONE = 0, 1, 2


@pytest.fixture
def ward(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KAPPA_RESULTS", str(tmp_path / "results"))
    return Ward(tmp_path, monkeypatch)


@pytest.fixture
def kappa(capsys):
    """Exit status and what was said."""

    def run(*words):
        status = command.main(list(words))
        said = capsys.readouterr()
        return status, said.out + said.err

    return run


def a_run(ward, *nodes, hours_ago=1, system="here"):
    """A recorded run in which a fact of these nodes was wrong."""
    entry = latency(value=900.0, job_nodelist=["node1", "node2"], system=system, fail_phase="sanity")
    entry |= {"suspects": list(nodes), "findings": [finding(node, slowdown=None) for node in nodes]}
    began = datetime.datetime.now(datetime.UTC) - datetime.timedelta(hours=hours_ago)
    path = ward.folder / "run-report.json"
    path.write_text(json.dumps(report([entry], time_start=f"{began:%Y%m%dT%H%M%S%z}")))
    return str(path)


def test_a_node_is_drained_listed_tested_and_given_back(ward, kappa):
    run = a_run(ward, "node2")
    status, said = kappa("node", "quarantine", "here", "--run", run, "--dry-run")
    assert status == PASS and "node2: to be drained until" in said
    assert "scontrol update NodeName=node2 State=DRAIN 'Reason=kappa-quarantine " in said
    assert ward.slurm.called == []
    status, said = kappa("node", "quarantine", "here", "--run", run)
    assert status == PASS and "node2: drained until" in said
    status, said = kappa("node", "quarantine", "here")
    assert status == PASS and "node2: drained until" in said and "1 in quarantine" in said
    status, said = kappa("node", "return", "here")
    assert (status, said) == (PASS, "no quarantine has ended\n")
    before = ward.slurm.called
    status, said = kappa("node", "return", "here", "node2", "--dry-run", "--", "-S", "a=b")
    assert status == PASS and "scontrol create reservation" in said and "-S a=b" in said
    assert ward.slurm.called == before
    status, said = kappa("node", "return", "here", "node2")
    assert status == PASS and "node2: resumed after it passed its test" in said
    assert ward.slurm.shown("node2") == "idle|none"
    assert kappa("node", "quarantine", "here") == (PASS, "no node is in quarantine\n")


def test_a_test_that_fails_is_status_1(ward, kappa):
    kappa("node", "quarantine", "here", "--run", a_run(ward, "node2"))
    ward.measures(900.0)
    status, said = kappa("node", "return", "here", "node2")
    assert status == FAIL and "node2: not resumed: FAIL" in said


def test_what_is_not_done_is_status_1_and_says_why(ward, kappa):
    status, said = kappa("node", "quarantine", "here", "--run", a_run(ward, "node1", "node2"))
    assert status == FAIL and said.count("2 of 4 nodes of partition cpu would be out of service") == 2
    assert ward.slurm.called == []


def test_what_could_not_be_done_is_status_2(ward, kappa):
    ward.does("before", "echo 'Access/permission denied' >&2; exit 1")
    status, said = kappa("node", "quarantine", "here", "--run", a_run(ward, "node2"))
    assert status == UNDONE and "node2: could not be drained" in said and "it needs an operator of Slurm" in said


def test_slurm_that_does_not_answer_is_status_2(ward, kappa):
    (ward.slurm.bin / "sinfo").write_text("#!/bin/bash\necho 'Unable to contact slurm controller' >&2; exit 1\n")
    for words in (["node", "quarantine", "here"], ["node", "return", "here", "node2"], ["node", "return", "here"]):
        status, said = kappa(*words)
        assert status == UNDONE and "Unable to contact slurm controller" in said


@pytest.mark.parametrize(
    ("changes", "words"),
    [({"hours_ago": 25}, "older than a day"), ({"system": "elsewhere"}, "of elsewhere, not of here")],
)
def test_a_run_that_says_nothing_of_the_nodes_now(ward, kappa, changes, words):
    status, said = kappa("node", "quarantine", "here", "--run", a_run(ward, "node2", **changes))
    assert status == UNDONE and words in said and ward.slurm.called == []


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (
            "drained|fan broken",
            "node2 is drained, for the reason 'fan broken'; Kappa resumes only nodes that it drained",
        ),
        ("idle|none", "node2 is not in quarantine: node2 is idle"),
    ],
)
def test_what_kappa_has_not_drained_is_not_given_back(ward, kappa, state, words):
    ward.slurm.put("node2", *state.split("|"))
    status, said = kappa("node", "return", "here", "node2")
    assert status == UNDONE and words in said
    assert (ward.slurm.shown("node2"), ward.slurm.called) == (state, [])


def test_a_site_without_a_rule(ward, kappa):
    (ward.site / "site.yaml").write_text((ward.site / "site.yaml").read_text().removeprefix(RULE))
    for words in (["node", "quarantine", "here"], ["node", "return", "here"]):
        status, said = kappa(*words)
        assert status == UNDONE and "site.yaml has no quarantine, so Kappa drains no node" in said
