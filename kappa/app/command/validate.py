"""Run the suite on a site in MODE (smoke, nightly, acceptance, full; default nightly), print the verdict, and write the
HTML report. Kappa re-measures every out-of-bounds metric: first in the same allocation, or by a job on the same nodes,
then on other nodes. Kappa adds the run to the site's history. OPTIONs are the options below, and options for ReFrame.

The results are in a new folder in results/SITE/runs. Only its owner can read it. $KAPPA_RESULTS replaces results/SITE;
$KAPPA_RUN names the run's folder. ReFrame's output is in reframe.out there; the terminal shows progress.

Only one run at a time uses these results. On SIGTERM or Ctrl-C, Kappa stops ReFrame, which cancels its jobs, and judges
the finished cases. If an earlier run was killed, Kappa first cancels its jobs and judges its finished cases. If the
site has an embedded cluster that is down, Kappa starts it, and stops it at the end.

With --plan, Kappa submits no job. It predicts nodes, seconds, node-hours and written bytes of each check, and their
sums. The seconds and bytes of a case are medians over the site's newest runs on as many nodes, if Slurm's accounting
has them. Otherwise they are the check's own estimate; its bytes are an upper limit. With --against RUN, Kappa plans
from the runs before RUN, and compares the plan with what RUN took.

Exit status: 0 PASS, 1 FAIL, 2 INCOMPLETE or the suite could not run.
With --plan: 0 done; 1 with --against, node-hours or bytes differ by more than 20 %; 2 error.

examples:
  kappa validate embedded smoke
  kappa validate mycluster nightly -n NodeLinks -S NodeLinks.iterations=3
  kappa validate mycluster nightly -J reservation=maintenance
  kappa validate mycluster nightly --budget 5
  kappa validate mycluster nightly --spec 'osu-micro-benchmarks ^mpich' -n Osu
  kappa validate mycluster nightly --plan              one row for each check
  kappa validate mycluster nightly --plan --cases      one row for each case
  kappa validate mycluster nightly --plan --budget 5   also list the checks that fit into five node-hours
  kappa validate mycluster nightly --plan --nights 7   also plan the rotation of single nodes
  kappa validate embedded --plan --against results/embedded/runs/20261123T160040-nightly
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import os
import pathlib
from typing import TYPE_CHECKING

from kappa.app.command.arguments import (
    CommandParser,
    add_json,
    add_rotation,
    add_site,
    add_stored,
    alone,
    name,
    node_hours,
    write_json,
)
from kappa.core.ground.errors import InputError
from kappa.core.ground.folders import results_folder, site_folder
from kappa.core.ground.processes import StoppedError, stopping

if TYPE_CHECKING:
    from kappa.core.sites.load import Site

_OF_PLAN = ("cases", "nights", "against", "json")


def add_arguments(to: CommandParser) -> None:
    to.describe(__doc__, run)
    to.usage = "%(prog)s SITE [MODE] [OPTION…] [-- REFRAME-OPTION…]"
    to.after_dashes = "reframe"
    add_site(to)
    to.add_argument("mode", metavar="MODE", type=name, nargs="?", default="nightly", help="a mode of the site")
    _add_own(to)
    to.add_argument("given", metavar="OPTION", nargs=argparse.REMAINDER, help="an option for ReFrame, or one below")


def _add_own(to: argparse.ArgumentParser) -> None:
    """Add Kappa's own options."""
    to.add_argument(
        "--spec", metavar="SPEC", action="append", default=[],
        help="run Spack's environments with SPEC instead of their own spec of the same package; Kappa installs it"
        " first; repeat for more (docs/spack.md)",
    )  # fmt: skip
    to.add_argument(
        "--budget", metavar="NODE-HOURS", type=node_hours,
        help="run only as many checks as the plan allows within NODE-HOURS; --plan shows which; the verdict names the"
        " checks that are left out (docs/nightly.md)",
    )  # fmt: skip
    to.add_argument("--plan", action="store_true", help="predict what the run takes; submit no job")
    of_plan = to.add_argument_group("with --plan")
    of_plan.add_argument("--cases", action="store_true", help="print one row for each case")
    add_rotation(of_plan, 0, "also plan the rotation that measures each node alone once in N nights")
    add_stored(of_plan, "--against", "compare the plan with this run: a site (its newest run), a report, or a folder")
    add_json(of_plan)


def run(options: argparse.Namespace) -> int:
    own = argparse.ArgumentParser("kappa validate", add_help=False, allow_abbrev=False)
    _add_own(own)
    options, others = own.parse_known_args(options.given, options)
    options.reframe = [*others, *options.reframe]
    for option in ("spec",) if options.plan else _OF_PLAN:
        if getattr(options, option):
            raise InputError(f"--{option} {'is not for' if options.plan else 'needs'} --plan")
    from kappa.app.conduct.preflight import require_sense, require_sound
    from kappa.app.conduct.session import reframe
    from kappa.core.sites.load import Site
    from reframe_checks.base.site_settings import MODE_VARIABLE
    from spack_envs.installer.chosen import choose

    site, results = Site(site_folder(options.site)), results_folder(options.site)
    reframe()
    if options.spec:
        choose(options.spec)
    require_sound(site)
    require_sense(site.description, results, options.mode, options.reframe)
    os.environ[MODE_VARIABLE] = options.mode
    return (_plan if options.plan else _validate)(options, site, results)


