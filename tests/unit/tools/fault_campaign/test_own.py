"""An operator's own fault: two commands on a drawn node, and the message if one of them fails."""

import dataclasses
import random
import subprocess

import pytest

from tests.fault_campaign import rounds
from tests.fault_campaign.cluster import CampaignError, Cluster
from tests.fault_campaign.outcomes import CampaignFolder, Settings
from tests.fault_campaign.own import OWN, MendError, kinds_of
from tests.fault_campaign.rounds import Round


class Here(Cluster):
    """A cluster whose nodes are this machine."""

    def command(self, *arguments):
        _, _, *command = arguments
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    def end_node(self, node):
        pass


@pytest.fixture
def cluster(tmp_path):
    return Here(tmp_path / "cluster", tmp_path / "results")


@pytest.fixture
def put(cluster):
    """put(plant, mend): the fault on node2."""

    def put(plant, mend):
        settings = Settings(1, (OWN,), plant=plant, mend=mend)
        return kinds_of(settings)[OWN].put(cluster, "node2", random.Random(1))

    return put


def test_the_commands_are_run_in_turn_and_what_the_first_says_is_the_detail(put, tmp_path):
    with put(f"touch {tmp_path}/planted; echo 'MTU | 1300'; sleep 600 & echo $! > {tmp_path}/pid",
             f"rm {tmp_path}/planted; kill $(cat {tmp_path}/pid)") as detail:  # fmt: skip
        assert (tmp_path / "planted").exists()
    assert detail == "MTU | 1300"
    assert not (tmp_path / "planted").exists()


def test_a_command_that_does_not_plant_is_mended_and_said(put, tmp_path):
    plant = f"touch {tmp_path}/half; echo no such device >&2; exit 3"
    with pytest.raises(CampaignError, match="the command of --plant on node2 failed: no such device"):
        put(plant, f"rm {tmp_path}/half").__enter__()
    assert not (tmp_path / "half").exists()


def test_a_command_that_does_not_end_is_told_to_go_into_the_background(put, monkeypatch):
    def never(*_):
        raise subprocess.TimeoutExpired("bash", 600)

    monkeypatch.setattr(Here, "command", never)
    with pytest.raises(CampaignError, match="did not end within 600 s"):
        put("sleep 1000", "true").__enter__()


def test_a_round_that_is_not_mended_counts_and_ends_the_campaign(cluster, tmp_path, monkeypatch):
    monkeypatch.setattr(rounds, "validate", lambda *_: None)
    for name in ("end", "make_healthy"):
        monkeypatch.setattr(Here, name, lambda _: None)
    state = CampaignFolder(tmp_path)
    state.begin(Settings(1, (OWN,), plant="true", mend="exit 4"))
    plan = [Round(number, OWN, "node2", 3) for number in range(2)]
    with pytest.raises(MendError, match="--mend on node2 failed: exit status 4"):
        rounds.run_rounds(cluster, state, plan, None)
    assert [dataclasses.astuple(one)[:3] for one in state.outcomes()] == [(0, OWN, "node2")]
