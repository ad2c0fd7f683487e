"""Run one validation: the mode of a site, then the re-measurements of out-of-bounds metrics, then the verdict."""

import contextlib
import functools
import pathlib
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from kappa.app.conduct.leftovers import NoReportError, job_ended, settle_all, usable_database
from kappa.app.conduct.session import Conductor, OptionsKept, ReframeSession
from kappa.core.ground.clean_text import clean
from kappa.core.ground.errors import InputError
from kappa.core.ground.folders import SIMULATED_SITE, history_folder
from kappa.core.ground.locks import LockedError, locked
from kappa.core.ground.processes import Tell, silent
from kappa.core.ground.whole_files import make_folder, write_atomically
from kappa.core.record.journal import unsettled
from kappa.core.record.load import keep_record, load_session
from kappa.core.record.model import OTHER_NODES, REMAINING_NODES, SAME_NODES
from kappa.core.record.runs import CONFIRMATIONS, PAGE, RESULTS_LOCK, RUN_REPORT
from kappa.core.sites.load import Site, keep_judging_files
from kappa.core.vocabulary.modes import MODES
from reports.verdict.confirm import Repetition, repetitions
from reports.verdict.judge import latest_attempts
from reports.verdict.stored import judge_report, keep_verdict

REPORT = RUN_REPORT


@dataclass(frozen=True)
class Validation:
    """A run of ``mode`` on ``site``. ``options`` are ReFrame's. All results are in ``folder``."""

    site: Site
    mode: str
    options: Sequence[str]
    folder: pathlib.Path
    tell: Tell = silent
    """See ``ReframeSession``; for the first session, which takes longest."""

    @property
    def report(self) -> pathlib.Path:
        return self.folder / REPORT

    def measure(self, conductor: Conductor) -> None:
        """Run the mode and the re-measurements.

        1. Run the mode.
        2. Run cases that a node prevented on the remaining nodes.
        3. Re-measure out-of-bounds metrics on the same nodes, then on other nodes.

        If a re-measurement leaves no report, ``conductor`` says so, and the verdict reports it. The caller must hold
        the results (``using``). Errors as in ``ReframeSession.run``, and ``InputError`` for a report of another kind.
        """
        first = ["-r", f"--mode={self.mode}", *self.options]
        session = ReframeSession(self.site, self.report, first, tell=self.tell)
        conductor.say(f"ReFrame's output: {session.printed} (follow it with `tail -f`)")
        _ = self.site.judging_files  # Read now: somebody may edit the files during the run.
        try:
            session.run(conductor)
        finally:
            if self.report.exists():
                keep_judging_files(self.site, self.folder)
        make_folder(self.folder / CONFIRMATIONS)
        of_mode = MODES[self.mode].reframe_options if self.mode in MODES else ()
        kept = OptionsKept.of([*of_mode, *self.options])
        for purpose in (REMAINING_NODES, SAME_NODES, OTHER_NODES):
            found = load_session(self.report)
            for number, again in enumerate(repetitions(latest_attempts(found), purpose), start=1):
                conductor.say(f"re-measuring on {purpose}: {again.partition}, {','.join(again.nodes)}")
                report = self.folder / CONFIRMATIONS / f"{purpose}-{number}.json"
                extras = f"mode={self.mode},confirms={found.uuid},purpose={purpose},nodes={':'.join(again.nodes)}"
                options = [*_selecting(self.site.name, again), *kept.for_nodes(purpose, again.nodes)]
                try:
                    ReframeSession(self.site, report, ["-r", *options, f"--session-extras={extras}"]).run(conductor)
                except NoReportError as err:
                    conductor.say(str(err))

    def keep(self) -> None:
        """Write the record and the verdict beside the report. Without them, each command makes them of the report."""
        try:
            keep_verdict(keep_record(self.report), self.site)
        except InputError as err:
            print(f"kappa: warning: no record of the run is kept: {clean(str(err))}", file=sys.stderr, flush=True)

    def judge(self) -> int:
        """Keep and print the verdict, write the page, add the run to the history, and return the verdict's exit status.

        :raises InputError: there is no report, or the page cannot be written.
        """
        # Not at the top: Bokeh takes a second to load, and a measurement does not need it.
        from reports.compare.compare import since_last  # noqa: PLC0415
        from reports.compare.figures import figures_in, past_of  # noqa: PLC0415
        from reports.show.run_page import render  # noqa: PLC0415
        from reports.show.terminal import show  # noqa: PLC0415

        self.keep()
        verdict = judge_report(self.report)
        now = figures_in(verdict.session)
        past = past_of(now)
        show(verdict, since_last(now, past))
        page = self.folder / PAGE
        write_atomically(page, render(verdict, past))
        print(f"report: {clean(str(page))}", flush=True)
        self._keep_in_history()
        return verdict.exit_status

    def _keep_in_history(self) -> None:
        from reports.history.ingest import ingest, reports_in  # noqa: PLC0415

        name = self.site.name
        try:
            done = ingest(reports_in([self.folder]), history_folder(name), of_fabrics=name == SIMULATED_SITE)
            problems = done.damaged
        except InputError as err:
            problems = (str(err),)
        for problem in problems:
            print(f"left out of the history: {clean(problem)}", file=sys.stderr)


