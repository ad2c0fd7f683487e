"""Run one night, from the first check to the dashboard, with the actions on nodes that the site's rule asks for."""

import argparse
import contextlib
import dataclasses
import datetime
import functools
import json
import os
import pathlib
import socket
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import IO, Any

import msgspec

from kappa.app.conduct.alerts import AlertTargets
from kappa.app.conduct.leftovers import job_ended
from kappa.app.conduct.planning import reframe_options, within
from kappa.app.conduct.preflight import require_ready, require_sound
from kappa.app.conduct.quarantine import Quarantine, end_quarantines
from kappa.app.conduct.retention import tidy
from kappa.app.conduct.session import Conductor, OptionsKept, reframe
from kappa.app.conduct.validation import Validation, judge_leftovers, using
from kappa.core.ground.errors import InputError
from kappa.core.ground.locks import LockedError, locked
from kappa.core.ground.processes import StoppedError, stopping
from kappa.core.ground.whole_files import make_folder, write_atomically
from kappa.core.record.actions import Action, load_actions
from kappa.core.sites.load import Site
from kappa.core.vocabulary.scales import MANY_NODES_TAG, ONE_NODE, shares
from reports.nightly.night import load_record
from reports.nightly.publish import publish
from reports.nightly.rotation import turns
from reports.nightly.summarise import judge_night
from reports.plan.listing import show_selection
from reports.quarantine.decide import told
from reports.quarantine.evidence import named_nodes

# Time kept for ending, judging and writing: a share of the limit, and at most so many seconds.
RESERVE, LONGEST_RESERVE_S = 0.2, 300.0
# Seconds for ReFrame to cancel its jobs. Slurm warns the night's job only shortly before its end.
PATIENCE_S = 60.0


class NightActions:
    """The actions on nodes of the night that ``began`` at this time, in seconds since 1970."""

    def __init__(self, site: Site, results: pathlib.Path, began: float) -> None:
        self.site, self.results, self.began = site, results, began
        self._only_told: list[Action] = []
        self._problem = ""

    def give_back(self, conductor: Conductor, options: Sequence[str]) -> None:
        """Apply the rule to the nodes whose quarantine has ended.

        :param options: ReFrame's options of the night. Only the options that set something are used, not those that
            select checks.
        """
        stop = conductor.stop
        with self._problems_noted():
            quarantine = Quarantine.of(self.site, self.results)
            if quarantine is None:
                return
            with using(self.results, self.site, stop.check) as own, quarantine.alone(stop.check) as lock:
                holding = replace(conductor, locks=[*conductor.locks, own, lock])
                for action, _ in end_quarantines(quarantine, holding, OptionsKept.of(options).options):
                    conductor.say(told(action))
                    self._only_told += [action] if action.what == "release" and action.outcome == "declined" else []

    def drain(self, conductor: Conductor, night: pathlib.Path) -> None:
        """Apply the rule to the nodes that confirmed findings of the night in this folder name."""
        with self._problems_noted():
            quarantine = Quarantine.of(self.site, self.results)
            if quarantine is None:
                return
            cases = judge_night(night, load_record(night), self.site).cases
            named = named_nodes(cases, quarantine.rule.evidence)
            with quarantine.alone(conductor.stop.check):
                for action in quarantine.drain(quarantine.decided(named, self.began, str(night))):
                    conductor.say(told(action))

    def as_record(self) -> dict[str, Any]:
        """Return, for ``night.json``, all actions since the night began, and why an action was not possible."""
        actions: list[Action] = []
        with contextlib.suppress(InputError), self._problems_noted():
            actions = [action for action in load_actions(self.results / "history") if action.time >= self.began]
        return {"actions": msgspec.to_builtins([*self._only_told, *actions]), "not_acted": self._problem}

    @contextlib.contextmanager
    def _problems_noted(self) -> Iterator[None]:
        try:
            yield
        except (InputError, StoppedError) as err:
            self._problem = str(err)
            raise


class BusyError(Exception):
    """Another night of the site is running. The message says which."""


@contextlib.contextmanager
def only_one(results: pathlib.Path, site: Site) -> Iterator[int]:
    """Hold the lock of a site's nights, and yield its file descriptor.

    Every child process must inherit the descriptor. Otherwise, after this process was killed, its children would
    measure at the same time as the next night.

    :raises BusyError: another night holds the lock.
    :raises InputError: the storage cannot be written or has no locks.
    """
    with contextlib.ExitStack() as stack:
        try:
            lock = stack.enter_context(locked(results / "nightly/.lock", has_ended=job_ended(site)))
        except LockedError as err:
            raise BusyError(
                f"another night, or a process that one left behind, holds the lock ({err.holder}): {err.mend}"
            ) from None
        yield lock


