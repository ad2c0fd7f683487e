"""Arranges that a night runs every night."""

import argparse
import datetime
import os
import pathlib
import shlex
import subprocess
import tempfile

from kappa.app.conduct import night_schedule as schedule
from kappa.core.ground.errors import InputError
from kappa.core.ground.user_name import user_name
from kappa.core.ground.whole_files import make_folder
from kappa.core.sites.site_file import CLUSTER_VARIABLE


def install(options: argparse.Namespace, command: list[str], folder: pathlib.Path, results: pathlib.Path) -> None:
    """Do what ``options.schedule`` asks for, or with ``dry_run`` say it."""
    if options.schedule == "systemd":
        print(schedule.systemd(options, command, folder, user_name()), end="")
        return
    if not options.dry_run:
        make_folder(results / "nightly")
    log = results / "nightly" / f"{options.schedule}.log"
    if options.schedule == "sbatch":
        submit_next(options, command, log)
    else:
        _install_scrontab(options, command, log)


def submit_next(options: argparse.Namespace, command: list[str], log: pathlib.Path) -> None:
    """Submit the next night, unless it is submitted already: a night that Slurm starts again comes here twice."""
    now = datetime.datetime.now()
    call = schedule.sbatch(options, command, log, now)
    if options.dry_run:
        cluster = os.environ.get(CLUSTER_VARIABLE)
        print(shlex.join([*(["env", f"{CLUSTER_VARIABLE}={cluster}"] if cluster else []), *call]))
        return
    name = schedule.job_name(options.site)
    pending = _output("squeue", "--me", "--noheader", "--states=PENDING", f"--name={name}", "--format=%i").split()
    if pending:
        print(f"the next night waits already: job {', '.join(pending)} (scancel it to schedule anew)")
        return
    # With the cluster's name behind it where there are several.
    job = _output(*call).strip().partition(";")[0]
    print(f"night submitted: job {job}, begins {schedule.next_begin(now, options.at):%Y-%m-%d %H:%M}, submits the next")


def _install_scrontab(options: argparse.Namespace, command: list[str], log: pathlib.Path) -> None:
    if options.dry_run:
        print(schedule.scrontab(options, command, log, ""), end="")
        return
    listed = subprocess.run(["scrontab", "-l"], capture_output=True, text=True, check=False)
    if listed.returncode and "no crontab" not in listed.stderr.lower():
        raise InputError(f"scrontab -l: {listed.stderr.strip()}; is ScronParameters=enable set in slurm.conf?")
    with tempfile.NamedTemporaryFile("w", encoding="utf-8") as file:
        file.write(schedule.scrontab(options, command, log, listed.stdout if not listed.returncode else ""))
        file.flush()
        _output("scrontab", file.name)
    print(f"installed in your scrontab: every day at {options.at:%H:%M}; `scrontab -e` removes it")


def _output(*command: str) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except FileNotFoundError:
        raise InputError(f"there is no {command[0]} on PATH") from None
    except subprocess.CalledProcessError as err:
        raise InputError(f"{command[0]}: {err.stderr.strip()}") from None
