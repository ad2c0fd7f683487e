"""Entries for sbatch, scrontab and systemd."""

import datetime
import os
import pwd
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kappa.app.command.main import main
from kappa.app.command.night import duration
from kappa.app.conduct import night_schedule as schedule
from kappa.core.ground.errors import InputError
from tests.unit.nightly.samples import parse

NOW = datetime.datetime(2026, 11, 21, 2, 0, 5)
PROGRAM = Path("/opt/kappa/.venv/bin/kappa")
LOG = Path("/results/nightly/log")


def options(*more):
    return parse(["schedule", "mycluster", "sbatch", *more])


def command(chosen):
    return schedule.night_command(chosen, PROGRAM)


def sbatch(*more):
    chosen = options(*more)
    return schedule.sbatch(chosen, command(chosen), LOG, NOW)


@pytest.mark.parametrize(
    ("now", "expected"), [("2026-11-21T01:59", "2026-11-21T02:00"), ("2026-11-21T02:00", "2026-11-22T02:00")]
)
def test_next_begin_is_never_now(now, expected):
    found = schedule.next_begin(datetime.datetime.fromisoformat(now), datetime.time(2))
    assert found == datetime.datetime.fromisoformat(expected)


def test_sbatch_is_bounded_alone_warned_and_begins_tomorrow():
    call = sbatch("--limit=4h", "--slurm=--partition=service")
    for option in (
        "--begin=2026-11-22T02:00:00", "--dependency=singleton", "--job-name=kappa-nightly-mycluster", "--time=4:01:30",
        "--signal=B:TERM@90", "--requeue", "--partition=service",
    ):  # fmt: skip
        assert option in call


def test_sbatch_night_submits_the_next_with_the_same_options():
    given = ["--at=03:30", "--limit=2h", "--nights=14", "--mode=smoke", "--slurm=--account=a b", "--textfile=/a b"]
    given += ["--gate", "--repeats=2"]
    line = next(part for part in sbatch(*given, "--", "-n", "Osu x") if part.startswith("--wrap="))
    wrapped = shlex.split(line.rpartition("; exec ")[2])
    assert wrapped[:4] == [str(PROGRAM), "night", "run", "mycluster"]
    again, first = vars(parse(wrapped[2:])), vars(options(*given, "--", "-n", "Osu x"))
    for one in ("limit", "nights", "repeats", "mode", "textfile", "gate", "at", "slurm", "reframe", "site"):
        assert again[one] == first[one]
    assert again["resubmit"]


def test_options_reach_no_shell():
    evil = "$(touch /tmp/evil); `id` 'quote'"
    wrapped = next(part for part in sbatch("--", evil) if part.startswith("--wrap="))[7:]
    assert shlex.split(wrapped)[-1] == evil


def test_scrontab_replaces_only_its_own_entry():
    chosen = options("--at=03:30")
    others = "MAILTO=ops\n#SCRON --time=1\n0 1 * * * /bin/backup\n"
    once = schedule.scrontab(chosen, command(chosen), LOG, others)
    assert once.startswith(others)
    assert "; exec /opt/kappa/.venv/bin/kappa night run mycluster" in once
    assert once.count("\n30 3 * * * ") == 1
    assert "#SCRON --dependency=singleton" in once
    later = options("--at=04:00")
    twice = schedule.scrontab(later, command(later), LOG, once)
    assert twice.startswith(others)
    assert "30 3 * * *" not in twice
    assert twice.count("kappa-nightly-mycluster: begin") == 1


@pytest.mark.parametrize("where", [["--slurm=a\n0 0 * * * evil"], ["--", "a\nb"]])
@pytest.mark.parametrize("kind", [schedule.scrontab, schedule.sbatch])
def test_line_breaks_are_refused(kind, where):
    chosen = options(*where)
    with pytest.raises(InputError, match="line break"):
        kind(chosen, command(chosen), LOG, "" if kind is schedule.scrontab else NOW)