def _plan(options: argparse.Namespace, site: Site, results: pathlib.Path) -> int:
    from kappa.app.conduct.planning import planned, selected
    from kappa.app.conduct.session import Conductor
    from kappa.core.record.load import load_session
    from reports.nightly.rotation import next_turns
    from reports.plan import budget
    from reports.plan.listing import show_held, show_plan, show_selection, show_turns
    from reports.plan.plan import (
        check_document,
        hold,
        partitions_of,
        plan_document,
        stored_sessions,
        turns_document,
        turns_of,
    )

    session = load_session(options.against) if options.against else None
    stored = stored_sessions(results, session.time_start if session else "")
    with stopping() as stop:
        plan = planned(site, options.mode, options.reframe, stored, Conductor(stop))
    held = hold(plan, session) if session else None
    turns = None
    if options.nights:
        nodes = next_turns(site, results, partitions_of(plan), options.nights)
        turns = turns_of(plan, {partition: len(one) for partition, one in nodes.items()}, options.repeats)
    selection = selected(options.budget, plan, stored, options.mode) if options.budget is not None else None
    told = {
        **({"against": check_document(held)} if held else {}),
        **({"turns": turns_document(turns)} if turns else {}),
        **({"budget": budget.to_document(selection)} if selection else {}),
    }
    write_json(options.json, {"site": options.site, "mode": options.mode, **plan_document(plan), **told})
    if not alone(options.json):
        show_plan(plan, each_case=options.cases)
        if turns:
            show_turns(plan, turns)
        if held:
            show_held(held)
        if selection:
            show_selection(selection)
    return 0 if held is None or held.holds else 1 if held.pairs else 2


def _validate(options: argparse.Namespace, site: Site, results: pathlib.Path) -> int:
    from kappa.app.conduct.leftovers import NoReportError
    from kappa.app.conduct.own_cluster import cluster_up
    from kappa.app.conduct.planning import reframe_options, within
    from kappa.app.conduct.preflight import require_ready
    from kappa.app.conduct.retention import tidy
    from kappa.app.conduct.session import Conductor, Progress, cases_done
    from kappa.app.conduct.validation import Validation, judge_leftovers, using
    from kappa.core.record.runs import PRINTED
    from reports.plan.listing import show_selection

    with stopping() as stop, using(results, site) as lock, cluster_up(site.folder):
        site = site.now
        judge_leftovers(site, results)
        require_ready(site, results, options.mode, options.reframe)
        usual_s = _usual_s(results, options)
        if options.budget is not None:
            selection = within(options.budget, site, options.mode, options.reframe, results, Conductor(stop, [lock]))
            show_selection(selection)
            options.reframe = [*options.reframe, *reframe_options(selection)]
        folder = _own_folder(results, options.mode)
        tell = Progress(f"{options.mode} on {options.site}", usual_s, lambda: cases_done(folder / PRINTED))
        validation = Validation(site, options.mode, options.reframe, folder, tell)
        try:
            validation.measure(Conductor(stop, [lock]))
        except (StoppedError, NoReportError) as err:
            if not validation.report.exists():
                _forget(validation.folder)
                raise
            print(f"{err}: Kappa judges the finished cases", flush=True)
        status = validation.judge()
        tidy(site, results)
        return status


def _usual_s(results: pathlib.Path, options: argparse.Namespace) -> float | None:
    """Return the duration of the newest whole run of the mode in seconds, or None if this run is a part only."""
    from kappa.app.conduct.validation import REPORT
    from kappa.core.record.load import load_session

    folders = sorted(results.glob(f"runs/*-{options.mode}"), reverse=True) if not options.reframe else []
    for folder in folders:
        with contextlib.suppress(InputError):
            return load_session(folder / REPORT).elapsed_s
    return None


def _forget(folder: pathlib.Path) -> None:
    """Remove a run's folder that holds no results."""
    from kappa.core.record.runs import PRINTED

    with contextlib.suppress(OSError):
        if not (folder / PRINTED).stat().st_size:
            (folder / PRINTED).unlink()
    for place, _, _ in os.walk(folder, topdown=False):
        with contextlib.suppress(OSError):
            os.rmdir(place)


def _own_folder(results: pathlib.Path, mode: str) -> pathlib.Path:
    given = os.environ.get("KAPPA_RUN")
    folder = pathlib.Path(given or results / "runs" / f"{datetime.datetime.now():%Y%m%dT%H%M%S}-{mode}").absolute()
    try:
        folder.mkdir(exist_ok=bool(given))
    except OSError as err:
        raise InputError(f"cannot make the folder {folder}: {err.strerror}") from err
    return folder
