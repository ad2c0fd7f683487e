"""Actions of a night on nodes: first the nodes that are due, then its findings; none without a rule."""

import json
import time

import pytest

from kappa.app.conduct.night import NightActions
from kappa.app.conduct.session import Conductor
from kappa.core.ground.errors import InputError
from kappa.core.ground.processes import Stop
from kappa.core.record.actions import keep_action, load_actions
from kappa.core.sites.load import Site
from tests.unit.conduct.quarantined import RULE
from tests.unit.reports.samples import finding, latency, report


@pytest.fixture
def acts(ward):
    return NightActions(Site(ward.site), ward.results, time.time())


def a_night(ward, *nodes):
    """The folder of one that found a wrong fact of these nodes."""
    entry = latency(value=900.0, job_nodelist=["node1", "node2"], system="here", fail_phase="sanity")
    entry |= {"suspects": list(nodes), "findings": [finding(node, slowdown=None) for node in nodes]}
    folder = ward.results / "nights/now"
    folder.mkdir(parents=True)
    (folder / "run-report.json").write_text(json.dumps(report([entry])))
    night = {"night": "2026-11-15", "started": time.time(), "deadline": time.time(), "mode": "smoke", "nights": 0}
    (folder / "night.json").write_text(json.dumps(night))
    return folder


def actions(acts):
    return [(one["node"], one["what"], one["outcome"]) for one in acts.as_record()["actions"]]


def test_a_node_that_the_night_has_found_is_drained(ward, acts, capsys):
    acts.drain(Conductor(Stop()), a_night(ward, "node2"))
    assert actions(acts) == [("node2", "drain", "done")]
    assert acts.as_record()["not_acted"] == ""
    assert "node2: drained until" in capsys.readouterr().out
    assert list(ward.quarantine.held()) == ["node2"]


def test_half_of_a_partition_is_not(ward, acts):
    acts.drain(Conductor(Stop()), a_night(ward, "node1", "node2"))
    assert actions(acts) == [("node1", "drain", "declined"), ("node2", "drain", "declined")]
    assert ward.slurm.called == []


def test_what_is_due_is_given_back_and_earlier_actions_are_not_the_nights(ward):
    held = ward.drained()
    changed = {name: getattr(held, name) for name in held.__struct_fields__} | {"until": held.time}
    keep_action(ward.results / "history", type(held)(**changed))
    acts = NightActions(Site(ward.site), ward.results, time.time())
    acts.give_back(Conductor(Stop()), ["-S", "a=b", "-n", "NodeLinks", "--system=here:gpu"])
    assert actions(acts) == [("node2", "return", "done")]
    [reframe] = [line for line in ward.slurm.called if line.startswith("reframe")]
    assert " -S a=b " in reframe and "-n NodeLinks" not in reframe and "here:gpu" not in reframe


def test_what_is_only_told_is_in_the_night_and_not_in_the_history(ward):
    ward.follow(RULE + "  at_end: tell\n  lasts_days: 1.0e-9\n")
    ward.drained()
    acts = NightActions(Site(ward.site), ward.results, time.time())
    acts.give_back(Conductor(Stop()), [])
    assert actions(acts) == [("node2", "release", "declined")]
    assert [one.what for one in load_actions(ward.results / "history")] == ["drain"]


def test_what_keeps_it_from_acting_is_told(ward, acts):
    (ward.slurm.bin / "sinfo").write_text("#!/bin/bash\nexit 1\n")
    with pytest.raises(InputError):
        acts.drain(Conductor(Stop()), a_night(ward, "node2"))
    assert acts.as_record()["not_acted"].startswith("`sinfo --all --Node` ended with status 1")


def test_without_a_rule_nothing_is_done(ward, acts):
    (ward.site / "site.yaml").write_text((ward.site / "site.yaml").read_text().removeprefix(RULE))
    acts.give_back(Conductor(Stop()), [])
    acts.drain(Conductor(Stop()), a_night(ward, "node2"))
    assert acts.as_record() == {"actions": [], "not_acted": ""}
    assert ward.slurm.called == [] and not (ward.results / "history").exists()
