"""The rounds of a campaign, and a round's run with `kappa validate` replaced by a script."""

import contextlib
import os
import time
from collections import Counter

import pytest

from kappa.core.sites.load import Site
from kappa.node.watch.job import HANG_FILE
from tests.fault_campaign import jobs, rounds
from tests.fault_campaign.cluster import Cluster
from tests.fault_campaign.faults import Kind
from tests.fault_campaign.rounds import Round, make_plan
from tests.waiting import PATIENCE_S

KINDS = ("slow link", "full disk", "slow CPU", "zombies", "slow disk")
NODES = ("node1", "node2")
REPORT = 'mkdir "$KAPPA_RESULTS/run"; echo {} > "$KAPPA_RESULTS/run/run-report.json"'
SAID = 'echo "report: $KAPPA_RESULTS/run/report.html"'


def test_same_seed_same_rounds():
    assert make_plan(7, 3, KINDS, NODES) == make_plan(7, 3, KINDS, NODES)
    assert make_plan(7, 3, KINDS, NODES) != make_plan(8, 3, KINDS, NODES)


def test_more_rounds_begin_with_those_of_fewer():
    assert make_plan(7, 5, KINDS, NODES)[: 2 * (len(KINDS) + 2)] == make_plan(7, 2, KINDS, NODES)


def test_every_kind_as_often_and_a_healthy_round_for_each_four():
    plan = make_plan(7, 4, KINDS, NODES)
    assert Counter(planned.kind for planned in plan) == dict.fromkeys(KINDS, 4) | {None: 8}
    assert [planned.number for planned in plan] == list(range(28))
    assert all((planned.node is None) == (planned.kind is None) for planned in plan)


def test_every_node_is_hit_some_time():
    assert {planned.node for planned in make_plan(1, 10, KINDS, NODES)} == {*NODES, None}


def test_further_healthy_rounds_stay_what_they_are_with_more_blocks():
    few, many = (make_plan(7, rounds, KINDS, NODES, more_healthy=5)[-5:] for rounds in (1, 3))
    assert few == many
    assert {planned.kind for planned in few} == {None}
    numbers = [planned.number for planned in make_plan(7, 3, KINDS, NODES, more_healthy=5)]
    assert len(set(numbers)) == len(numbers)


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


# They change nothing.
PUT_NOTHING = {
    name: Kind(name, False, "", lambda *_: contextlib.nullcontext(""), preloads=name == "preloading")
    for name in ("preloading", "other")
}


@pytest.fixture
def cluster(tmp_path):
    (tmp_path / "results").mkdir()
    return Healed(tmp_path / "cluster", tmp_path / "results")


def test_the_node_of_a_fault_ends_after_the_round_and_no_other(cluster, monkeypatch):
    """The interface's counters cannot be reset, and would show in all later rounds."""
    monkeypatch.setattr(rounds, "validate", lambda *_: None)
    rounds.run_round(cluster, Round(1, "other", "node2", 3), PUT_NOTHING)
    rounds.run_round(cluster, Round(2, None, None, 3), PUT_NOTHING)
    assert cluster.ended == ("node2",)


def test_the_node_ends_also_when_the_round_is_interrupted(cluster, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(rounds, "validate", interrupted)
    with pytest.raises(KeyboardInterrupt):
        rounds.run_round(cluster, Round(1, "other", "node2", 3), PUT_NOTHING)
    assert cluster.ended == ("node2",)


def test_kinds_that_preload_a_library_are_judged_without_the_check_that_sees_it(cluster, monkeypatch):
    """Else the inventory of software finds the library, whatever it does."""
    ran = []
    monkeypatch.setattr(rounds, "validate", lambda cluster, checks: ran.append(tuple(checks)))
    for kind in ("preloading", "other", None):
        rounds.run_round(cluster, Round(1, kind, kind and "node2", 3), PUT_NOTHING)
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
            "compute/affinity", "compute/bits", "compute/node-sweep", "network/pair-sweep", "network/peer-exchange",
            "network/transport", "node/health", "node/job-turnaround", "node/partition-state", "node/software",
            "storage/emt-io-nodes", "storage/node-scratch", "storage/shared-semantics",
        )
    }  # fmt: skip
    assert found[False].keys() - found[True].keys() == {"node/software"}


def test_the_file_that_names_a_node_is_that_of_the_watch():
    assert jobs.HANG_FILE == HANG_FILE


def hang_file(cluster, run, time_s, after_s=7.5):
    path = cluster.results / run / "hang.json"
    path.parent.mkdir()
    path.write_text(f'{{"after_s": {after_s}}}\nsha256=\n')
    os.utime(path, (time_s, time_s))


def test_seconds_from_the_fault_to_the_first_file_that_names_a_node(cluster):
    now = time.time()
    hang_file(cluster, "round before", now - 100)
    assert jobs.seconds_to_name(cluster, now - 10) is None
    jobs.note_fault(cluster)
    hang_file(cluster, "first", now + 20)
    hang_file(cluster, "again", now + 40)
    assert jobs.seconds_to_name(cluster, now - 10) == pytest.approx(20, abs=1)


def test_a_fault_that_was_there_before_the_job_counts_from_its_beginning(cluster):
    jobs.note_fault(cluster)
    jobs.forget_fault(cluster)
    hang_file(cluster, "first", time.time() + 20)
    assert jobs.seconds_to_name(cluster, time.time() - 10) == 7.5
