"""The command ``learn``."""

import argparse
import datetime
import fnmatch
import pathlib
import sys
from typing import Any

from kappa.ground.clean_text import clean
from kappa.ground.errors import InputError
from kappa.sites.expected import load_site
from reports.history.command import history_folder, probability

SITES = pathlib.Path("site_configs")


def add_command(commands: Any) -> None:
    learn = commands.add_parser(
        "learn",
        help="propose references from past runs, as a patch",
        description="Print a unified diff of the site's references: median and bounds of each metric over past runs\n"
        "without a failed node check, without transients and outliers, with source, window, number of samples\n"
        "and method. Nothing is changed:\n"
        "review the diff, then `git apply` it. What gives no reference is named on standard error, with why.\n"
        "Exit status: 0 something is proposed, 1 nothing is, 2 unusable input.\n"
        "With --check: 0 all that was checked fits, 1 some does not, 2 none could be held against samples.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    learn.add_argument("site", metavar="SITE", help="name of the site")
    learn.add_argument("--check", action="store_true", help="say which references are stale, too loose or too tight")
    learn.add_argument("--metric", metavar="PATTERN", default="*", help="shell pattern on CLASS.INDEX….METRIC")
    learn.add_argument(
        "--models", metavar="FILE", type=pathlib.Path,
        help="propose what these models of the hardware or contracts say, instead of past runs (see docs/history.md)",
    )  # fmt: skip
    learn.add_argument("--references", metavar="DIR", type=pathlib.Path, help="default: site_configs/SITE/references")
    learn.add_argument("--newest", metavar="N", type=int, default=500, help="values of each series (default: 500)")
    learn.add_argument(
        "--false-alarms", metavar="P", type=probability, default=0.001,
        help="how often a healthy value may be out of its bounds (default: 0.001)",
    )  # fmt: skip
    learn.add_argument("--max-age", metavar="DAYS", type=int, default=180, help="older is stale (default: 180)")
    learn.set_defaults(command=_learn)


def _learn(options: argparse.Namespace) -> int:
    # NumPy, SciPy and DuckDB take seconds to load, which the other commands need not wait for.
    from reports.learn.models import modelled  # noqa: PLC0415
    from reports.learn.patch import diff, read_references  # noqa: PLC0415

    folder = options.references or SITES / history_folder(options.site).parent.name / "references"
    if (folder.parent / "site.yaml").is_file():
        load_site(folder.parent)
    documents = read_references(folder)
    today = datetime.datetime.now(datetime.UTC).date()
    if options.models and not options.check:
        proposals = modelled(options.models)
        unknown = sorted({proposal.place.file for proposal in proposals} - set(documents))
        if unknown:
            raise InputError(f"{options.models}: {folder} has no {', '.join(unknown)}")
    else:
        found = _samples(options, documents)
        if options.check:
            return _check(options, found, documents, today)
        proposals = _proposals(options, found)
    print(clean(diff(folder, proposals, today)), end="")
    return 0 if proposals else 1


def _samples(options: argparse.Namespace, documents: dict[str, Any]) -> list[Any]:
    from reports.history import dataset  # noqa: PLC0415
    from reports.history.query import History  # noqa: PLC0415
    from reports.learn.samples import samples, unknown_checks  # noqa: PLC0415

    folder = history_folder(options.site)
    if options.check and not dataset.files(folder):
        print(f"{clean(str(folder))}: no results in there, only the age of references is looked at", file=sys.stderr)
        return []
    series = History(folder).series(options.newest, across_nodes=True, healthy=True)
    for unknown in unknown_checks(series, documents):
        print(clean(unknown), file=sys.stderr)
    return [
        one for one in samples(options.site, series, documents) if fnmatch.fnmatchcase(one.place.dotted, options.metric)
    ]


def _proposals(options: argparse.Namespace, found: list[Any]) -> list[Any]:
    from reports.learn.limits import RefusedError, learn_limits  # noqa: PLC0415
    from reports.learn.patch import Proposal  # noqa: PLC0415

    proposals = []
    informational = sum(one.informational for one in found)
    if informational:
        print(f"{informational} informational metrics left out: a reference would gate them", file=sys.stderr)
    for one in found:
        if one.informational:
            continue
        try:
            limits = learn_limits(one.values, one.sign, options.false_alarms)
        except RefusedError as err:
            print(f"no reference for {clean(one.place.dotted)}: {err}", file=sys.stderr)
            continue
        samples = len(one.values) - limits.outliers
        method = (
            f"median of {samples} values, {one.window}; bounds that a healthy value crosses with probability "
            f"{options.false_alarms:g} (MAD, Student's t), not inside what was measured; "
            f"{limits.outliers} outliers left out; no failed node check, no transient"
        )
        proposals.append(Proposal(one.place, limits, one.unit, "learned", samples, method))
    return proposals


def _check(options: argparse.Namespace, found: list[Any], documents: dict[str, Any], today: datetime.date) -> int:
    from reports.learn.check import check_references  # noqa: PLC0415

    checked = check_references(found, documents, options.metric, options.false_alarms, options.max_age, today)
    for objection in checked.objections:
        print(clean(f"{objection.what}: {objection.dotted}: {objection.why}"))
    for dotted in checked.undated:
        print(clean(f"of unknown age: {dotted}: no entry of $sources gives it a date"))
    for dotted, why in checked.not_held:
        print(clean(f"not held against samples: {dotted}: {why}"))
    print(
        f"{checked.held} references held against samples, {len(checked.not_held)} not; "
        f"{len(checked.undated)} of unknown age; {len({one.dotted for one in checked.objections})} do not fit"
    )
    return 1 if checked.objections else 0 if checked.held else 2
