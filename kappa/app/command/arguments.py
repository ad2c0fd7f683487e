"""Arguments that several commands have, how all of their parsers look, and ``--json FILE``."""

from __future__ import annotations

import argparse
import json
import math
import pathlib
from typing import TYPE_CHECKING, Any

from kappa.core.ground.clean_text import clean
from kappa.core.ground.errors import InputError, suggestion
from kappa.core.ground.folders import only_site, plain_name, site_folder, site_name, site_with_results
from kappa.core.ground.whole_files import write_atomically

if TYPE_CHECKING:

    from kappa.core.sites.load import Site

RUN_HELP = (
    "a site, whose newest run counts, or ReFrame's JSON report, or a folder with run-report*.json or report*.json"
    " (the newest counts) or with runs"
)
SITE_HELP = "name of a site (`kappa site list`), or the path to its folder"
# How often a night measures each node whose turn it is.
REPEATS = 3
JSON_HELP = "write FILE for machines, too; - writes it on standard output, and nothing else"
STDOUT = pathlib.Path("-")


class Words(argparse.ArgumentParser):
    """A parser that suggests the nearest legal word."""

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            near = suggestion(str(value), map(str, action.choices))
            raise argparse.ArgumentError(action, f"there is no {clean(repr(value))}: {near}")


class GivenSite(str):
    """What stands for a site: its name, or the path to its folder."""

    def resolved(self) -> str:
        return site_name(self)


class GivenSiteWithResults(str):
    """What stands for a site of which there may be nothing but a folder with results."""

    def resolved(self) -> str:
        return site_with_results(self)


class GivenRun(str):
    """What stands for a run: the path of its report or folder, or a site whose newest it is."""

    def resolved(self) -> pathlib.Path:
        from kappa.app.conduct.validation import settle_given
        from kappa.core.record.runs import find_run

        settle_given(self)
        return find_run(self)


def resolved(options: argparse.Namespace) -> argparse.Namespace:
    """Put the name in place of each given site, and the path of its report in place of each given run.

    :raises InputError: there is no such site or run; the message suggests the nearest one.
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
    """Add SITE, for `resolved`.

    :param results: for a command that needs nothing but results, which a site may have left.
    """
    to.add_argument("site", metavar="SITE", type=GivenSiteWithResults if results else GivenSite, help=SITE_HELP)


def add_stored(to: argparse.ArgumentParser, name: str, help: str = RUN_HELP, nargs: str | None = None) -> None:
    """Add a RUN, or an option with one, for `resolved`."""
    to.add_argument(name, metavar="RUN", type=GivenRun, help=help, nargs=nargs)


def add_run(to: argparse.ArgumentParser) -> None:
    add_stored(to, "run")
    to.add_argument(
        "--site", metavar="SITE", help="judge by this site: a name, or a folder with site.yaml (default: the run's)"
    )
    to.add_argument(
        "--mode",
        metavar="MODE",
        help="the mode that had to run (default: the session's, or else the site's default)",
    )


def site_of(options: argparse.Namespace) -> Site | None:
    """The site that ``--site`` names, if it was given.

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
        raise InputError(f"there is no {clean(str(folder / FILE))}: --site names a site, or the folder of one")
    return Site(folder)


def require_described(site: str) -> None:
    """Read ``site.yaml`` of the site of this name, if it lies here: a wrong name in it is told before it is used.

    :raises InputError: it cannot be used.
    """
    from kappa.core.sites.load import Site

    folder = only_site(site)
    if folder:
        Site(folder).require_description()


def add_json(to: argparse.ArgumentParser) -> None:
    to.add_argument("--json", metavar="FILE", type=pathlib.Path, help=JSON_HELP)


def add_table(to: argparse.ArgumentParser) -> None:
    to.add_argument(
        "--table", metavar="FILE", type=pathlib.Path, help="write the tables into this Markdown file, between its marks"
    )


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
        raise argparse.ArgumentTypeError(f"expected a whole number from 1 on, found {text!r}")
    return int(text)


def nights(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"expected a number of nights, 0 for no rotation, found {text!r}")
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
    """What comes before ``--``, and what follows it, which is for ReFrame."""
    split = arguments.index("--") if "--" in arguments else len(arguments)
    return arguments[:split], arguments[split + 1 :]


def alone(path: pathlib.Path | None) -> bool:
    """Whether nothing else may be printed on standard output."""
    return path == STDOUT


def write_json(path: pathlib.Path | None, document: Any) -> None:
    """Write ``document``, or a text that is JSON already, if it was asked for.

    :raises InputError: the file cannot be written; nothing is left behind.
    """
    if path is None:
        return
    # What is no number in JSON (infinity, for instance) is none here either.
    text = document if isinstance(document, str) else json.dumps(document, indent=1, allow_nan=False) + "\n"
    if alone(path):
        print(text, end="", flush=True)
    else:
        write_atomically(path, text)
