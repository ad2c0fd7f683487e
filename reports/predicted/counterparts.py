"""What was simulated for a run's partitions: the newest results of the fabric that a partition names as its own."""

import pathlib
from collections.abc import Iterator

from kappa.core.fabrics.description import find_fabric
from kappa.core.ground.errors import InputError
from kappa.core.record.load import load_session
from kappa.core.record.model import Case
from kappa.core.sites.places import SIMULATED_SITE, fabrics_beside
from kappa.core.sites.site_file import SiteDescription
from reports.predicted.pairs import Pair, pairs
from reports.verdict.judge import Verdict

#: So many runs are looked through for the newest result of each case.
RUNS = 8


def predicted_pairs(verdict: Verdict) -> list[Pair]:
    """The figures of the run beside what is predicted for them; none without a prediction.

    The simulated results lie beside the site's own, in a folder of the simulated site.

    :raises InputError: there are results of a fabric whose file is gone or broken, so that its error is not known.
    """
    site = verdict.site.description if verdict.site else None
    named = {name: one.predicted_by for name, one in site.described.partitions.items()} if site else {}
    named = {name: fabric for name, fabric in named.items() if fabric}
    if site is None or not named:
        return []
    newest = _newest(pathlib.Path(verdict.session.path).absolute(), site.name)
    predicted = {
        partition: [case for case in newest if case.simulation and case.simulation.fabric == fabric]
        for partition, fabric in named.items()
    }
    fabrics = {str(named[partition]) for partition, cases in predicted.items() if cases}
    errors = {fabric: _error(site, fabric) for fabric in fabrics}
    return pairs([found.case for found in verdict.cases], predicted, errors)


def _newest(report: pathlib.Path, site: str) -> list[Case]:
    """The newest of each case on a sound fabric."""
    found: dict[tuple[str, ...], Case] = {}
    for path in _reports(report, site):
        try:
            session = load_session(path)
        except InputError:
            continue
        for case in (case for cases in session.runs for case in cases):
            if case.result == "pass" and case.simulation and case.simulation.variant == "sound":
                found.setdefault(case.identity, case)
    return list(found.values())


def _reports(report: pathlib.Path, site: str) -> Iterator[pathlib.Path]:
    results = next((folder for folder in report.parents if folder.name == site), None)
    runs = results.parent / SIMULATED_SITE / "runs" if results else pathlib.Path("results", SIMULATED_SITE, "runs")
    yield from sorted(runs.glob("*/run-report.json"), reverse=True)[:RUNS]


def _error(site: SiteDescription, fabric: str) -> float | None:
    """The fabric's error on what was held out, as a factor; ``None`` where it is known from specifications alone."""
    fabrics = fabrics_beside(site.folder)
    return find_fabric(fabrics, fabric).error if fabrics else None
