"""A run within so many node-hours: which checks it takes, and how ReFrame and the record are told."""

import pathlib
import re
from collections import Counter
from collections.abc import Sequence

from kappa.app.conduct.planning import planned
from kappa.app.conduct.session import Conductor
from kappa.core.record.model import Session
from reports.plan.budget import Selection, nights_since, select
from reports.plan.findings import of_campaign, of_sessions
from reports.plan.past import stored_sessions
from reports.plan.plan import Plan


def within(
    budget_node_hours: float,
    site: pathlib.Path,
    mode: str,
    options: Sequence[str],
    results: pathlib.Path,
    conductor: Conductor,
) -> Selection:
    """What a run of ``mode`` with ReFrame's ``options`` takes in the budget, by the site's stored runs.

    :raises InputError: as of ``planned`` and ``select``.
    """
    sessions = stored_sessions(results)
    return selected(budget_node_hours, planned(site, mode, options, sessions, conductor), sessions, mode)


def selected(budget_node_hours: float, plan: Plan, sessions: Sequence[Session], mode: str) -> Selection:
    """What of ``plan`` the budget takes, by what was found in ``sessions``, newest first; errors as of ``select``."""
    found = Counter(of_campaign()) + Counter(of_sessions(sessions))
    return select(budget_node_hours, plan, found, *nights_since(sessions, mode))


def reframe_options(selection: Selection) -> list[str]:
    """What has ReFrame run the checks that were taken, and record which were not."""
    left_out = [choice.check for choice in selection.left_out]
    extras = f"--session-extras=budget={selection.budget_node_hours:g},left_out={':'.join(left_out)}"
    # A name ends where its parameters begin.
    names = "|".join(map(re.escape, left_out))
    return [f"--exclude=^({names})(?![A-Za-z0-9_])", extras] if left_out else [extras]
