"""``kappa acceptance time``: what it refuses before it asks Slurm anything."""

import argparse

import pytest
import yaml
from kappa.core.sites.contract import load_contract

from kappa.app.command import acceptance
from kappa.core.ground.errors import InputError
from tests.unit.acceptance.conftest import clause, contract


def timed(id_, of):
    return {"id": id_, "text": "soon", "duration": {"of": of, "at_most_s": 60}, "mandatory": True}


@pytest.fixture
def parse(tmp_path, monkeypatch):
    path = tmp_path / "acceptance.yaml"
    clauses = [clause(), timed("T1", "restart"), timed("T3", "reboot"), timed("T4", "start")]
    path.write_text(yaml.safe_dump(contract(*clauses)))
    # No site is needed to refuse.
    monkeypatch.setattr(acceptance, "_site", lambda _: (None, load_contract(path)))
    return lambda *words: acceptance._parse(["time", "site", str(tmp_path / "folder"), *words])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["B1"], "B1: expected a duration clause of the contract: T1, T3, T4"),
        (["T3", "--", "scontrol", "reboot", "n1"], "T3: expected --node NODE with the reboot of a node"),
        (["T1", "--node", "n1"], "T1: expected --node NODE with the reboot of a node, and only then"),
        (["T4"], "T4: expected --since TIME or a COMMAND after `--`"),
        (["T4", "--since", "2026-12-03T08:00Z", "--", "true"], "expected either --since or a COMMAND"),
    ],
)
def test_bad_input(parse, words, message):
    options = parse(*words)
    with pytest.raises(InputError) as error:
        options.act(options)
    assert message in str(error.value)


def test_the_command_stays_as_it_was_typed(parse):
    options = parse("T1", "--", "ssh", "mgmt1", "--", "sudo", "--node=x")
    assert isinstance(options, argparse.Namespace)
    assert (options.command, options.node) == (["ssh", "mgmt1", "--", "sudo", "--node=x"], "")


def test_other_actions_take_no_command(capsys):
    with pytest.raises(SystemExit):
        acceptance._parse(["plan", "site", "--", "true"])
    assert "unexpected words after --: true" in capsys.readouterr().err
