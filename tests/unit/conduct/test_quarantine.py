"""Nodes drained by the rule: the record, and the result of failed commands."""

import json
import os
import time

import pytest

from kappa.app.conduct import node_commands
from kappa.app.conduct.node_commands import CommandError
from kappa.app.conduct.quarantine import Quarantine
from kappa.core.ground.errors import InputError
from kappa.core.record.actions import load_actions
from kappa.core.sites.load import Site
from tests.unit.conduct.quarantined import NAMED, RULE
from tests.unit.quarantine.samples import NOW


def drain(ward):
    return ward.quarantine.drain(ward.quarantine.decided(NAMED, NOW, "runs/1"))


def test_a_node_is_drained_and_recorded(ward):
    [action] = drain(ward)
    assert (action.outcome, ward.recorded) == ("done", [("drain", "done")])
    assert ward.slurm.shown("node2").startswith(f"drained|{action.mark} OsuLatency: ")
    assert list(ward.quarantine.held()) == ["node2"]
    [kept] = load_actions(ward.results / "history")
    assert kept == action and kept.evidence == NAMED["node2"] and kept.command[0] == "scontrol"


def test_what_is_decided_alone_does_nothing(ward):
    [decision] = ward.quarantine.decided(NAMED, NOW, "runs/1")
    assert decision.command[:3] == ("scontrol", "update", "NodeName=node2")
    assert (ward.slurm.called, ward.recorded) == ([], [])


def test_the_record_is_there_before_the_command_runs(ward):
    ward.does("before", f"cp -r {ward.results}/history seen")
    drain(ward)
    [seen] = (ward.slurm.folder / "seen/actions").glob("*.json")
    assert json.loads(seen.read_text())["outcome"] == "begun"


def test_no_record_no_command(ward):
    (ward.results / "history").mkdir(parents=True)
    (ward.results / "history/actions").write_text("in the way")
    with pytest.raises(InputError, match="cannot make"):
        drain(ward)
    assert ward.slurm.called == []


@pytest.mark.parametrize(
    ("script", "said"),
    [
        (
            "echo 'slurm_update error: Access/permission denied' >&2; exit 1",
            "denied; it needs an operator of Slurm",
        ),
        ("echo 'slurm_update error: Invalid user id' >&2; exit 1", "it needs an operator of Slurm"),
        ("echo 'Unable to contact slurm controller' >&2; exit 1", "status 1 and said: Unable to contact"),
        ("exit 0", "ended well, but 0.5 s later node2 is idle"),
        ("printf '\\033[31mno\\n' >&2; exit 3", "status 3 and said: no"),
    ],
)
def test_a_command_that_fails_is_recorded_with_what_it_said(ward, script, said):
    ward.does("before", script)
    [action] = drain(ward)
    assert (action.outcome, ward.recorded) == ("failed", [("drain", "failed")])
    assert said in action.said and ward.slurm.shown("node2") == "idle|none"


def test_a_command_that_hangs_is_ended(ward, monkeypatch):
    monkeypatch.setattr(node_commands, "COMMAND_S", 2.0)
    ward.does("before", "echo $$ > pid; exec sleep 600")
    [action] = drain(ward)
    assert "did not end within 2 s; test slurmctld" in action.said
    # On a busy machine it may not have come so far.
    if (pid := ward.slurm.folder / "pid").exists():
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid.read_text()), 0)


def test_a_command_that_hung_after_it_had_drained_leaves_the_node_in_quarantine(ward, monkeypatch):
    monkeypatch.setattr(node_commands, "COMMAND_S", 5.0)
    ward.does("after", "exec sleep 600")
    [action] = drain(ward)
    assert action.outcome == "failed" and list(ward.quarantine.held()) == ["node2"]


def test_a_command_that_is_not_there(ward):
    (ward.slurm.bin / "scontrol").unlink()
    ward.follow(RULE.replace("[scontrol, update", "[no-such-scontrol, update"))
    [action] = drain(ward)
    assert "`no-such-scontrol update NodeName=node2`: there is no such program; add its folder to `path`" in action.said


@pytest.mark.parametrize("text", ["", "cpu|node1|idle|none", "cpu|node1||none\n"])
def test_what_sinfo_says_has_to_be_read_whole(ward, text):
    (ward.slurm.folder / "nodes").write_text(text)
    with pytest.raises(CommandError, match="the output of sinfo cannot be read"):
        drain(ward)


def test_a_node_in_an_unknown_state_is_left_alone_and_stops_no_other(ward):
    nodes = ward.slurm.folder / "nodes"
    nodes.write_text(nodes.read_text() + "cpu|node9|happy|none\n")
    now = ward.quarantine.commands.nodes()
    assert (now["node9"].usable, now["node9"].state) == (False, "happy")
    [action] = drain(ward)
    assert (action.node, action.outcome) == ("node2", "done")


def test_somebody_who_drains_it_meanwhile_keeps_the_reason(ward):
    decisions = ward.quarantine.decided(NAMED, NOW, "runs/1")
    ward.slurm.put("node2", "drained", "fan broken")
    [action] = ward.quarantine.drain(decisions)
    assert (action.outcome, action.said) == ("declined", "node2 is drained, for the reason 'fan broken'")
    assert (ward.slurm.shown("node2"), ward.slurm.called) == ("drained|fan broken", [])


def test_what_is_declined_is_recorded_too(ward):
    ward.slurm.put("node2", "down", "bad DIMM")
    [action] = drain(ward)
    assert (action.outcome, ward.recorded, ward.slurm.called) == ("declined", [("drain", "declined")], [])


def test_a_damaged_record_is_named_and_nothing_is_done(ward):
    drain(ward)
    [path] = (ward.results / "history/actions").glob("*.json")
    path.write_text('{"what": "drian"}')
    with pytest.raises(InputError, match=path.name):
        drain(ward)


def test_a_site_without_a_rule_has_nothing_done(ward):
    ward.follow(RULE)
    (ward.site / "site.yaml").write_text((ward.site / "site.yaml").read_text().removeprefix(RULE))
    assert Quarantine.of(Site(ward.site), ward.results) is None
    with pytest.raises(InputError, match=r"site.yaml has no quarantine"):
        Quarantine.required(Site(ward.site), ward.results)


def test_two_commands_at_a_time_wait_for_each_other(ward):
    class WaitedError(Exception):
        pass

    def waiting():
        raise WaitedError

    with ward.quarantine.alone(waiting), pytest.raises(WaitedError), ward.quarantine.alone(waiting):
        pass


def test_a_drain_lasts_from_now(ward):
    [action] = drain(ward)
    assert action.until is not None and abs(action.until - time.time() - 7 * 86_400) < 3600
