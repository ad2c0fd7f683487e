"""A round's run, with `kappa validate` replaced by a script."""

import contextlib
import os
import subprocess
import time

import pytest

from kappa.core.sites.load import Site
from tests.fault_campaign import rounds, time_to_name
from tests.fault_campaign.cluster import Cluster
from tests.fault_campaign.faults import Kind
from tests.fault_campaign.plan import Round
from tests.waiting import PATIENCE_S

REPORT = 'mkdir "$KAPPA_RESULTS/run"; echo {} > "$KAPPA_RESULTS/run/run-report.json"'
SAID = 'echo "report: $KAPPA_RESULTS/run/report.html"'


@pytest.fixture
def validate(tmp_path, monkeypatch):
    """validate(script): the report of a round whose validation is the script."""

    def validate(script, limit_s=PATIENCE_S):
        path = tmp_path / "kappa"
        path.write_text(f"#!/bin/bash\n{script}\n")
        path.chmod(0o755)
        (tmp_path / "results").mkdir()
        monkeypatch.setattr(rounds, "KAPPA", path)
        monkeypatch.setattr(rounds, "ROUND_SECONDS", limit_s)
        return rounds.validate(Cluster(tmp_path / "cluster", tmp_path / "results"))

    return validate


def test_a_run_that_ended_has_a_report(validate, tmp_path):
    assert validate(f"{REPORT}; {SAID}") == tmp_path / "results/run/run-report.json"


def test_a_crash_has_none(validate):
    assert validate(f"{REPORT}; exit 2") is None


def test_what_the_limit_ended_is_no_outcome_although_it_is_judged(validate):
    assert validate(f"{REPORT}; trap '{SAID}; kill $!; exit 2' TERM; sleep 600 & wait", limit_s=1) is None


class Healed(Cluster):
    """A cluster whose nodes are only told to end."""

    ended = ()

    def end_node(self, node):
        object.__setattr__(self, "ended", (*self.ended, node))


@pytest.fixture
def cluster(tmp_path, monkeypatch):
    """With the kinds of fault *preloading* and *other*, which change nothing."""

    @contextlib.contextmanager
    def nothing(*_):
        yield ""

    kinds = {
        "preloading": Kind("preloading", False, "", nothing, preloads=True),
        "other": Kind("other", False, "", nothing),
    }
    monkeypatch.setattr(rounds, "KINDS", kinds)
    (tmp_path / "results").mkdir()
    return Healed(tmp_path / "cluster", tmp_path / "results")


def test_the_node_of_a_fault_ends_after_the_round_and_no_other(cluster, monkeypatch):
    """What its interface has counted cannot be taken back, and would be found in all rounds after."""
    monkeypatch.setattr(rounds, "validate", lambda *_: None)
    rounds.run_round(cluster, Round(1, "other", "node2", 3))
    rounds.run_round(cluster, Round(2, None, None, 3))
    assert cluster.ended == ("node2",)


def test_the_node_ends_also_when_the_round_is_interrupted(cluster, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(rounds, "validate", interrupted)
    with pytest.raises(KeyboardInterrupt):
        rounds.run_round(cluster, Round(1, "other", "node2", 3))
    assert cluster.ended == ("node2",)


def test_another_process_with_the_number_of_a_node_is_left_alone(tmp_path):
    (tmp_path / "run").mkdir()
    with subprocess.Popen(["sleep", "60"]) as other:
        for ticks, ended in ((1, False), (started_at(other.pid), True)):
            (tmp_path / "run/node2.pid").write_text(f"{other.pid} {ticks} boot\n")
            Cluster(tmp_path, tmp_path).end_node("node2")
            assert (other.poll() is not None) is ended


def started_at(pid):
    with open(f"/proc/{pid}/stat") as file:
        return file.read().split()[21]


def test_kinds_that_preload_a_library_are_judged_without_the_check_that_sees_it(cluster, monkeypatch):
    """Else the inventory of software finds the library, whatever it does."""
    ran = []
    monkeypatch.setattr(rounds, "validate", lambda cluster, checks: ran.append(tuple(checks)))
    for kind in ("preloading", "other", None):
        rounds.run_round(cluster, Round(1, kind, kind and "node2", 3))
    less = tuple(check for check in rounds.CHECKS if check != "SoftwareInventory")
    assert ran == [less, rounds.CHECKS, rounds.CHECKS]


def test_a_round_has_to_run_its_checks_and_no_others(tmp_path):
    found = {}
    for preloads in (True, False):
        (tmp_path / f"{preloads}").mkdir()
        site = Site(rounds.expectations(tmp_path / f"{preloads}/run-report.json", preloads))
        found[preloads] = site.modes[rounds.MODE]
        assert site.unexplained(rounds.MODE) == []
    assert found[False] == {
        family: ("scratch",)
        for family in (
            "compute/affinity", "compute/bits", "compute/node-sweep", "network/pair-sweep", "network/transport",
            "node/health", "node/partition-state", "node/software", "storage/emt-io-nodes", "storage/node-scratch",
        )
    }  # fmt: skip
    assert found[False].keys() - found[True].keys() == {"node/software"}


def hang_file(cluster, run, time_s, after_s=7.5):
    path = cluster.results / run / "hang.json"
    path.parent.mkdir()
    path.write_text(f'{{"after_s": {after_s}}}\nsha256=\n')
    os.utime(path, (time_s, time_s))


def test_seconds_from_the_fault_to_the_first_file_that_names_a_node(cluster):
    now = time.time()
    hang_file(cluster, "round before", now - 100)
    assert time_to_name.seconds_to_name(cluster, now - 10) is None
    time_to_name.note_fault(cluster)
    hang_file(cluster, "first", now + 20)
    hang_file(cluster, "again", now + 40)
    assert time_to_name.seconds_to_name(cluster, now - 10) == pytest.approx(20, abs=1)


def test_a_fault_that_was_there_before_the_job_counts_from_its_beginning(cluster):
    time_to_name.note_fault(cluster)
    time_to_name.forget_fault(cluster)
    hang_file(cluster, "first", time.time() + 20)
    assert time_to_name.seconds_to_name(cluster, time.time() - 10) == 7.5
