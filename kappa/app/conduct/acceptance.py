"""Run the remaining repeats of a contract, one series at a time, so that nothing disturbs a measurement."""

import json
import pathlib
import time
from collections.abc import Iterator

from msgspec.structs import asdict

from kappa.app.conduct.leftovers import NoReportError, settle
from kappa.app.conduct.planning import of_mode
from kappa.app.conduct.preflight import require_ready
from kappa.app.conduct.session import Conductor, Progress, ReframeSession
from kappa.core.ground.errors import InputError
from kappa.core.ground.figures import duration
from kappa.core.ground.processes import Tell, silent
from kappa.core.ground.whole_files import sync_tree, write_atomically
from kappa.core.record.journal import unsettled_in
from kappa.core.record.load import keep_record
from kappa.core.record.model import Case
from kappa.core.sites.load import Site
from reports.acceptance.campaign.folder import Attempt, Campaign, keep_spack_lock
from reports.acceptance.campaign.layout import FAMILIES, MEASURED, REPORT, SUMS, UNRESOLVED
from reports.acceptance.campaign.measured import note_earlier, note_measured
from reports.acceptance.kinds.clause import Contract
from reports.acceptance.plan import AcceptancePlan, PlannedSeries
from reports.verdict.advice import operator_line
from reports.verdict.excuse import judge_attempt
from reports.verdict.state import State


def run_series(
    campaign: Campaign, contract: Contract, plan: AcceptancePlan, site: Site, conductor: Conductor, again: bool
) -> None:
    """Run every repeat without a finished attempt; with ``again``, also repeats whose attempt failed.

    A failed measurement is a result, too. Kappa repeats it only if asked, and the dossier lists every attempt.

    :raises StoppedError: there was a reason to stop. Finished attempts are kept.
    :raises InputError: ReFrame ran nothing.
    """
    write_atomically(campaign.folder / UNRESOLVED, json.dumps(plan.unresolved, indent=1, ensure_ascii=False) + "\n")
    write_atomically(campaign.folder / FAMILIES, json.dumps(asdict(plan.families), indent=1) + "\n")
    attempts = campaign.attempts()
    # A session may have gone on after its run was killed.
    for attempt in attempts:
        for report in unsettled_in(attempt.folder):
            settled = settle(report, site, "its session was killed")
            conductor.say(f"{attempt.series}: an earlier session was killed: {settled.said or settled.report.value}")
            _note(attempt, conductor)
        if not (attempt.folder / SUMS).exists():
            keep_spack_lock(attempt)
    note_earlier(campaign.folder)
    todo = [task for task in _tasks(plan) if _wanted(task, attempts, again)]
    total = sum(item.repeats for item in plan.items)
    if len(todo) < total:
        conductor.say(f"{total - len(todo)} of {total} repeats are done already")
    for number, (item, repeat) in enumerate(todo, start=total - len(todo) + 1):
        conductor.say(f"[{number}/{total}] {item.series}, repeat {repeat} of {item.repeats}")
        # A job that Slurm refuses is no measurement, so stop here.
        require_ready(site, campaign.folder, contract.mode, [f"--system={contract.system}:{item.series.partition}"])
        tried = sum(attempt.series == item.series and attempt.repeat == repeat for attempt in attempts)
        attempt = campaign.begin(item.series, repeat, tried + 1)
        began = time.monotonic()
        tell = Progress(f"[{number}/{total}] {item.series}", item.seconds)
        try:
            run_attempt(site, contract, item.offer.checks, attempt, conductor, tell)
        finally:
            # An interrupted attempt, too: it cannot become a finished one unnoticed.
            _note(attempt, conductor)
        if attempt.session is None:
            raise InputError(f"{item.series}: ReFrame's session was cut off; run the same command to continue")
        took, judged = duration(time.monotonic() - began), judge_attempt(_measured(attempt))
        why = f": {operator_line(judged).what}" if judged.state is State.FAIL else ""
        conductor.say(f"[{number}/{total}] {_measured(attempt).result} after {took}{why}")


def _note(attempt: Attempt, conductor: Conductor) -> None:
    """Add an attempt whose session has ended to the chain of measurements, and say the hash."""
    if any(unsettled_in(attempt.folder)):
        return
    keep_spack_lock(attempt)
    conductor.say(f"{MEASURED}: {note_measured(attempt.folder)}")


def run_attempt(
    site: Site,
    contract: Contract,
    checks: pathlib.Path,
    attempt: Attempt,
    conductor: Conductor,
    tell: Tell = silent,
) -> None:
    """Run one attempt with ReFrame, and keep its results in the attempt's folder.

    :param checks: the file or folder that ReFrame loads. To load the whole suite takes seconds.
    :param tell: see ``ReframeSession``.

    :raises StoppedError: there was a reason to stop. ReFrame has cancelled its jobs.
    :raises InputError: ReFrame ended without a report. The message has its last lines.
    :raises OSError: the storage could not keep ReFrame's files.
    """
    folder = attempt.folder.resolve()
    options = [
        "--run",
        f"--system={contract.system}:{attempt.series.partition}",
        *of_mode(contract),
        *attempt.series.reframe_options,
        # A clause counts every sample, so do not re-measure out-of-bounds samples.
        "--setvar=hold_s=0",
        # For `kappa acceptance verify`, which reads the output again.
        "--setvar=keep_state=yes",
        f"--perflogdir={folder / 'perflogs'}",
    ]
    session = ReframeSession(site, folder / REPORT, options, checks, folder, tell)
    try:
        session.run(conductor)
    except NoReportError as err:
        raise InputError(f"{attempt.series}: {err}; run the same command to continue") from None
    try:
        keep_record(folder / REPORT)
    except InputError as err:
        # The report counts then, and its attempt is interrupted if it is damaged.
        conductor.say(f"{attempt.series}: no record is kept: {err}")
    # ReFrame does not sync its files. A finished attempt must be on the disk.
    sync_tree(folder)


def _tasks(plan: AcceptancePlan) -> Iterator[tuple[PlannedSeries, int]]:
    """Yield series and repeat. All series run once before the next repeat, so that repeats lie apart in time."""
    for repeat in range(1, max((item.repeats for item in plan.items), default=0) + 1):
        for item in plan.items:
            if repeat <= item.repeats:
                yield item, repeat


def _wanted(task: tuple[PlannedSeries, int], attempts: list[Attempt], again: bool) -> bool:
    item, repeat = task
    finished = [a for a in attempts if (a.series, a.repeat) == (item.series, repeat) and a.session is not None]
    return not finished or (again and _measured(finished[-1]).result != "pass")


def _measured(attempt: Attempt) -> Case:
    return next(case for case in attempt.cases if case.name == attempt.series.name)
