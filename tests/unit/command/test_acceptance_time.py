"""``kappa acceptance time``: what it refuses before it asks Slurm anything."""

import argparse

import pytest
import yaml

from kappa.app.command import acceptance
from kappa.app.command.acceptance_time import add_time
from kappa.core.ground.errors import InputError
from reports.acceptance.contract import load_contract
from tests.unit.acceptance.conftest import clause, contract


def timed(id_, of):
    return {"id": id_, "text": "soon", "duration": {"of": of, "at_most_s": 60}, "mandatory": True}


@pytest.fixture
def act(tmp_path):
    """Run ``time`` with these arguments and a command."""
    path = tmp_path / "acceptance.yaml"
    path.write_text(yaml.safe_dump(contract(clause(), timed("T1", "restart"), timed("T4", "start"))))

    def run(*arguments, command=()):
        parser = argparse.ArgumentParser()
        add_time(parser.add_subparsers(), argparse.ArgumentParser(add_help=False), lambda _: (None, load_contract(path)))
        options = parser.parse_args(["time", str(tmp_path / "folder"), *arguments])
        options.command = command
        return options.act(options)

    return run


def test_clause_without_a_time_is_refused(act):
    with pytest.raises(InputError, match="B1: expected a duration clause of the contract: T1, T4"):
        act("B1")


def test_time_and_command_are_refused_together(act):
    with pytest.raises(InputError, match="expected either --since or a COMMAND"):
        act("T4", "--since", "2026-12-03T08:00Z", command=["true"])


def test_command_stays_as_it_was_typed():
    words = ["time", "site", "folder", "T1", "--", "ssh", "mgmt1", "--", "sudo", "--node=x"]
    options = acceptance._parse(words)
    assert (options.command, options.node) == (["ssh", "mgmt1", "--", "sudo", "--node=x"], "")


def test_other_actions_take_no_command(capsys):
    with pytest.raises(SystemExit):
        acceptance._parse(["plan", "site", "--", "true"])
    assert "unexpected words after --: true" in capsys.readouterr().err