def test_systemd_units_are_bounded_and_expand_nothing():
    chosen = options("--limit=2h", "--", "-n", r"50%$HOME\d")
    text = schedule.systemd(chosen, command(chosen), Path("/opt/kappa"), "a%b")
    assert "TimeoutStartSec=7290" in text
    assert "\nUser=a%%b\n" in text
    assert "OnCalendar=*-*-* 02:00:00" in text
    assert r"'50%%$$HOME\\d'" in text


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="not provided here: systemd-analyze")
def test_systemd_accepts_the_units(tmp_path):
    chosen = options("--limit=2h", "--", "-n", r"50%$HOME\d")
    # systemd looks whether the program is there.
    text = schedule.systemd(chosen, [sys.executable, *command(chosen)[1:]], tmp_path, "daemon")
    units = [part.partition("\n")[::2] for part in text.split("# /etc/systemd/system/")[1:]]
    for name, unit in units:
        (tmp_path / name).write_text(unit)
    paths = [str(tmp_path / name) for name, _ in units]
    done = subprocess.run(["systemd-analyze", "verify", *paths], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert [Path(path).suffix for path in paths] == [".service", ".timer"]


@pytest.mark.parametrize(("text", "seconds"), [("4h", 14400), ("1h30m", 5400), ("45s", 45), ("90m", 5400)])
def test_durations(text, seconds):
    assert duration(text) == seconds


@pytest.mark.parametrize(
    "arguments",
    [["--limit=soon"], ["--limit=1s"], ["--limit="], ["--at=25:00"], ["--nights=-1"], ["--repeats=0"], ["--repeats=x"]],
)
def test_bad_options_say_what_is_expected(arguments, capsys):
    with pytest.raises(SystemExit):
        options(*arguments)
    assert "expected a" in capsys.readouterr().err


@pytest.mark.parametrize("site", ["../../etc", "a/b", ".hidden"])
def test_a_site_is_a_plain_name(site, capsys):
    assert main(["night", "schedule", site, "systemd"]) == 2
    said = capsys.readouterr()
    assert said.out == "" and site in said.err


def test_a_name_that_a_shell_would_read_is_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    hostile = tmp_path / "site_configs" / "a; touch planted"
    hostile.mkdir(parents=True)
    (hostile / "settings.py").touch()
    assert main(["night", "schedule", str(hostile), "systemd"]) == 2
    said = capsys.readouterr()
    assert said.out == "" and "as a name" in said.err


def nightly(*arguments):
    command = [sys.executable, "-m", "kappa.app.command.main", "night", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_unit_runs_as_who_prints_it():
    done = nightly("schedule", "embedded", "systemd")
    assert f"\nUser={pwd.getpwuid(os.getuid()).pw_name}\n" in done.stdout


@pytest.mark.parametrize(
    ("python", "status", "words"),
    [
        (None, 2, "kappa cannot start: its Python environment is missing"),
        ("echo 'SyntaxError: of Python 3.9' >&2; exit 1", 2, "older than Python 3.11; make a new one with `make"),
        ("exit 0", 7, ""),
    ],
)
def test_a_scheduled_night_without_its_python_environment_says_so(tmp_path, python, status, words):
    for name, script in (("python", python), ("kappa", "exit 7")):
        if script:
            (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
            (tmp_path / name).chmod(0o755)
    chosen = options()
    line = shlex.join(schedule.night_command(chosen, tmp_path / "kappa"))
    done = subprocess.run(
        ["sh", "-c", schedule.guarded(line, tmp_path / "kappa")], capture_output=True, text=True, check=False
    )
    assert (done.returncode, words in done.stderr) == (status, True)


def test_an_unknown_site_is_named():
    done = nightly("run", "nowhere")
    assert done.returncode == 2
    assert "there is no site 'nowhere': " in done.stderr
