"""The command itself: quick to start, each subcommand has its help, and every error is a message and status 2."""

import subprocess
import sys

import pytest

from kappa.app.command import main as command
from kappa.app.command.main import COMMANDS, Command
from kappa.core.ground.errors import InputError
from kappa.core.ground.processes import StoppedError

# Modules that take a tenth of a second or more to load, and modules that load most of the suite.
HEAVY = {
    "bokeh", "duckdb", "jinja2", "msgspec", "numpy", "reframe", "rich", "ruamel", "ruptures", "scipy", "yaml",
}  # fmt: skip
# Its help lists fabrics' variants, which are read with these.
READERS = {"fabric": {"msgspec", "yaml"}}


@pytest.mark.parametrize("name", ["", *sorted(set(COMMANDS) - {"cluster"})])
def test_help_loads_nothing_that_takes_time(name):
    code = (
        "import sys; from kappa.app.command.main import main\n"
        "try: main(sys.argv[1:])\n"
        "except SystemExit: print(*sys.modules, file=sys.stderr)"
    )
    words = filter(None, [name, "--help"])
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=True)
    assert "sys" in done.stderr.split()
    assert not HEAVY.intersection(done.stderr.split()) - READERS.get(name, set())


def test_the_help_lists_every_command(capsys):
    for words in (["--help"], ["help"]):
        with pytest.raises(SystemExit, match="0"):
            command.main(words)
        text = capsys.readouterr().out
        for name, entry in COMMANDS.items():
            assert name in text and entry.summary[:30] in text


@pytest.mark.parametrize("words", [["verdict"], ["nightly", "report"]], ids=" ".join)
def test_help_of_a_command(words, capsys):
    told = []
    for given in ([*words, "--help"], ["help", *words]):
        with pytest.raises(SystemExit, match="0"):
            command.main(given)
        told.append(capsys.readouterr().out)
    assert told[0] == told[1] and f"usage: kappa {' '.join(words)} " in told[0]


def test_help_of_a_command_that_is_not_there(capsys):
    with pytest.raises(SystemExit, match="2"):
        command.main(["help", "verdit"])
    assert "did you mean 'verdict'?" in capsys.readouterr().err


@pytest.mark.parametrize("name", sorted(set(COMMANDS) - {"cluster"}))
def test_every_command_has_a_help_with_its_exit_statuses(name, capsys):
    with pytest.raises(SystemExit, match="0"):
        command.main([name, "--help"])
    text = capsys.readouterr().out
    assert f"usage: kappa {name}" in text
    assert name in ("nightly", "acceptance", "spack") or "Exit status: 0" in text
    assert max(map(len, text.splitlines())) <= 120


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (InputError("x.yaml: line 3: wrong\x1b[2J"), "kappa: error: x.yaml: line 3: wrong\n"),
        (StoppedError("stopped by SIGTERM"), "kappa: error: stopped by SIGTERM\n"),
        (KeyboardInterrupt(), "kappa: error: interrupted\n"),
        (PermissionError(13, "Permission denied", "/x"), "kappa: error: /x: Permission denied\n"),
        (ModuleNotFoundError("No module named 'bokeh'"), "No module named 'bokeh'; the Python environment "),
        (ZeroDivisionError("division by zero"), "ZeroDivisionError: division by zero\nkappa: error: this is a fault"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_goes_wrong_is_status_2_and_a_message(error, words, monkeypatch, capsys):
    class Failing:
        @staticmethod
        def run(arguments):
            raise error

    monkeypatch.setitem(COMMANDS, "failing", Command("failing", ""))
    monkeypatch.setitem(sys.modules, "kappa.app.command.failing", Failing)
    assert command.main(["failing"]) == 2
    found = capsys.readouterr()
    assert words in found.err
    assert ("Traceback" in found.err) is isinstance(error, ZeroDivisionError)


def test_a_command_that_cannot_be_loaded_is_status_2(monkeypatch, capsys):
    monkeypatch.setitem(COMMANDS, "gone", Command("gone", ""))
    assert command.main(["gone"]) == 2
    assert "No module named 'kappa.app.command.gone'; the Python environment" in capsys.readouterr().err
