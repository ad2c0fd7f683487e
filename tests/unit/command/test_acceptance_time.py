"""``kappa acceptance time``: what it refuses before it asks Slurm anything."""

import argparse

import pytest
import yaml

from kappa.app.command import acceptance
from kappa.app.command.acceptance_time import add_time
from kappa.core.ground.errors import InputError
from reports.acceptance.contract import load_contract
from tests.unit.acceptance.conftest import clause, contract


@pytest.mark.parametrize(
    ("arguments", "command", "words"),
    [
        (["B1"], [], "B1: expected a duration clause of the contract: T1"),
        (["T1", "--since", "2026-12-03T08:00Z"], ["true"], "expected either --since or a COMMAND"),
    ],
)
def test_bad_input_is_refused(tmp_path, arguments, command, words):
    path = tmp_path / "acceptance.yaml"
    timed = {"id": "T1", "text": "soon", "duration": {"of": "restart", "at_most_s": 60}, "mandatory": True}
    path.write_text(yaml.safe_dump(contract(clause(), timed)))
    parser = argparse.ArgumentParser()
    add_time(parser.add_subparsers(), argparse.ArgumentParser(add_help=False), lambda _: (None, load_contract(path)))
    options = parser.parse_args(["time", str(tmp_path / "folder"), *arguments])
    options.command = command
    with pytest.raises(InputError) as error:
        options.act(options)
    assert words in str(error.value)


def test_command_stays_as_it_was_typed():
    options = acceptance._parse(["time", "site", "folder", "T1", "--", "ssh", "mgmt1", "--", "sudo", "--node=x"])
    assert (options.command, options.node) == (["ssh", "mgmt1", "--", "sudo", "--node=x"], "")


def test_other_actions_take_no_command(capsys):
    with pytest.raises(SystemExit):
        acceptance._parse(["plan", "site", "--", "true"])
    assert "unexpected words after --: true" in capsys.readouterr().err
