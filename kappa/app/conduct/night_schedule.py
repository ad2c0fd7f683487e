"""Schedule a night for every night, with sbatch, scrontab or systemd."""

import argparse
import datetime
import os
import pathlib
import shlex
import subprocess
import tempfile

from kappa.core.ground.errors import InputError
from kappa.core.ground.folders import SITES_VARIABLE
from kappa.core.ground.processes import user_name
from kappa.core.ground.whole_files import make_folder

SCHEDULES = ("scrontab", "sbatch", "systemd")
# Slurm warns the night so many seconds before the walltime. The night should have ended before.
WARNING_S = 90


def job_name(site: str) -> str:
    return f"kappa-nightly-{site}"


def next_begin(now: datetime.datetime, at: datetime.time) -> datetime.datetime:
    """Return the next time at which the clock shows ``at``."""
    today = now.replace(hour=at.hour, minute=at.minute, second=0, microsecond=0)
    return today if today > now else today + datetime.timedelta(days=1)


def walltime(seconds: int) -> str:
    """Return the duration in Slurm's format ``hours:minutes:seconds``."""
    return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def night_command(options: argparse.Namespace, program: pathlib.Path) -> list[str]:
    """Return the command of one night. ``program`` is the ``kappa`` of a Python environment."""
    sites = os.environ.get(SITES_VARIABLE)
    # A scheduler does not pass on this shell's variables.
    command = [str(program), *([f"--sites={pathlib.Path(sites).absolute()}"] if sites else [])]
    command += ["night", "run", options.site]
    command += [f"--limit={options.limit}s", f"--nights={options.nights}", f"--repeats={options.repeats}"]
    command += [f"--mode={options.mode}"]
    command += [f"--budget={options.budget:g}"] if options.budget is not None else []
    command += [f"--textfile={options.textfile}"] if options.textfile else []
    command += ["--gate"] if options.gate else []
    # The URL of a webhook stays in its file: everybody sees the command of a job.
    command += [f"--webhook-file={options.webhook_file}"] if options.webhook_file else []
    command += [f"--mail={address}" for address in options.mail]
    command += [f"--smtp={options.smtp}"] if options.smtp else []
    command += [f"--alert={options.alert}"] if options.mail or options.webhook_file else []
    command += ["--insecure"] if options.insecure else []
    command += [f"--link={options.link}"] if options.link else []
    return command


def with_reframe_options(command: list[str], options: argparse.Namespace) -> str:
    words = [*command, *(["--", *options.reframe] if options.reframe else [])]
    _require_one_line(words)
    return shlex.join(words)


def guarded(line: str, program: pathlib.Path) -> str:
    """Return a shell line that runs ``line``, or prints a message and exits with 2 if ``program`` cannot start."""
    python = shlex.quote(str(program.with_name("python")))
    problem = shlex.quote(
        f"kappa: error: {program} cannot start: its Python environment is missing, broken or older than Python 3.11;"
        " make a new one with `make setup`, or `python3 -m venv .venv && .venv/bin/pip install -e .`"
    )
    # `exec`, so that Slurm's signal reaches the night and not a shell.
    return f"{python} -I -c 'import kappa.app.command.main' || {{ echo {problem} >&2; exit 2; }}; exec {line}"


def _require_one_line(words: list[str]) -> None:
    if any("\n" in word or "\r" in word for word in words):
        raise InputError("an option contains a line break, which a schedule cannot hold: remove it")


def resubmission(options: argparse.Namespace) -> list[str]:
    """Return the options with which a night of an sbatch chain submits the next one."""
    return ["--resubmit", f"--at={options.at:%H:%M}", *(f"--slurm={option}" for option in options.slurm)]


def slurm_options(options: argparse.Namespace, log: pathlib.Path) -> list[str]:
    """Return sbatch's options: time limit, warning before the end, one night at a time, restart if its node fails."""
    _require_one_line(options.slurm)
    return [
        f"--job-name={job_name(options.site)}",
        "--dependency=singleton",
        "--ntasks=1",
        f"--time={walltime(options.limit + WARNING_S)}",
        f"--signal=B:TERM@{WARNING_S}",
        "--requeue",
        "--open-mode=append",
        f"--output={log}",
        *options.slurm,
    ]


def sbatch(options: argparse.Namespace, command: list[str], log: pathlib.Path, now: datetime.datetime) -> list[str]:
    """Return the ``sbatch`` command of the next night, which then submits the one after it."""
    begin = next_begin(now, options.at)
    line = with_reframe_options([*command, *resubmission(options)], options)
    return [
        "sbatch", "--parsable", f"--begin={begin:%Y-%m-%dT%H:%M:%S}", *slurm_options(options, log),
        f"--wrap={guarded(line, pathlib.Path(command[0]))}",
    ]  # fmt: skip


