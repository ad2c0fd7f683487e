"""``kappa docs``: the list of checks, the page of one, and the nearest name for one that is not there."""

import subprocess
import sys

from kappa.app.command.main import main
from kappa.core.vocabulary.checks import catalogue


def test_the_list_has_every_check_once(capsys):
    assert main(["docs"]) == 0
    names = [line.split()[0] for line in capsys.readouterr().out.splitlines() if line[:3].strip()]
    assert sorted(names) == sorted([*catalogue(), "application", "compute", "network", "node", "storage"])


def test_the_page_of_a_check(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    assert main(["docs", "PairSweep"]) == 0
    told = capsys.readouterr().out
    assert max(map(len, told.splitlines())) <= 60
    for words in (catalogue()["PairSweep"].failure_means, "`worst_loss`, %", "docs/localisation.md"):
        assert words in " ".join(told.split())


def test_a_check_that_is_not_there(capsys):
    assert main(["docs", "PairsSweep\x1b[2J"]) == 2
    said = capsys.readouterr().err
    assert "did you mean 'PairSweep'?" in said and "\x1b" not in said


def test_it_does_without_reframe():
    code = (
        "import sys; from kappa.app.command.main import main\n"
        "main(['docs', 'PairSweep']); print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"reframe", "numpy", "scipy"} & {*done.stderr.split()}
