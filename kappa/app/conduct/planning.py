"""List the cases of a site by a dry run of ReFrame, plan a mode, and select the checks that fit into a budget."""

import json
import pathlib
import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kappa.app.conduct.leftovers import NoReportError
from kappa.app.conduct.session import CHECKS, Conductor, Progress, ReframeSession
from kappa.core.ground.errors import InputError
from kappa.core.record.load import load_session
from kappa.core.record.model import Case, Session
from kappa.core.record.series import CaseSeries
from kappa.core.sites.load import Site
from kappa.core.vocabulary.scales import ONE_NODE
from reports.acceptance.campaign.layout import REPORT
from reports.acceptance.kinds.clause import Contract, MeasuredSeries
from reports.acceptance.plan import Offer
from reports.plan.budget import Selection, nights_since, of_campaign, of_sessions, select
from reports.plan.plan import Offered, RunPlan, Took, past_of, plan, stored_sessions

# The check whose record lists all checks that the site can run (the census).
CENSUS = "PartitionState"


def offers(
    site: Site,
    contract: Contract,
    wanted: Sequence[MeasuredSeries],
    past: Mapping[CaseSeries, Sequence[Took]],
    conductor: Conductor,
) -> list[Offer]:
    """Return the cases of the suite that ReFrame finds on the site, each with its plan.

    If no series names a family, only the checks that the series name and the census are listed. Errors as in
    ``listed``.

    :param past: the costs of earlier runs, as ``past_of`` returns them.
    """
    options = [f"--system={contract.system}", *of_mode(contract), *_named(wanted)]
    cases = [(case, entry) for case, entry in listed(site, options, conductor) if case.check_class is not None]
    planned = plan(offered_of(cases), past).cases
    return [Offer(one, case, _needed(entry)) for one, (case, entry) in zip(planned, cases, strict=True)]


def listed(site: Site, options: Sequence[str], conductor: Conductor) -> list[tuple[Case, dict[str, Any]]]:
    """Return the cases that ReFrame selects by ``options`` on the site, each with its entry in the report.

    :raises InputError: ReFrame cannot use the site's settings. The message has its last lines.
    :raises StoppedError: there was a reason to stop.
    """
    with tempfile.TemporaryDirectory(prefix="kappa-plan-") as folder:
        scratch = pathlib.Path(folder)
        report = scratch / REPORT
        # A dry run leaves its job scripts behind.
        command = ["--dry-run", *options, f"--prefix={scratch}"]
        told = f"ReFrame lists the cases of {site.name}"
        listing = ReframeSession(site, report, command, folder=scratch, tell=Progress(told))
        try:
            listing.run(conductor)
        except NoReportError as err:
            raise InputError(f"ReFrame cannot list the checks of {site.path}: {err}") from None
        cases = [case for run in load_session(report).runs for case in run]
        entries = [entry for run in json.loads(report.read_text("utf-8"))["runs"] for entry in run["testcases"]]
    return list(zip(cases, entries, strict=True))


def of_mode(contract: Contract) -> list[str]:
    return [f"--mode={contract.mode}"] if contract.mode else []


def _named(wanted: Sequence[MeasuredSeries]) -> list[str]:
    checks = [series.check for series in wanted if series.check]
    if len(checks) < len(wanted):
        return []
    return [f"--name=^({'|'.join(map(re.escape, sorted({CENSUS, *checks})))})(%|$)"]


def _needed(entry: dict[str, Any]) -> pathlib.Path:
    # The census must load all checks, because it reports those that did not load.
    return CHECKS if "census" in entry else pathlib.Path(entry["filename"])


def nodes_of(entry: dict[str, Any]) -> int | None:
    """Return the number of nodes of the job; ``None`` if the scheduler decides."""
    tasks, per_node = entry.get("num_tasks"), entry.get("num_tasks_per_node")
    if not tasks or tasks < 0:
        return None
    return -(-tasks // per_node) if per_node else 1


def planned(
    site: Site, mode: str, options: Sequence[str], sessions: Sequence[Session], conductor: Conductor
) -> RunPlan:
    """Plan ``mode`` with ReFrame's ``options`` from the stored ``sessions``. Errors as in ``listed``."""
    return plan(offered_of(listed(site, [f"--mode={mode}", *options], conductor)), past_of(sessions))


def offered_of(cases: Iterable[tuple[Case, dict[str, Any]]]) -> list[Offered]:
    """Return the cases of the suite's checks among those of ``listed``."""
    return [
        Offered(
            series=CaseSeries.of(case),
            check=case.check_class,
            family=case.family,
            nodes=0 if case.local or entry.get("scheduler") == "local" else nodes_of(entry) or 1,
            stated_s=case.stated_s,
            stated_bytes=case.stated_bytes,
            of_one_node=ONE_NODE in entry.get("tags", ()),
            partition_nodes=int(entry.get("partition_size") or 0),
        )
        for case, entry in cases
        if case.check_class is not None
    ]


def within(
    budget_node_hours: float,
    site: Site,
    mode: str,
    options: Sequence[str],
    results: pathlib.Path,
    conductor: Conductor,
) -> Selection:
    """Select the checks of ``mode`` with ReFrame's ``options`` that fit into the budget, by the site's stored runs.

    :raises InputError: as in ``planned`` and ``select``.
    """
    sessions = stored_sessions(results)
    return selected(budget_node_hours, planned(site, mode, options, sessions, conductor), sessions, mode)


def selected(budget_node_hours: float, plan: RunPlan, sessions: Sequence[Session], mode: str) -> Selection:
    """Select the checks of ``plan`` that fit into the budget, by findings in ``sessions``, newest first.

    :raises InputError: as in ``select``.
    """
    found = Counter(of_campaign()) + Counter(of_sessions(sessions))
    return select(budget_node_hours, plan, found, *nights_since(sessions, mode))


def reframe_options(selection: Selection) -> list[str]:
    """Return ReFrame's options that run the selected checks, and record those that are left out."""
    left_out = [choice.check for choice in selection.left_out]
    extras = f"--session-extras=budget={selection.budget_node_hours:g},left_out={':'.join(left_out)}"
    # The name of a case ends where its parameters begin.
    names = "|".join(map(re.escape, left_out))
    return [f"--exclude=^({names})(?![A-Za-z0-9_])", extras] if left_out else [extras]
