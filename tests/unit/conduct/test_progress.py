"""Nobody waits in silence, and nobody is told every second."""

from kappa.conduct.progress import Progress


def said(capsys, progress, until_s):
    for passed_s in range(5, until_s, 5):
        progress(float(passed_s))
    return capsys.readouterr().err.splitlines()


def test_lines_come_ever_more_seldom(capsys):
    lines = said(capsys, Progress("smoke on here"), 300)
    assert lines[:3] == ["smoke on here: 5 s", "smoke on here: 10 s", "smoke on here: 20 s"]
    assert lines[-1] == "smoke on here: 4 min 20 s" and len(lines) == 8


def test_what_is_left_where_it_is_known(capsys):
    lines = said(capsys, Progress("it", 60.0), 100)
    assert lines[1] == "it: 10 s, some 50 s left"
    assert lines[-1] == "it: 1 min 20 s, longer than the usual 1 min 0 s"
