"""Runs what is left of a contract: repeat by repeat, one series at a time, so that nothing disturbs a measurement."""

import json
import pathlib
import time
from collections.abc import Callable, Iterator

from kappa.ground.errors import InputError
from kappa.ground.figures import duration
from kappa.ground.whole_files import write_atomically
from reports.acceptance.campaign import UNRESOLVED, Attempt, Campaign
from reports.acceptance.plan import Item, Plan
from reports.acceptance.sessions import run_attempt
from reports.acceptance.spack_lock import LOCK, keep_spack_lock

Say = Callable[[str], None]


def run(campaign: Campaign, plan: Plan, site: pathlib.Path, lock: int, again: bool, say: Say) -> None:
    """Run every repeat that has no finished attempt; with ``again``, also those whose attempt failed.

    A failed measurement is a result, too: it is never drawn again unasked, and the dossier tells of every attempt.

    :raises StoppedError: a signal came; what is finished is kept.
    :raises InputError: ReFrame ran nothing.
    """
    write_atomically(campaign.folder / UNRESOLVED, json.dumps(plan.unresolved, indent=1, ensure_ascii=False) + "\n")
    contract = campaign.contract
    attempts = campaign.attempts()
    # A session may have ended after the run that began it was killed.
    for attempt in attempts:
        if attempt.session is not None and not (attempt.folder / LOCK).exists():
            keep_spack_lock(attempt)
    todo = [task for task in _tasks(plan) if _wanted(task, attempts, again)]
    total = sum(item.repeats for item in plan.items)
    if len(todo) < total:
        say(f"{total - len(todo)} of {total} repeats are done already")
    for number, (item, repeat) in enumerate(todo, start=total - len(todo) + 1):
        say(f"[{number}/{total}] {item.series}, repeat {repeat} of {item.repeats}")
        tried = sum(attempt.series == item.series and attempt.repeat == repeat for attempt in attempts)
        attempt = campaign.begin(item.series, repeat, tried + 1)
        began = time.monotonic()
        run_attempt(site, contract, item.checks, attempt, lock)
        if attempt.session is None:
            raise InputError(f"{item.series}: ReFrame's session was cut off; run again to go on")
        keep_spack_lock(attempt)
        say(f"[{number}/{total}] {_result(attempt)} after {duration(time.monotonic() - began)}")


def _tasks(plan: Plan) -> Iterator[tuple[Item, int]]:
    """Repeats of a series lie apart in time, so that they see more than one moment of the machine."""
    for repeat in range(1, max((item.repeats for item in plan.items), default=0) + 1):
        for item in plan.items:
            if repeat <= item.repeats:
                yield item, repeat


def _wanted(task: tuple[Item, int], attempts: list[Attempt], again: bool) -> bool:
    item, repeat = task
    finished = [a for a in attempts if (a.series, a.repeat) == (item.series, repeat) and a.session is not None]
    return not finished or (again and _result(finished[-1]) != "pass")


def _result(attempt: Attempt) -> str:
    return next(case.result for case in attempt.cases if case.name == attempt.series.name)
