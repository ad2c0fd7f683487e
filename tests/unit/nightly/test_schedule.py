"""What sbatch, scrontab and systemd are told."""

import datetime
import os
import pwd
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from site_configs.nightly_lib import schedule
from site_configs.nightly_lib.errors import NightlyError
from site_configs.nightly_lib.options import duration, parse

NOW = datetime.datetime(2026, 11, 21, 2, 0, 5)
PROGRAM = Path("/opt/kappa/site_configs/nightly")
LOG = Path("/results/nightly/log")


def options(*more):
    return parse(["mycluster", *more])


def command(chosen):
    return schedule.night_command(chosen, PROGRAM, named=True)


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
    given += ["--gate"]
    wrapped = shlex.split(next(part for part in sbatch(*given, "--", "-n", "Osu x") if part.startswith("--wrap="))[7:])
    assert wrapped[:3] == ["exec", str(PROGRAM), "mycluster"]
    again = parse(wrapped[2:])
    first = parse(["mycluster", *given, "--", "-n", "Osu x"])
    first.resubmit = True
    assert vars(again) == vars(first)


def test_options_reach_no_shell():
    evil = "$(touch /tmp/evil); `id` 'quote'"
    wrapped = next(part for part in sbatch("--", evil) if part.startswith("--wrap="))[7:]
    assert shlex.split(wrapped)[-1] == evil


def test_scrontab_replaces_only_its_own_entry():
    chosen = options("--at=03:30")
    others = "MAILTO=ops\n#SCRON --time=1\n0 1 * * * /bin/backup\n"
    once = schedule.scrontab(chosen, command(chosen), LOG, others)
    assert once.startswith(others)
    assert "30 3 * * * /opt/kappa/site_configs/nightly mycluster" in once
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
    with pytest.raises(NightlyError, match="line break"):
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


@pytest.mark.parametrize("arguments", [["--limit=soon"], ["--limit=1s"], ["--limit="], ["--at=25:00"], ["--nights=-1"]])
def test_bad_options_say_what_is_expected(arguments, capsys):
    with pytest.raises(SystemExit):
        options(*arguments)
    assert "expected a" in capsys.readouterr().err


@pytest.mark.parametrize("site", ["../../etc", "a/b", ".hidden"])
def test_a_site_is_a_plain_name(site, capsys):
    with pytest.raises(SystemExit):
        parse([site])
    assert "expected the name of a folder" in capsys.readouterr().err


def nightly(*arguments):
    program = Path(__file__).parents[3] / "site_configs/nightly"
    return subprocess.run([sys.executable, program, *arguments], capture_output=True, text=True, check=False)


def test_the_unit_runs_as_who_prints_it():
    done = nightly("embedded", "--schedule=systemd")
    assert f"\nUser={pwd.getpwuid(os.getuid()).pw_name}\n" in done.stdout


@pytest.mark.parametrize(
    ("prepared", "status", "words"), [(True, 0, "/nightly mycluster --limit=2h"), (False, 1, "3.11 or newer is needed")]
)
def test_an_old_python3_leaves_the_night_to_that_of_the_venv(tmp_path, prepared, status, words):
    program, python = tmp_path / "site_configs/nightly", tmp_path / ".venv/bin/python"
    program.parent.mkdir()
    shutil.copy(Path(__file__).parents[3] / "site_configs/nightly", program)
    if prepared:
        python.parent.mkdir(parents=True)
        python.write_text('#!/bin/sh\necho "$@"\n')
        python.chmod(0o755)
    old = "import runpy, sys; sys.version_info = (3, 6); sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0])"
    done = subprocess.run(
        [sys.executable, "-c", old, program, "mycluster", "--limit=2h"], capture_output=True, text=True, check=False
    )
    assert done.returncode == status
    assert words in done.stdout + done.stderr


def test_an_unknown_site_is_named():
    done = nightly("nowhere")
    assert done.returncode == 2
    assert "nowhere/settings.py" in done.stderr
