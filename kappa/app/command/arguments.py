"""Arguments that several commands have, how all of their parsers look, and ``--json FILE``."""

import argparse
import json
import math
import pathlib
from typing import Any

from kappa.core.ground.clean_text import clean
from kappa.core.ground.errors import InputError
from kappa.core.ground.folders import only_site, plain_name
from kappa.core.ground.whole_files import write_atomically
from kappa.core.sites.load import Site
from kappa.core.sites.site_file import FILE

RUN_HELP = "ReFrame's JSON report, or a folder with run-report*.json or report*.json (the newest counts)"
# How often a night measures each node whose turn it is.
REPEATS = 3
JSON_HELP = "write FILE for machines, too; - writes it on standard output, and nothing else"
STDOUT = pathlib.Path("-")


def parser(name: str, description: str, examples: str = "", usage: str | None = None) -> argparse.ArgumentParser:
    return argparse.ArgumentParser(
        f"kappa {name}",
        description=description,
        epilog=f"examples:\n{examples}" if examples else None,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage=usage,
    )


def add_site(to: argparse.ArgumentParser) -> None:
    to.add_argument("site", metavar="SITE", type=name, help="name of a folder of site_configs")


def add_run(to: argparse.ArgumentParser) -> None:
    to.add_argument("run", metavar="RUN", type=pathlib.Path, help=RUN_HELP)
    to.add_argument(
        "--site",
        metavar="DIR",
        type=pathlib.Path,
        help="the site's folder with its site.yaml (default: site_configs/SYSTEM, SYSTEM as in the report)",
    )
    to.add_argument(
        "--mode",
        metavar="MODE",
        help="the mode that had to run (default: the session's, or else the site's default)",
    )


def site_of(options: argparse.Namespace) -> Site | None:
    """The site that ``--site`` names, if it was given.

    :raises InputError: there is none in that folder.
    """
    if options.site and not (options.site / FILE).is_file():
        raise InputError(f"there is no {clean(str(options.site / FILE))}: --site names the folder of a site")
    return Site(options.site) if options.site else None


def require_described(site: str) -> None:
    """Read ``site.yaml`` of the site of this name, if it lies here: a wrong name in it is told before it is used.

    :raises InputError: it cannot be used.
    """
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