def _selecting(site: str, again: Repetition) -> list[str]:
    """Return ReFrame's options that select the cases. A case that --distribute put on a node is a job of one node."""
    # Escape the two characters of plain names that are special in a regular expression.
    pattern = re.sub(r"[.+]", r"[\g<0>]", again.environ)
    names = [word for hashcode in again.hashcodes for word in ("-n", f"/{hashcode}")]
    return [*names, f"--system={site}:{again.partition}", "-p", f"^{pattern}$"]


def judge_leftovers(site: Site, results: pathlib.Path) -> None:
    """Settle the site's dead sessions, print what they left, and judge the new reports of runs.

    The caller must hold the results (``using``).

    :raises InputError: a report cannot be written.
    """
    say = functools.partial(print, flush=True)
    usable_database(results, say)
    for report in settle_all(site, unsettled(results), results, say):
        # A re-measurement is judged with its run, and a night by its own command.
        if report.name == REPORT and report.parent.parent.name == "runs":
            try:
                Validation(site, load_session(report).mode or "", (), report.parent).judge()
            except InputError as err:
                say(f"{clean(str(report.parent))}: the run cannot be judged: {err}")


@contextlib.contextmanager
def using(results: pathlib.Path, site: Site | None, waiting: Callable[[], object] | None = None) -> Iterator[int]:
    """Lock a site's results for one run, and yield the lock's file descriptor.

    :param site: the site whose Slurm knows the job in which another run may run.
    :param waiting: see ``locked``; without it, do not wait for another run.

    :raises InputError: another run uses the results, or their storage cannot be written or has no locks.
    """
    take = functools.partial(locked, results / RESULTS_LOCK, has_ended=job_ended(site))
    with contextlib.ExitStack() as stack:
        try:
            make_folder(results / "runs")
            try:
                lock = stack.enter_context(take(waiting=waiting))
            except LockedError as err:
                if not err.holder.killed:
                    raise
                lock = stack.enter_context(take(waiting=_Patience(err)))
        except LockedError as err:
            raise InputError(
                f"another run uses {clean(str(results))} ({err.holder}): {err.mend}; or set KAPPA_RESULTS to another"
                " folder"
            ) from None
        except InputError as err:
            raise InputError(f"{err}; set KAPPA_RESULTS to another folder") from err
        yield lock


class _Patience:
    """Wait for as long as ReFrame may need to cancel its jobs.

    :raises LockedError: this time has passed.
    """

    def __init__(self, err: LockedError) -> None:
        self._err, self._until_s = err, time.monotonic() + Conductor.patience_s

    def __call__(self) -> None:
        if time.monotonic() > self._until_s:
            raise self._err
