"""One validation: the mode of a site, then again what was out of bounds, then the verdict."""

import contextlib
import functools
import pathlib
import re
import socket
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from kappa.app.conduct.leftovers import NoReportError, dead, settle_all, unsettled, unsettled_in, usable_database
from kappa.app.conduct.session import Conductor, OptionsKept, ReframeSession
from kappa.core.ground.clean_text import clean
from kappa.core.ground.errors import InputError
from kappa.core.ground.folders import results_folder, site_folder, site_with_results
from kappa.core.ground.locks import LockedError, locked
from kappa.core.ground.processes import Tell, silent
from kappa.core.ground.whole_files import make_folder, write_atomically
from kappa.core.record.load import CONFIRMATIONS, PAGE, load_session
from kappa.core.record.model import OTHER_NODES, REMAINING_NODES, SAME_NODES
from kappa.core.sites.load import Site, keep_judging_files
from kappa.core.vocabulary.modes import MODES
from reports.verdict.confirm import Repetition, repetitions
from reports.verdict.judge import judge_report, latest_attempts

REPORT = "run-report.json"


@dataclass(frozen=True)
class Validation:
    """A run of ``mode`` on ``site``; ``options`` are ReFrame's. All is kept in ``folder``."""

    site: Site
    mode: str
    options: Sequence[str]
    folder: pathlib.Path
    tell: Tell = silent
    """See ``Session``, of the first one, which takes longest."""

    @property
    def report(self) -> pathlib.Path:
        return self.folder / REPORT

    def measure(self, conductor: Conductor) -> None:
        """Run the mode; then on the nodes that are left what a node kept from being measured; then again what is out of
        bounds, on the same nodes and then on others.

        What was measured again without leaving a report is said, and the verdict tells of it. Nothing else may use the
        results meanwhile (``using``). Errors as of ``Session.run``, and ``InputError`` for a report of another kind.
        """
        first = ["-r", f"--mode={self.mode}", *self.options]
        session = ReframeSession(self.site, self.report, first, tell=self.tell)
        conductor.say(f"ReFrame prints to {session.printed}: `tail -f` shows it")
        _ = self.site.judging_files  # Read now: somebody may edit them meanwhile.
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
                conductor.say(f"measuring again on {purpose}: {again.partition}, {','.join(again.nodes)}")
                report = self.folder / CONFIRMATIONS / f"{purpose}-{number}.json"
                extras = f"mode={self.mode},confirms={found.uuid},purpose={purpose},nodes={':'.join(again.nodes)}"
                options = [*_selecting(self.site.name, again), *kept.for_nodes(purpose, again.nodes)]
                try:
                    ReframeSession(self.site, report, ["-r", *options, f"--session-extras={extras}"]).run(conductor)
                except NoReportError as err:
                    conductor.say(str(err))

    def judge(self) -> int:
        """Print the verdict and write the page; returns the verdict's exit status.

        :raises InputError: there is no report, or the page cannot be written.
        """
        # Bokeh takes a second to load, which what only measures need not wait for.
        from reports.compare.compare import since_last  # noqa: PLC0415
        from reports.compare.figures import past_of  # noqa: PLC0415
        from reports.show.run_page import render  # noqa: PLC0415
        from reports.show.terminal import show  # noqa: PLC0415

        verdict, past = judge_report(self.report, self.site), past_of(self.report)
        show(verdict, since_last(self.report, past))
        page = self.folder / PAGE
        write_atomically(page, render(verdict, past))
        print(f"report: {clean(str(page))}", flush=True)
        return verdict.exit_status


def _selecting(site: str, again: Repetition) -> list[str]:
    """What --distribute put on a node is selected without it, as the job of one node that it is."""
    # Of what a plain name may hold, these two mean more in a regular expression.
    pattern = re.sub(r"[.+]", r"[\g<0>]", again.environ)
    names = [word for hashcode in again.hashcodes for word in ("-n", f"/{hashcode}")]
    return [*names, f"--system={site}:{again.partition}", "-p", f"^{pattern}$"]


def judge_leftovers(site: Site, results: pathlib.Path) -> None:
    """End what dead sessions of the site have left, say what, and judge what is new of runs.

    Nothing else may use the results meanwhile (``using``).

    :raises InputError: a report cannot be written.
    """
    say = functools.partial(print, flush=True)
    usable_database(results, say)
    for report in settle_all(site, unsettled(results), say):
        # What confirms a run is judged with it, and a night by its own command.
        if report.name == REPORT and report.parent.parent.name == "runs":
            try:
                Validation(site, load_session(report).mode or "", (), report.parent).judge()
            except InputError as err:
                say(f"it cannot be judged: {err}")


@contextlib.contextmanager
def using(results: pathlib.Path, waiting: Callable[[], object] | None = None) -> Iterator[int]:
    """Hold a site's results against other runs; yields the lock's descriptor.

    :param waiting: see ``locked``; without it there is no waiting for another run.

    :raises InputError: another run uses them, or their storage cannot be written or has no locks.
    """
    with contextlib.ExitStack() as stack:
        try:
            make_folder(results / "runs")
            try:
                lock = stack.enter_context(locked(results / "lock", waiting=waiting))
            except LockedError as err:
                if not _has_ended(err.holder):
                    raise
                lock = stack.enter_context(locked(results / "lock", waiting=_Patience(err)))
        except LockedError as err:
            raise InputError(
                f"another run uses {clean(str(results))} ({err.holder}): wait for it, or set KAPPA_RESULTS to another"
                " folder"
            ) from None
        except InputError as err:
            raise InputError(f"{err}; KAPPA_RESULTS names another folder") from err
        yield lock


def _has_ended(holder: str) -> bool:
    """Whether the process of this machine that took the lock is no more: then ReFrame is ending, which has it, too."""
    found = re.fullmatch(r"process (\d+) on (\S+)", holder)
    return found is not None and found[2] == socket.gethostname() and not pathlib.Path("/proc", found[1]).exists()


class _Patience:
    """Waits for so long as ReFrame has to cancel its jobs.

    :raises LockedError: that is over.
    """

    def __init__(self, err: LockedError) -> None:
        self._err, self._until_s = err, time.monotonic() + Conductor.patience_s

    def __call__(self) -> None:
        if time.monotonic() > self._until_s:
            raise self._err


def settle_given(run: str) -> None:
    """As ``judge_leftovers``, of what a command is to read, and without its verdict.

    Nothing is done while it is being measured.

    :param run: a report or its folder, or a site, of whose runs all are settled.
    :raises InputError: a report cannot be written, or the site of a killed run is gone.
    """
    path = pathlib.Path(run).absolute()
    if path.exists() and not (path / "settings.py").is_file():
        left = unsettled_in(path if path.is_dir() else path.parent)
    else:
        try:
            left = unsettled(results_folder(site_with_results(run)))
        except InputError:
            return  # `find_run` says what is wrong with it
    if left:
        with dead(left[0]) as name:
            if name:
                settle_all(Site(site_folder(name)), left, functools.partial(print, file=sys.stderr, flush=True))
