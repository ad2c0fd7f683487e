"""Options that `kappa validate` takes itself, and options that it passes on to ReFrame."""

import pytest

from kappa.app.command.main import main
from kappa.core.ground.errors import InputError

OF_REFRAME = ["-x", "OsuLatency", "--repeat=2", "--nocolor"]


@pytest.mark.parametrize(
    "given",
    [
        ["nightly", "--plan", "--cases", *OF_REFRAME], ["nightly", *OF_REFRAME, "--cases", "--plan"],
        ["--plan", *OF_REFRAME], ["nightly", "--plan", "--nights=3", *OF_REFRAME], ["--", *OF_REFRAME],
        ["nightly", "--", *OF_REFRAME], ["nightly", "--spec=ior", "--budget", "5", *OF_REFRAME],
    ],
    ids=" ".join,
)  # fmt: skip
def test_an_option_that_kappa_does_not_know_is_for_reframe(given, monkeypatch):
    seen = []

    def stop(site, results, mode, options):
        seen.append((mode, options))
        raise InputError("seen")

    monkeypatch.setenv("KAPPA_SPACK_SPEC", "")  # `--spec` sets it
    monkeypatch.setattr("kappa.app.conduct.preflight.require_sense", stop)
    assert main(["validate", "embedded", *given]) == 2
    assert seen == [("nightly", OF_REFRAME)]


@pytest.mark.parametrize(
    ("given", "said"), [(["--cases"], "--cases needs --plan"), (["--plan", "--spec=ior"], "--spec is not for --plan")]
)
def test_options_that_do_not_go_together_are_refused(given, said, capsys):
    assert main(["validate", "embedded", "smoke", *given]) == 2
    assert said in capsys.readouterr().err
