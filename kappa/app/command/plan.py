"""``kappa plan``."""

import argparse
import os

from kappa.app.command.arguments import (
    REPEATS,
    add_json,
    add_site,
    add_stored,
    alone,
    name,
    nights,
    node_hours,
    parser,
    repeats,
    resolved,
    split_options,
    write_json,
)
from kappa.core.ground.folders import results_folder, site_folder
from kappa.core.ground.processes import stopping

_DESCRIPTION = """\
Predict what a run of MODE on a site takes: nodes, seconds, node-hours and written bytes of each check, and their sums.
Kappa submits no job.

The seconds and bytes of a case are medians over the site's newest runs on as many nodes, if Slurm's accounting has
them. Otherwise they are the check's own estimate; its bytes are an upper limit.

With --against RUN, Kappa plans from the runs before RUN, and compares the plan with what RUN took.

Exit status: 0 done; 1 with --against, node-hours or bytes differ by more than 20 %; 2 error."""
_EXAMPLES = """\
  kappa plan mycluster nightly                 one row for each check
  kappa plan mycluster nightly --cases         one row for each case
  kappa plan mycluster nightly --budget 5      also list the checks that fit into five node-hours
  kappa plan mycluster nightly --nights 7      also plan the rotation of single nodes
  kappa plan mycluster nightly --json -        as JSON
  kappa plan embedded nightly --against results/embedded/runs/20261123T160040-nightly
"""


def run(arguments: list[str]) -> int:
    options = resolved(_parse(arguments))
    from kappa.app.conduct.planning import planned, selected
    from kappa.app.conduct.preflight import require_sense, require_sound
    from kappa.app.conduct.session import Conductor, reframe
    from kappa.core.record.load import load_session
    from kappa.core.sites.load import Site
    from reframe_checks.base.site_settings import MODE_VARIABLE
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

    site, results = Site(site_folder(options.site)), results_folder(options.site)
    reframe()
    require_sound(site)
    require_sense(site.description, results, options.mode, options.reframe)
    session = load_session(options.against) if options.against else None
    os.environ[MODE_VARIABLE] = options.mode
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


def _parse(arguments: list[str]) -> argparse.Namespace:
    words = parser(
        "plan",
        _DESCRIPTION,
        _EXAMPLES,
        usage="kappa plan SITE [MODE] [--cases] [--nights N] [--repeats N] [--budget N] [--against RUN] [-- OPTION…]",
    )
    add_site(words)
    words.add_argument("mode", metavar="MODE", type=name, nargs="?", default="nightly", help="a mode of the site")
    words.add_argument(
        "--budget", metavar="NODE-HOURS", type=node_hours,
        help="also list the checks that `kappa validate --budget` runs, and why",
    )  # fmt: skip
    words.add_argument(
        "--nights", metavar="N", type=nights, default=0,
        help="also plan the rotation that measures each node alone once in N nights (default: 0, none)",
    )  # fmt: skip
    words.add_argument(
        "--repeats", metavar="N", type=repeats, default=REPEATS,
        help=f"in the rotation, measure each node N times (default: {REPEATS})",
    )  # fmt: skip
    words.add_argument("--cases", action="store_true", help="print one row for each case")
    add_stored(words, "--against", "compare the plan with this run: a site (its newest run), a report, or a folder")
    add_json(words)
    words.add_argument("reframe", metavar="OPTION", nargs="*", help="after --: an option for ReFrame")
    # Split first: argparse refuses arguments after `--` if an option of Kappa precedes it.
    arguments, for_reframe = split_options(arguments)
    options = words.parse_intermixed_args(arguments)
    if options.reframe:
        words.error(f"put options for ReFrame after --, found {' '.join(options.reframe)}")
    options.reframe = for_reframe
    return options
