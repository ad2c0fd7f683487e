"""The command itself: quick to start, each subcommand has its help, and every error is a message and status 2."""

import argparse
import subprocess
import sys

import pytest

from kappa.app.command import main as command
from kappa.app.command.main import FORMER, GROUPS
from kappa.core.ground.errors import InputError
from kappa.core.ground.processes import StoppedError

# Modules that take a tenth of a second or more to load, and modules that load most of the suite.
HEAVY = {
    "bokeh", "duckdb", "jinja2", "msgspec", "numpy", "reframe", "rich", "ruamel", "ruptures", "scipy", "yaml",
}  # fmt: skip
# Its help lists the variants of fabrics, which are read with these.
READERS = {"fabric platform": {"msgspec", "yaml"}}
OTHER_PROGRAMS = {"cluster", "spack install"}


def commands(parser, *words):
    """Yield the words of every command and group below ``parser``."""
    parser.declare()
    positional = [action.metavar for action in parser._actions if not action.option_strings]
    words = (*words, *(metavar for metavar in positional if metavar == "DIR"))
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, below in action.choices.items():
                if " ".join((*words, name)) not in FORMER:
                    yield (*words, name)
                    yield from commands(below, *words, name)


EVERY = [words for words in commands(command.parser()) if " ".join(words) not in OTHER_PROGRAMS]


def help_of(words, capsys):
    with pytest.raises(SystemExit, match="0"):
        command.main([*words, "--help"])
    return capsys.readouterr().out


@pytest.mark.parametrize("words", [(), *EVERY], ids=" ".join)
def test_help_loads_nothing_that_takes_time(words):
    code = (
        "import sys; from kappa.app.command.main import main\n"
        "try: main(sys.argv[1:])\n"
        "except SystemExit: print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code, *words, "--help"], capture_output=True, text=True, check=True)
    assert "sys" in done.stderr.split()
    assert not HEAVY.intersection(done.stderr.split()) - READERS.get(" ".join(words), set())


def test_the_help_fits_on_one_screen_and_lists_every_command(capsys):
    lines = help_of((), capsys).splitlines()
    assert len(lines) <= 40 and max(map(len, lines)) <= 80
    names = [name for group in GROUPS.values() for name in group]
    assert len(names) == 16
    assert [line.split()[0] for line in lines if line.startswith("  ") and line.split()[0] in names] == names


@pytest.mark.parametrize("words", [["show"], ["night", "report"]], ids=" ".join)
def test_help_of_a_command(words, capsys):
    told = help_of(words, capsys)
    with pytest.raises(SystemExit, match="0"):
        command.main(["help", *words])
    assert capsys.readouterr().out == told and f"usage: kappa {' '.join(words)} " in told


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["help", "nod"], "did you mean 'node'?"),
        (["node", "quarantin"], "did you mean 'quarantine'?"),
        (["runs", "embedded", "--newst"], "usage: kappa runs "),
        (["night"], "required: ACTION"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_wrong_word_is_refused_with_the_usage(words, message, capsys):
    with pytest.raises(SystemExit, match="2"):
        command.main(words)
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("words", EVERY, ids=" ".join)
def test_every_command_has_a_help_with_its_exit_statuses(words, capsys):
    text = help_of(words, capsys)
    assert f"usage: kappa {' '.join(words)}" in text
    assert "ACTION" in text or words[0] in ("acceptance", "fabric", "site") or "Exit status" in text
    assert max(map(len, text.splitlines())) <= 120


@pytest.mark.parametrize("name", sorted(set(FORMER) - {"nightly"}))
def test_a_former_name_answers_with_the_new_one(name, capsys):
    assert command.main([name, "embedded", "a b"]) == 2
    assert (FORMER[name] or "no longer has") in capsys.readouterr().err


@pytest.mark.parametrize("new", sorted(new for new in FORMER.values() if new.startswith("kappa ")))
def test_the_new_name_of_a_former_command_is_a_command(new, capsys):
    assert help_of([word for word in new.split()[1:] if word != "SITE"], capsys)


def test_a_former_schedule_still_runs(capsys):
    assert command.main(["nightly", "run", "no such site"]) == 2
    error = capsys.readouterr().err
    assert "is now `kappa night run 'no such site'`" in error and "there is no site" in error


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
    def fail(options):
        raise error

    monkeypatch.setitem(GROUPS["a run"], "failing", ("", lambda to: to.describe("", fail)))
    assert command.main(["failing"]) == 2
    found = capsys.readouterr()
    assert words in found.err
    assert ("Traceback" in found.err) is isinstance(error, ZeroDivisionError)


def test_a_command_that_cannot_be_loaded_is_status_2(monkeypatch, capsys):
    monkeypatch.setitem(GROUPS["a run"], "gone", ("", "gone"))
    assert command.main(["gone"]) == 2
    assert "No module named 'kappa.app.command.gone'; the Python environment" in capsys.readouterr().err