def conduct(
    options: argparse.Namespace, site: Site, results: pathlib.Path, lock: int, submit_late: Callable[[], str]
) -> int:
    """Run a night, and return its exit status. If a part fails, the dashboard lists the gaps.

    :param lock: file descriptor of the night's lock, for all child processes.
    :param submit_late: submits the next night if it is not submitted yet, and returns why that failed, or nothing.

    :raises InputError: ReFrame is not installed, or the dashboard cannot be written.
    """
    reframe()
    started = time.time()
    deadline = time.monotonic() + options.limit - min(LONGEST_RESERVE_S, RESERVE * options.limit)
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
    print(f"night of {record['night']}: results in {folder}, progress in its night.log", flush=True)
    with stopping(deadline) as stop, (folder / "night.log").open("w", encoding="utf-8") as log:
        acts = NightActions(site, results, started)
        with _part_of_night(log):
            acts.give_back(Conductor(stop, [lock], log, PATIENCE_S), options.reframe)
        mode = Validation(site, options.mode, options.reframe, folder)
        with _part_of_night(log), using(results, site) as own:
            judge_leftovers(site, results)
            require_sound(site)
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
            planned = turns(site, results, folder, options.nights) if options.nights else {}
            record["planned"] = sorted({node for nodes in planned.values() for node in nodes})
            keep(folder, record)
            print(f"rotation, nodes measured alone: {', '.join(record['planned']) or 'none'}", flush=True)
            for partition, nodes in planned.items():
                for name, select in rotation(site.name, partition, nodes, options.repeats).items():
                    place = folder / "rotation" / name
                    make_folder(place)
                    # Wait while a run by hand uses the results.
                    with _part_of_night(log), using(results, site, stop.check) as own:
                        turn = Validation(site, options.mode, [*select, *options.reframe], place)
                        turn.measure(Conductor(stop, [lock, own], log, PATIENCE_S))
                        turn.keep()
        cut = stop.why
        keep(folder, {**record, "cut": cut})
        with _part_of_night(log):
            acts.drain(Conductor(stop, [lock], log, PATIENCE_S), folder)
        with _part_of_night(log), contextlib.redirect_stdout(log), using(results, site):
            tidy(site, results)
        keep(folder, {**record, **acts.as_record(), "unscheduled": submit_late(), "ended": time.time(), "cut": cut})
        if cut:
            print(f"the night was cut short: {cut}", flush=True)
        note = functools.partial(print, file=log, flush=True)
        targets = AlertTargets.of(options)
        return publish(
            site, results, options.textfile, gate=options.gate, link=options.link or "",
            deliver=lambda alert: targets.deliver(alert, note),
        )  # fmt: skip


@contextlib.contextmanager
def _part_of_night(log: IO[str]) -> Iterator[None]:
    """Contain the errors of one part of the night: log them, and let the next part run."""
    try:
        yield
    except (InputError, StoppedError) as err:
        print(f"kappa: {err}", file=log, flush=True)
    except Exception:
        traceback.print_exc(file=log)
        log.flush()


def rotation(site: str, partition: str, nodes: list[str], repeats: int) -> dict[str, list[str]]:
    """Return ReFrame's options for each session of the rotation, by the session's folder.

    The sessions run every check of one node, ``repeats`` times on each of ``nodes``. Checks that measure many nodes in
    one job measure some dozens at a time. The others have one job for each node. Each session has one partition,
    because ReFrame 4.10 distributes a check over the nodes of its first partition only.
    """
    common = [f"--repeat={repeats}", f"--system={site}:{partition}"]
    if len(nodes) < 2:
        return {partition: ["-t", ONE_NODE, "--distribute=all", *common, *on(nodes)]}
    alone = {partition: ["-t", ONE_NODE, "-T", MANY_NODES_TAG, "--distribute=all", *common, *on(nodes)]}
    together = {
        f"{partition}-together-{number}": ["-t", ONE_NODE, "-t", MANY_NODES_TAG, *common, *on(share)]
        for number, share in enumerate(shares(nodes), start=1)
    }
    return alone | together


def on(nodes: list[str]) -> list[str]:
    return ["-J", f"nodelist={','.join(nodes)}"]


def keep(folder: pathlib.Path, record: dict[str, Any]) -> None:
    write_atomically(folder / "night.json", json.dumps(record, indent=1) + "\n")
