"""Arguments that several commands share, the common parser, and ``--json FILE``."""

from __future__ import annotations

import argparse
import json
import math
import pathlib
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from kappa.core.ground.clean_text import clean
from kappa.core.ground.errors import InputError, suggestion
from kappa.core.ground.folders import only_site, plain_name, site_folder, site_name, site_with_results
from kappa.core.ground.whole_files import written_beside

if TYPE_CHECKING:

    from kappa.core.sites.load import Site

RUN_HELP = (
    "a site (its newest run), a JSON report of ReFrame, or a folder with runs, run-report*.json or report*.json"
    " (the newest one)"
)
SITE_HELP = "a site's name (`kappa site list` shows all), or the path to its folder"
# How often a night measures each node that is due.
REPEATS = 3
JSON_HELP = "also write the result to FILE as JSON; with - write only JSON, to standard output"
STDOUT = pathlib.Path("-")


class Words(argparse.ArgumentParser):
    """An argument parser that suggests the nearest legal word."""

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            near = suggestion(str(value), map(str, action.choices))
            raise argparse.ArgumentError(action, f"there is no {clean(repr(value))}: {near}")


class GivenSite(str):
    """A site as given on the command line: its name, or the path to its folder."""

    def resolved(self) -> str:
        return site_name(self)


class GivenSiteWithResults(str):
    """A site as given on the command line. Only its folder with results must exist."""

    def resolved(self) -> str:
        return site_with_results(self)


class GivenRun(str):
    """A run as given on the command line: the path of its report or folder, or a site, for its newest run."""

    def resolved(self) -> pathlib.Path:
        from kappa.app.conduct.validation import settle_given
        from kappa.core.record.runs import find_run

        settle_given(self)
        return find_run(self)


def resolved(options: argparse.Namespace) -> argparse.Namespace:
    """Replace each given site by its name, and each given run by the path of its report.

    :raises InputError: there is no such site or run. The message suggests the nearest one.
    """
    for key, given in vars(options).items():
        if isinstance(given, GivenSite | GivenSiteWithResults | GivenRun):
            setattr(options, key, given.resolved())
    return options


def parser(name: str, description: str, examples: str = "", usage: str | None = None) -> Words:
    return Words(
        f"kappa {name}",
        description=description,
        epilog=f"examples:\n{examples}" if examples else None,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage=usage,
    )


def add_site(to: argparse.ArgumentParser, *, results: bool = False) -> None:
    """Add the argument SITE, for `resolved`.

    :param results: the command needs only results, so the site's description may be missing.
    """
    to.add_argument("site", metavar="SITE", type=GivenSiteWithResults if results else GivenSite, help=SITE_HELP)


def add_stored(to: argparse.ArgumentParser, name: str, help: str = RUN_HELP, nargs: str | None = None) -> None:
    """Add the argument RUN, or an option that takes a run, for `resolved`."""
    to.add_argument(name, metavar="RUN", type=GivenRun, help=help, nargs=nargs)


def add_run(to: argparse.ArgumentParser) -> None:
    add_stored(to, "run")
    to.add_argument(
        "--site", metavar="SITE", help="judge by this site: a name or a folder with site.yaml (default: the run's site)"
    )
    to.add_argument(
        "--mode",
        metavar="MODE",
        help="judge by this mode (default: the session's mode, else the site's default mode)",
    )


def site_of(options: argparse.Namespace) -> Site | None:
    """Return the site that ``--site`` names, or None if the option was not given.

    :raises InputError: there is no such site.
    """
    from kappa.core.sites.load import Site
    from kappa.core.sites.site_file import FILE

    if not options.site:
        return None
    folder = pathlib.Path(options.site)
    if not (folder / FILE).is_file():
        folder = site_folder(options.site)
    if not (folder / FILE).is_file():
        raise InputError(f"there is no {clean(str(folder / FILE))}: give --site a site's name, or its folder")
    return Site(folder)


def require_described(site: str) -> None:
    """Read ``site.yaml`` of the named site, if its folder exists, so that its mistakes are reported first.

    :raises InputError: the file cannot be used.
    """
    from kappa.core.sites.load import Site

    folder = only_site(site)
    if folder:
        Site(folder).require_description()


def add_json(to: argparse.ArgumentParser) -> None:
    to.add_argument("--json", metavar="FILE", type=pathlib.Path, help=JSON_HELP)


def name(text: str) -> str:
    try:
        return plain_name(text)
    except InputError as err:
        raise argparse.ArgumentTypeError(str(err)) from None


def node_hours(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (0 < value < math.inf):
        raise argparse.ArgumentTypeError(f"expected node-hours, a number above 0 such as 5 or 0.5, found {text!r}")
    return value


def number(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"expected a whole number of 1 or more, found {text!r}")
    return int(text)


def nights(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"expected a number of nights, or 0 for no rotation, found {text!r}")
    return int(text)


def repeats(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 20:
        raise argparse.ArgumentTypeError(f"expected a number from 1 to 20, found {text!r}")
    return int(text)


def probability(text: str) -> float:
    value = float(text)
    if not 0 < value < 1:
        raise ValueError(text)
    return value


def split_options(arguments: list[str]) -> tuple[list[str], list[str]]:
    """Return the arguments before ``--``, and those after it, which are for ReFrame."""
    split = arguments.index("--") if "--" in arguments else len(arguments)
    return arguments[:split], arguments[split + 1 :]


def alone(path: pathlib.Path | None) -> bool:
    """Return whether the JSON goes to standard output, so that nothing else may be printed there."""
    return path == STDOUT


def write_json(path: pathlib.Path | None, document: Any) -> None:
    """Write ``document`` as JSON, unless ``path`` is None.

    A ``str`` is written as it is, and so are the pieces of an iterator.

    :raises InputError: the file cannot be written. No partial file remains.
    """
    if path is None:
        return
    if not isinstance(document, str | Iterator):
        # JSON has no infinity and no NaN, so refuse them.
        document = json.dumps(document, indent=1, allow_nan=False) + "\n"
    pieces = [document] if isinstance(document, str) else document
    if alone(path):
        for piece in pieces:
            sys.stdout.write(piece)
        sys.stdout.flush()
    else:
        with written_beside(path) as file:
            file.writelines(piece.encode() for piece in pieces)
