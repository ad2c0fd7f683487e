"""Progress lines come often at first, then ever more rarely."""

from kappa.app.conduct.session import Progress, cases_done


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
    assert lines[1] == "it: 10 s, about 50 s left"
    assert lines[-1] == "it: 1 min 20 s, longer than usual (1 min 0 s)"


# As ReFrame 4.10 prints it.
PRINTED = """\
[==========] Running 9 check(s)
[ RUN      ] Hpl %scale=each_node /1a2b @embedded:cpu+packaged
[       OK ] ( 1/12) Hpl %scale=each_node /1a2b @embedded:cpu+packaged
P: gflops: 12 GFLOPS (r:0, l:None, u:None)
[     FAIL ] ( 2/12) Fio (99/99) /3c4d @embedded:cpu+packaged
"""


def test_how_many_cases_have_ended(capsys, tmp_path):
    printed = tmp_path / "reframe.out"
    progress = Progress("smoke on here", 60.0, lambda: cases_done(printed))
    progress(5.0)
    printed.write_text(PRINTED)
    progress(10.0)
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["smoke on here: 5 s, about 55 s left", "smoke on here: 10 s, 2 of 12 cases, about 50 s left"]
