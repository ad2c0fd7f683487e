"""``kappa acceptance time``: what it refuses before it asks Slurm anything."""

import pytest
import yaml

from kappa.app.command import acceptance_time
from kappa.app.command.main import parser
from kappa.core.ground.errors import InputError
from reports.acceptance.contract import load_contract
from tests.unit.acceptance.conftest import clause, contract


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["B1"], "B1: expected a duration clause of the contract: T1"),
        (["T1", "--since", "2026-12-03T08:00Z", "--", "true"], "expected either --since or a COMMAND"),
    ],
)
def test_bad_input_is_refused(tmp_path, monkeypatch, arguments, problem):
    path = tmp_path / "acceptance.yaml"
    timed = {"id": "T1", "text": "soon", "duration": {"of": "restart", "at_most_s": 60}, "mandatory": True}
    path.write_text(yaml.safe_dump(contract(clause(), timed)))
    monkeypatch.setattr(acceptance_time, "load_site", lambda _: (None, load_contract(path)))
    options = parser().parse_args(["acceptance", "time", "embedded", str(tmp_path / "folder"), *arguments])
    with pytest.raises(InputError) as error:
        options.act(options)
    assert problem in str(error.value)


def test_command_stays_as_it_was_typed():
    typed = ["ssh", "mgmt1", "--", "sudo", "--node=x"]
    options = parser().parse_args(["acceptance", "time", "site", "folder", "T1", "--", *typed])
    assert (options.command, options.node) == (typed, "")


@pytest.mark.parametrize("time", ["2026-12-03T08:00", "yesterday"])
def test_time_without_a_zone_is_refused(time, capsys):
    with pytest.raises(SystemExit):
        parser().parse_args(["acceptance", "time", "site", "folder", "T1", "--since", time])
    assert "expected a time with its zone" in capsys.readouterr().err


def test_other_actions_take_no_command(capsys):
    with pytest.raises(SystemExit):
        parser().parse_args(["acceptance", "plan", "site", "--", "true"])
