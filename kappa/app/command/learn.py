"""Propose references from past runs, as a unified diff: the median and bounds of each metric, with source, window,
number of samples and method. Kappa changes no file. Review the diff, then apply it with `git apply`.

Kappa leaves out runs with a failed node check, transients and outliers. It names each metric without a proposal on
standard error, with the reason.

Exit status: 0 a reference is proposed, 1 none is, 2 unusable input.
With --check: 0 all checked references fit, 1 one does not fit, 2 no reference could be compared with samples.

examples:
  kappa learn embedded > new.patch         write a patch, for review
  kappa learn embedded --check             list references that are stale, too loose or too tight
"""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import fnmatch
import math
import os
import pathlib
import sys
from typing import TYPE_CHECKING, Any

from kappa.app.command.arguments import CommandParser, add_json, add_series, add_site, alone, write_json
from kappa.core.ground.clean_text import clean
from kappa.core.ground.errors import InputError
from kappa.core.ground.folders import history_folder, only_site, own_sites

if TYPE_CHECKING:
    from reports.learn.check import Checked
    from reports.learn.samples import ReferenceSample


def add_arguments(to: CommandParser) -> None:
    to.describe(__doc__, run)
    add_site(to, results=True)
    to.add_argument("--check", action="store_true", help="list references that are stale, too loose or too tight")
    add_json(to)
    to.add_argument(
        "--metric", metavar="PATTERN", default="*", help="only metrics CLASS.INDEX….METRIC that match a shell pattern"
    )
    to.add_argument(
        "--models", metavar="FILE", type=pathlib.Path,
        help="propose references from these models of the hardware or contracts, not from runs (docs/history.md)",
    )  # fmt: skip
    to.add_argument("--references", metavar="DIR", type=pathlib.Path, help="default: site_configs/SITE/references")
    add_series(to, "accepted share of healthy values out of bounds")
    to.add_argument(
        "--max-age", metavar="DAYS", type=int, default=180, help="call a reference stale after DAYS (default: 180)"
    )


def run(options: argparse.Namespace) -> int:
    from kappa.core.sites.load import Site
    from reports.learn.check import check_references
    from reports.learn.models import modelled
    from reports.learn.proposals import diff, proposals, read_references

    # Relative to this folder: `git apply` applies the diff here.
    site = only_site(options.site) or own_sites() / options.site
    folder = options.references or pathlib.Path(os.path.relpath(site / "references"))
    Site(folder.parent).require_references()
    documents = read_references(folder)
    today = datetime.datetime.now(datetime.UTC).date()
    if options.check:
        found = _samples(options, documents)
        return _show(
            options,
            check_references(found, documents, options.metric, options.false_alarms, options.max_age, today),
        )
    if options.json:
        raise InputError("--json needs --check: without it, the output is a diff")
    if options.models:
        proposed = modelled(options.models)
        unknown = sorted({proposal.place.file for proposal in proposed} - set(documents))
        if unknown:
            raise InputError(f"{options.models}: names files that are not in {folder}: {', '.join(unknown)}")
    else:
        proposed, refused = proposals(_samples(options, documents), options.false_alarms, _of_nights(options))
        for why in refused:
            print(clean(why), file=sys.stderr)
        for one in sorted(proposed, key=lambda one: -one.sight.in_a_run if one.sight else -math.inf):
            print(clean(f"{one.place.dotted}: {one.finds}"), file=sys.stderr)
    print(clean(diff(folder, proposed, today)), end="")
    return 0 if proposed else 1


def _samples(options: argparse.Namespace, documents: dict[str, Any]) -> list[ReferenceSample]:
    from reports.history import dataset
    from reports.learn.samples import samples, unknown_checks

    folder = history_folder(options.site)
    if options.check and not dataset.files(folder):
        print(f"{clean(str(folder))}: no results here, so only the age of references is checked", file=sys.stderr)
        return []
    series = [one for one in dataset.History(folder).series(options.newest, healthy=True) if not one.of_node]
    for unknown in unknown_checks(series, documents):
        print(clean(unknown), file=sys.stderr)
    found = samples(options.site, series, documents, options.newest)
    return [one for one in found if fnmatch.fnmatchcase(one.place.dotted, options.metric)]


def _of_nights(options: argparse.Namespace) -> float:
    """Return the rate of false positives for each series in a night: the more series, the lower the rate."""
    from reports.history.dataset import History
    from reports.history.judgement import false_alarms_of, nightly_series

    return false_alarms_of(nightly_series(History(history_folder(options.site)), options.newest))


def _show(options: argparse.Namespace, checked: Checked) -> int:
    status = 1 if checked.objections else 0 if checked.held else 2
    write_json(options.json, {"site": options.site, "exit_status": status, **dataclasses.asdict(checked)})
    if not alone(options.json):
        for objection in checked.objections:
            print(clean(f"{objection.what}: {objection.dotted}: {objection.why}"))
        for dotted in checked.undated:
            print(clean(f"of unknown age: {dotted}: no entry of $sources has a date for it"))
        for dotted, why in checked.not_held:
            print(clean(f"not compared with samples: {dotted}: {why}"))
        print(
            f"{checked.held} references compared with samples, {len(checked.not_held)} not; "
            f"{len(checked.undated)} of unknown age; {len({one.dotted for one in checked.objections})} do not fit"
        )
    return status
