"""One night, from the first check to the dashboard."""

import argparse
import contextlib
import dataclasses
import datetime
import json
import os
import pathlib
import socket
import time
import traceback
from collections.abc import Callable, Iterator
from typing import IO, Any

from kappa.app.conduct.budget import reframe_options, within
from kappa.app.conduct.night_actions import NightActions
from kappa.app.conduct.preflight import require_ready
from kappa.app.conduct.retention import tidy
from kappa.app.conduct.session import Conductor, recover, reframe
from kappa.app.conduct.validation import REPORT, Validation, using
from kappa.core.ground.errors import InputError
from kappa.core.ground.locks import LockedError, locked
from kappa.core.ground.processes import StoppedError, stopping
from kappa.core.ground.whole_files import make_folder, write_atomically
from kappa.core.vocabulary.many_nodes import TAG, shares
from kappa.core.vocabulary.scales import ONE_NODE
from reports.nightly.publish import publish
from reports.nightly.turns import turns
from reports.plan.listing import show_selection

# Share of the limit, and seconds, that are kept for ending, judging and writing.
RESERVE, LONGEST_RESERVE_S = 0.2, 300.0
# Seconds within which ReFrame has to cancel its jobs: Slurm's warning comes not much earlier than its end.
PATIENCE_S = 60.0


class BusyError(Exception):
    """Another night of the site is running; the message says which."""


@contextlib.contextmanager
def only_one(results: pathlib.Path) -> Iterator[int]:
    """Hold the lock of a site's nights; gives the file descriptor, which what is started has to inherit.

    Else a night whose conductor was killed would measure on beside the next one.

    :raises BusyError: another night holds it.
    :raises InputError: the storage cannot be written or has no locks.
    """
    with contextlib.ExitStack() as stack:
        try:
            lock = stack.enter_context(locked(results / "nightly/.lock"))
        except LockedError as err:
            raise BusyError(f"another night is running, or what it left ({err.holder})") from None
        yield lock


def conduct(
    options: argparse.Namespace, site: pathlib.Path, results: pathlib.Path, lock: int, submit_late: Callable[[], str]
) -> int:
    """Run a night; returns its exit status. Whatever happens on the way, the dashboard says what is missing.

    :param lock: file descriptor of the night's lock, which all that is started holds, too.
    :param submit_late: submits the next night if that is still to be done; returns why it could not, or nothing.

    :raises InputError: ReFrame is not installed, or the dashboard cannot be written.
    """
    reframe()
    for part in (results / "nights").glob(f"**/{REPORT}.part"):
        recover(part.with_suffix(""))
    started = time.time()
    folder = results / "nights" / f"{datetime.datetime.fromtimestamp(started):%Y%m%dT%H%M%S}"
    make_folder(folder)
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
    print(f"night of {record['night']}: {folder}, progress in night.log there", flush=True)
    deadline = started + options.limit - min(LONGEST_RESERVE_S, RESERVE * options.limit)
    with stopping(deadline) as stop, (folder / "night.log").open("w", encoding="utf-8") as log:
        acts = NightActions(site, results, started)
        with _part_of_night(log):
            acts.give_back(Conductor(stop, [lock], log, PATIENCE_S), options.reframe)
        mode = Validation(site, options.mode, options.reframe, folder)
        with _part_of_night(log), using(results) as own:
            require_ready(site, results, options.mode, options.reframe)
            conductor = Conductor(stop, [lock, own], log, PATIENCE_S)
            if options.budget is not None:
                selection = within(options.budget, site, options.mode, options.reframe, results, conductor)
                with contextlib.redirect_stdout(log):
                    show_selection(selection)
                mode = dataclasses.replace(mode, options=[*options.reframe, *reframe_options(selection)])
            mode.measure(conductor)
        with _part_of_night(log), contextlib.redirect_stdout(log):
            mode.judge()
        with _part_of_night(log):
            stop.check()
            planned = turns(site.name, results, folder, options.nights) if options.nights else {}
            record["planned"] = sorted({node for nodes in planned.values() for node in nodes})
            keep(folder, record)
            print(f"one by one: {', '.join(record['planned']) or 'no node'}", flush=True)
            for partition, nodes in planned.items():
                for name, select in rotation(site.name, partition, nodes, options.repeats).items():
                    place = folder / "rotation" / name
                    make_folder(place)
                    # A run by hand is waited for.
                    with _part_of_night(log), using(results, waiting=stop.check) as own:
                        turn = Validation(site, options.mode, [*select, *options.reframe], place)
                        turn.measure(Conductor(stop, [lock, own], log, PATIENCE_S))
        cut = stop.why
        keep(folder, {**record, "cut": cut})
        with _part_of_night(log):
            acts.drain(Conductor(stop, [lock], log, PATIENCE_S), folder)
        with _part_of_night(log), contextlib.redirect_stdout(log), using(results):
            tidy(site, results)
        keep(folder, {**record, **acts.as_record(), "unscheduled": submit_late(), "ended": time.time(), "cut": cut})
        if cut:
            print(f"the night was cut: {cut}", flush=True)
        return publish(site.name, results, options.textfile, gate=options.gate)


@contextlib.contextmanager
def _part_of_night(log: IO[str]) -> Iterator[None]:
    """What ends it, ends no other part: what it left is judged, and the rest is missed."""
    try:
        yield
    except (InputError, StoppedError) as err:
        print(f"kappa: {err}", file=log, flush=True)
    except Exception:
        traceback.print_exc(file=log)
        log.flush()


def rotation(site: str, partition: str, nodes: list[str], repeats: int) -> dict[str, list[str]]:
    """Folder of a session -> what selects in it every check of one node, ``repeats`` times on each of ``nodes``.

    Checks that measure many nodes in one job do so, some dozens at a time; the others have a job for each node.
    One partition at a time: ReFrame 4.10 distributes a check over the nodes of its first partition only.
    """
    common = [f"--repeat={repeats}", f"--system={site}:{partition}"]
    if len(nodes) < 2:
        return {partition: ["-t", ONE_NODE, "--distribute=all", *common, *on(nodes)]}
    alone = {partition: ["-t", ONE_NODE, "-T", TAG, "--distribute=all", *common, *on(nodes)]}
    together = {
        f"{partition}-together-{number}": ["-t", ONE_NODE, "-t", TAG, *common, *on(share)]
        for number, share in enumerate(shares(nodes), start=1)
    }
    return alone | together


def on(nodes: list[str]) -> list[str]:
    return ["-J", f"nodelist={','.join(nodes)}"]


def keep(folder: pathlib.Path, record: dict[str, Any]) -> None:
    write_atomically(folder / "night.json", json.dumps(record, indent=1) + "\n")
