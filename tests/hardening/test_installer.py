"""Output of Spack and of the programs that it builds is shown line by line, cleaned and shortened."""

import io
import sys

from spack_envs.installer import build_log, cli, spack

PROGRAM = r"""print("\x1b]0;owned\x07\x1b[2Jerror: bad \u202eflag\n" + "x" * 300_000)"""


class Stub(spack.Spack):
    command = (sys.executable, "-c", PROGRAM)
    variables = {"PYTHONIOENCODING": "utf-8"}

    def __init__(self):
        pass


def test_output_is_shown_clean_and_kept_whole(tmp_path, capsys):
    Stub().run(log=tmp_path / "install.log")
    shown = capsys.readouterr().out
    assert "error: bad flag" in shown
    assert not set(shown) & {"\x1b", "\x07", "\u202e"}
    assert max(map(len, shown.splitlines())) <= build_log.SHOWN + 2
    log = (tmp_path / "install.log").read_text()
    assert "\x1b[2J" in log
    assert log.count("x") == 300_000


def test_the_first_error_is_clean_and_cut(tmp_path):
    (tmp_path / "log").write_text(f"fatal error: \x1b]0;owned\x07\x1b[31mno \u202e{'x' * 100_000}")
    found = build_log.first_error(tmp_path / "log")
    assert found.startswith("fatal error: no xxx")
    assert len(found) == build_log.SHOWN


def test_a_line_without_end_comes_in_pieces():
    found = list(build_log.pieces(io.StringIO("x" * 300_000 + "\ny")))
    assert max(map(len, found)) < 100_000
    assert "".join(found) == "x" * 300_000 + "\ny"


def test_the_reason_why_it_failed_is_clean(monkeypatch, capsys):
    def fail(_):
        raise spack.InstallError("no \x1b[2Juse")

    monkeypatch.setattr(cli, "_act", fail)
    assert cli.main(["embedded", "app"]) != 0
    assert capsys.readouterr().err == "install: no use\n"
