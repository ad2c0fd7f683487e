"""One night, from the first check to the dashboard."""

import argparse
import contextlib
import datetime
import json
import os
import pathlib
import socket
import subprocess
import time
from typing import Any

from .errors import NightlyError
from .stages import Stages

# Share of the limit, and seconds, that are kept for ending, judging and writing.
RESERVE, LONGEST_RESERVE_S = 0.2, 300.0


def conduct(options: argparse.Namespace, repository: pathlib.Path, results: pathlib.Path) -> int:
    """Run a night; returns its exit status. Whatever happens on the way, the dashboard says what is missing."""
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
    write(folder, record)
    print(f"night of {record['night']}: {folder}, progress in night.log there")
    with (folder / "night.log").open("w", encoding="utf-8") as log:
        stages = Stages(started + options.limit - min(LONGEST_RESERVE_S, RESERVE * options.limit), log)
        validate = [repository / "site_configs/validate", options.site, options.mode]
        stages.run([*validate, *options.reframe], repository, {"KAPPA_RUN": str(folder)})
        if options.nights and not stages.cut:
            turns = plan(options, binaries, repository, results, folder)
            record["planned"] = sorted({node for nodes in turns.values() for node in nodes.split(",")})
            write(folder, record)
            print(f"one by one: {', '.join(record['planned']) or 'no node'}")
            for partition, nodes in turns.items():
                place = folder / "rotation" / partition
                place.mkdir(parents=True)
                select = rotation(options.site, partition, nodes)
                environment = {"KAPPA_RUN": str(place), "KAPPA_UNJUDGED": "yes"}
                stages.run([*validate, *select, *options.reframe], repository, environment)
    write(folder, {**record, "ended": time.time(), "cut": stages.cut})
    if stages.cut:
        print(f"the night was cut: {stages.cut}")
    textfile = [f"--textfile={options.textfile}"] if options.textfile else []
    report = [*reports(binaries), "nightly", options.site, f"--results={results}", *textfile]
    return subprocess.run(report, cwd=repository, check=False).returncode


def plan(
    options: argparse.Namespace, binaries: pathlib.Path, repository: pathlib.Path, results: pathlib.Path,
    folder: pathlib.Path,
) -> dict[str, str]:  # fmt: skip
    """The nodes whose turn it is in each partition, as results say; none when there are no results to say it."""
    done = subprocess.run(
        [*reports(binaries), "nightly-plan", options.site, f"--nights={options.nights}", f"--night={folder}",
         f"--results={results}"],
        cwd=repository, stdout=subprocess.PIPE, text=True, check=False,
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


def write(folder: pathlib.Path, record: dict[str, Any]) -> None:
    """The record as a whole or not at all, on the disk before it has its name: `reports` is not at hand here."""
    part = folder / ".night.json.part"
    with part.open("w", encoding="utf-8") as file:
        file.write(json.dumps(record, indent=1) + "\n")
        file.flush()
        os.fsync(file.fileno())
    part.replace(folder / "night.json")
    handle = os.open(folder, os.O_RDONLY)
    try:
        # Storage that cannot do it keeps the record before, which is whole.
        with contextlib.suppress(OSError):
            os.fsync(handle)
    finally:
        os.close(handle)
