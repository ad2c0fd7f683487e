"""What a site offers: a dry run of ReFrame that lists its cases; nothing is submitted."""

import json
import pathlib
import re
import tempfile
from collections.abc import Sequence
from typing import Any

from kappa.app.conduct.progress import Progress
from kappa.app.conduct.session import CHECKS, Conductor, NoReportError, Session
from kappa.core.ground.clean_text import clean
from kappa.core.ground.errors import InputError
from kappa.core.record.load import load_session
from kappa.core.record.model import Case
from kappa.core.sites.contract import Contract
from reports.acceptance.campaign import REPORT
from reports.acceptance.plan import Offer
from reports.acceptance.series import Series

# The check that brings the census of what the site could run.
CENSUS = "PartitionState"


def offers(site: pathlib.Path, contract: Contract, conductor: Conductor) -> list[Offer]:
    """The cases of the suite that ReFrame finds on the site in the folder ``site``.

    Only those of the checks that the contract names, and the census, if no clause is after a family. Errors as of
    ``listed``.
    """
    options = [f"--system={contract.system}", *of_mode(contract), *_named(contract)]
    return [
        Offer(Series.of(case), case, nodes_of(entry), case.stated_s or None, entry.get("time_limit"), _needed(entry))
        for case, entry in listed(site, options, conductor)
        if case.check_class is not None
    ]


def listed(site: pathlib.Path, options: Sequence[str], conductor: Conductor) -> list[tuple[Case, dict[str, Any]]]:
    """The cases that ReFrame selects by ``options`` on the site in the folder ``site``, each with its entry.

    :raises InputError: ReFrame cannot use the site's settings; with the last that it said.
    :raises StoppedError: there was a reason to stop.
    """
    with tempfile.TemporaryDirectory(prefix="kappa-plan-") as folder:
        scratch = pathlib.Path(folder)
        report = scratch / REPORT
        # A dry run leaves its job scripts behind.
        command = ["--dry-run", *options, f"--prefix={scratch}"]
        told = f"ReFrame lists what {clean(site.name)} offers"
        listing = Session(site / "settings.py", report, command, folder=scratch, tell=Progress(told))
        try:
            listing.run(conductor)
        except NoReportError as err:
            raise InputError(f"ReFrame cannot list the checks of {clean(str(site))}: {err}") from None
        cases = [case for run in load_session(report).runs for case in run]
        entries = [entry for run in json.loads(report.read_text("utf-8"))["runs"] for entry in run["testcases"]]
    return list(zip(cases, entries, strict=True))


def of_mode(contract: Contract) -> list[str]:
    return [f"--mode={contract.mode}"] if contract.mode else []


def _named(contract: Contract) -> list[str]:
    checks = [clause.selector.check for clause in contract.clauses if clause.selector.check]
    if len(checks) < len(contract.clauses):
        return []
    return [f"--name=^({'|'.join(map(re.escape, sorted({CENSUS, *checks})))})(%|$)"]


def _needed(entry: dict[str, Any]) -> pathlib.Path:
    # The census tells of the checks that were not loaded.
    return CHECKS if "census" in entry else pathlib.Path(entry["filename"])


def nodes_of(entry: dict[str, Any]) -> int | None:
    """Nodes of the job; ``None`` when the scheduler decides."""
    tasks, per_node = entry.get("num_tasks"), entry.get("num_tasks_per_node")
    if not tasks or tasks < 0:
        return None
    return -(-tasks // per_node) if per_node else 1
