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
from .files import write
from .stages import Stages

# Share of the limit, and seconds, that are kept for ending, judging and writing.
RESERVE, LONGEST_RESERVE_S = 0.2, 300.0


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
        validate = [repository / "site_configs/validate", options.site, options.mode]
        stages.run([*validate, *options.reframe], repository, {"KAPPA_RUN": str(folder)})
        if options.nights and not stages.cut:
            turns = plan(options, binaries, repository, results, folder, lock)
            record["planned"] = sorted({node for nodes in turns.values() for node in nodes.split(",")})
            keep(folder, record)
            print(f"one by one: {', '.join(record['planned']) or 'no node'}")
            for partition, nodes in turns.items():
                place = folder / "rotation" / partition
                place.mkdir(parents=True)
                select = rotation(options.site, partition, nodes)
                environment = {"KAPPA_RUN": str(place), "KAPPA_UNJUDGED": "yes"}
                stages.run([*validate, *select, *options.reframe], repository, environment)
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


def reports(binaries: pathlib.Path) -> list[str]:
    return [str(binaries / "python"), "-m", "reports"]


def rotation(site: str, partition: str, nodes: str) -> list[str]:
    """What selects every check of one node, on each of ``nodes``.

    One partition at a time: ReFrame 4.10 distributes a check over the nodes of its first partition only.
    """
    return [
        "-t", "scale_one_node", "--distribute=all", f"--system={site}:{partition}", "-J", f"nodelist={nodes}",
    ]  # fmt: skip


def keep(folder: pathlib.Path, record: dict[str, Any]) -> None:
    write(folder / "night.json", json.dumps(record, indent=1) + "\n")