def scrontab(options: argparse.Namespace, command: list[str], log: pathlib.Path, present: str) -> str:
    """Return the scrontab ``present`` with the site's entry added or replaced."""
    first, last = (f"# {job_name(options.site)}: {edge}" for edge in ("begin", "end"))
    lines = present.splitlines()
    if first in lines and last in lines:
        del lines[lines.index(first) : lines.index(last) + 1]
    line = guarded(with_reframe_options(command, options), pathlib.Path(command[0]))
    entry = [first, *(f"#SCRON {shlex.quote(option)}" for option in slurm_options(options, log))]
    entry += [f"{options.at.minute} {options.at.hour} * * * {line}", last]
    return "\n".join([*lines, *entry]) + "\n"


def systemd(options: argparse.Namespace, command: list[str], folder: pathlib.Path, user: str) -> str:
    """Return a service of ``user`` and a timer, for /etc/systemd/system."""
    name = job_name(options.site)
    # systemd expands %, $ and backslashes in a command, even in quotes.
    line = with_reframe_options(command, options).replace("\\", "\\\\").replace("%", "%%").replace("$", "$$")
    return f"""\
# /etc/systemd/system/{name}.service
[Unit]
Description=Kappa: nightly validation of {options.site}
After=network-online.target

[Service]
Type=oneshot
# Not root, as it would be without.
User={user.replace("%", "%%")}
WorkingDirectory={str(folder).replace("%", "%%")}
ExecStart={line}
TimeoutStartSec={options.limit + WARNING_S}
KillMode=mixed
# FAIL and INCOMPLETE are verdicts, not failures of the service.
SuccessExitStatus=1 2 75

# /etc/systemd/system/{name}.timer
[Unit]
Description=Kappa: nightly validation of {options.site}

[Timer]
OnCalendar=*-*-* {options.at:%H:%M}:00
Persistent=true

[Install]
WantedBy=timers.target

# systemctl daemon-reload && systemctl enable --now {name}.timer
"""


def install(options: argparse.Namespace, command: list[str], folder: pathlib.Path, results: pathlib.Path) -> None:
    """Install the schedule ``options.schedule``, or print it with ``dry_run``."""
    if options.schedule == "systemd":
        print(systemd(options, command, folder, user_name()), end="")
        return
    if not options.dry_run:
        make_folder(results / "nightly")
    log = results / "nightly" / f"{options.schedule}.log"
    if options.schedule == "sbatch":
        submit_next(options, command, log)
    else:
        _install_scrontab(options, command, log)


def submit_next(options: argparse.Namespace, command: list[str], log: pathlib.Path) -> None:
    """Submit the next night, unless it is submitted already, as after Slurm restarted this night."""
    now = datetime.datetime.now()
    call = sbatch(options, command, log, now)
    if options.dry_run:
        from kappa.core.sites.site_file import CLUSTER_VARIABLE  # noqa: PLC0415 (--help does without)

        cluster = os.environ.get(CLUSTER_VARIABLE)
        print(shlex.join([*(["env", f"{CLUSTER_VARIABLE}={cluster}"] if cluster else []), *call]))
        return
    name = job_name(options.site)
    pending = _output("squeue", "--me", "--noheader", "--states=PENDING", f"--name={name}", "--format=%i").split()
    if pending:
        print(f"the next night is submitted already: job {', '.join(pending)} (scancel it to schedule a new one)")
        return
    # With several clusters, sbatch adds `;CLUSTER`.
    job = _output(*call).strip().partition(";")[0]
    print(f"night submitted: job {job} starts at {next_begin(now, options.at):%Y-%m-%d %H:%M} and submits the next one")


def _install_scrontab(options: argparse.Namespace, command: list[str], log: pathlib.Path) -> None:
    if options.dry_run:
        print(scrontab(options, command, log, ""), end="")
        return
    listed = subprocess.run(["scrontab", "-l"], capture_output=True, text=True, check=False)
    if listed.returncode and "no crontab" not in listed.stderr.lower():
        raise InputError(f"scrontab -l: {listed.stderr.strip()}; is ScronParameters=enable set in slurm.conf?")
    with tempfile.NamedTemporaryFile("w", encoding="utf-8") as file:
        file.write(scrontab(options, command, log, listed.stdout if not listed.returncode else ""))
        file.flush()
        _output("scrontab", file.name)
    print(f"installed in your scrontab: every day at {options.at:%H:%M}; edit or remove it with `scrontab -e`")


def _output(*command: str) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except FileNotFoundError:
        raise InputError(f"there is no {command[0]} on PATH: load Slurm's module") from None
    except subprocess.CalledProcessError as err:
        raise InputError(f"{command[0]}: {err.stderr.strip()}") from None
