"""``kappa validate --plan``."""

import argparse
import os

from kappa.app.command.arguments import alone, write_json
from kappa.core.ground.folders import results_folder, site_folder
from kappa.core.ground.processes import stopping


def run(options: argparse.Namespace) -> int:
    from kappa.app.conduct.planning import planned, selected
    from kappa.app.conduct.preflight import require_sense
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
    site.require_sound()
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
