"""One night, from the first check to the dashboard."""

import argparse
import datetime
import json
import os
import pathlib
import socket
import subprocess
import time
from collections.abc import Callable
from typing import Any

from .errors import NightlyError
from .files import PART, publish, write
from .stages import Stages

# Share of the limit, and seconds, that are kept for ending, judging and writing.
RESERVE, LONGEST_RESERVE_S = 0.2, 300.0
# Folder of the reports on single nodes.
TURNS = "rotation"


def conduct(
    options: argparse.Namespace, repository: pathlib.Path, results: pathlib.Path, lock: int,
    submit_late: Callable[[], str],
) -> int:  # fmt: skip
    """Run a night; returns its exit status. Whatever happens on the way, the dashboard says what is missing.

    :param lock: file descriptor of the night's lock, which all that is started holds, too.
    :param submit_late: submits the next night if that is still to be done; returns why it could not, or nothing.
    """
    binaries = repository / ".venv/bin"
    if not (binaries / "reframe").exists():
        raise NightlyError(
            f"there is no {binaries / 'reframe'}: run `make setup` on Debian, else"
            " `python3 -m venv .venv && .venv/bin/pip install -e .`"
        )
    # Of nights whose conductor was killed, and ReFrame was not.
    for part in results.glob(f"nights/*/{TURNS}/*{PART}"):
        publish(part)
    started = time.time()
    folder = results / "nights" / f"{datetime.datetime.fromtimestamp(started):%Y%m%dT%H%M%S}"
    folder.mkdir(parents=True)
    record = {
        "night": options.night or f"{datetime.date.fromtimestamp(started)}",
        "started": started,
        "deadline": started + options.limit,
        "mode": options.mode,
        "nights": options.nights,
        "host": socket.gethostname(),
        "process": os.getpid(),
        "job": os.environ.get("SLURM_JOB_ID"),
        "planned": [],
        "ended": None,
        "cut": "",
    }
    keep(folder, record)
    print(f"night of {record['night']}: {folder}, progress in night.log there")
    with (folder / "night.log").open("w", encoding="utf-8") as log:
        stages = Stages(started + options.limit - min(LONGEST_RESERVE_S, RESERVE * options.limit), log, lock)
        validate = [repository / "site_configs/validate", options.site, options.mode, *options.reframe]
        stages.run(validate, repository, {"KAPPA_RUN": str(folder)})
        if options.nights and not stages.cut:
            turns = plan(options, binaries, repository, results, folder, lock)
            record["planned"] = sorted({node for nodes in turns.values() for node in nodes.split(",")})
            keep(folder, record)
            print(f"one by one: {', '.join(record['planned']) or 'no node'}")
            (folder / TURNS).mkdir()
            for partition, nodes in turns.items():
                reframe = rotation(options, binaries, repository, folder, partition, nodes)
                # The lock of `validate`, so that none by hand measures meanwhile; what waits for it can be told to end.
                stages.run(["flock", "--no-fork", results / "lock", *reframe], repository, {})
                if not publish(_part(folder, partition)):
                    print(f"ReFrame left no whole report on the single nodes of {partition}", file=log, flush=True)
    keep(folder, {**record, "unscheduled": submit_late(), "ended": time.time(), "cut": stages.cut})
    if stages.cut:
        print(f"the night was cut: {stages.cut}")
    textfile = [f"--textfile={options.textfile}"] if options.textfile else []
    gate = ["--gate"] if options.gate else []
    report = [*reports(binaries), "nightly", options.site, f"--results={results}", *textfile, *gate]
    return subprocess.run(report, cwd=repository, check=False, pass_fds=[lock]).returncode


def plan(
    options: argparse.Namespace, binaries: pathlib.Path, repository: pathlib.Path, results: pathlib.Path,
    folder: pathlib.Path, lock: int,
) -> dict[str, str]:  # fmt: skip
    """The nodes whose turn it is in each partition, as results say; none when there are no results to say it."""
    done = subprocess.run(
        [*reports(binaries), "nightly-plan", options.site, f"--nights={options.nights}", f"--night={folder}",
         f"--results={results}"],
        cwd=repository, stdout=subprocess.PIPE, text=True, check=False, pass_fds=[lock],
    )  # fmt: skip
    return dict(line.split("\t") for line in done.stdout.splitlines())


def _part(folder: pathlib.Path, partition: str) -> pathlib.Path:
    """What ReFrame writes its report to, which has the report's name when all of it is on the disk."""
    return folder / TURNS / f"run-report-{partition}.json{PART}"


def reports(binaries: pathlib.Path) -> list[str]:
    return [str(binaries / "python"), "-m", "reports"]


def rotation(
    options: argparse.Namespace, binaries: pathlib.Path, repository: pathlib.Path, folder: pathlib.Path,
    partition: str, nodes: str,
) -> list[str | pathlib.Path]:  # fmt: skip
    """ReFrame on every check of one node, on each of ``nodes``; what fails is measured again there.

    One partition at a time: ReFrame 4.10 distributes a check over the nodes of its first partition only.
    """
    return [
        binaries / "reframe", "-C", repository / f"site_configs/{options.site}/settings.py", "-c", "reframe_checks",
        "-R", "-r", f"--mode={options.mode}", "-t", "scale_one_node", "--distribute=all",
        f"--system={options.site}:{partition}", "-J", f"nodelist={nodes}", "--max-retries=1",
        f"--report-file={_part(folder, partition)}",
        *options.reframe,
    ]  # fmt: skip


def keep(folder: pathlib.Path, record: dict[str, Any]) -> None:
    write(folder / "night.json", json.dumps(record, indent=1) + "\n")
