"""The parser of every command, arguments that several commands share, and ``--json FILE``."""

from __future__ import annotations

import argparse
import datetime
import importlib
import json
import math
import pathlib
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from kappa.core.ground.clean_text import clean
from kappa.core.ground.errors import InputError, suggestion
from kappa.core.ground.folders import only_site, plain_name, site_folder, site_name, site_with_results
from kappa.core.ground.whole_files import written_beside

if TYPE_CHECKING:
    from kappa.core.sites.load import Site

T = TypeVar("T")
RUN_HELP = (
    "a site (its newest run), a JSON report of ReFrame, or a folder with runs, run-report*.json or report*.json"
    " (the newest one)"
)
SITE_HELP = "a site's name (`kappa site list` shows all), or the path to its folder"
STDOUT = pathlib.Path("-")


class CommandParser(argparse.ArgumentParser):
    """Parse the arguments of a command, which are declared only when they are needed. Suggest the nearest legal word.

    :param declares: the command's module in this folder, whose ``add_arguments`` gets this parser, or such a function.
    """

    after_dashes = ""
    """The option that gets the arguments after ``--``; empty if there may be none."""
    _commands: Any = None

    def __init__(self, prog: str | None = None, *, declares: Declares | None = None, **keywords: Any) -> None:
        super().__init__(prog, **{"formatter_class": argparse.RawDescriptionHelpFormatter, **keywords})
        self._declares = declares

    def describe(self, text: str | None, act: Act | None = None) -> None:
        """Set the text of ``--help``, with its examples last, and the function that acts and returns an exit status."""
        self.description, examples, self.epilog = (text or "").partition("\nexamples:\n")
        self.epilog = examples.lstrip() + self.epilog
        self.set_defaults(act=act)

    def add_command(self, name: str, summary: str, declares: Declares) -> None:
        self._commands = self._commands or self.add_subparsers(required=True, metavar="ACTION")
        title = f"{summary[0].upper()}{summary[1:]}."
        self._commands.add_parser(name, help=summary, description=title, declares=declares)

    def take_all(self, act: Act) -> None:
        """Leave all arguments to another program, as ``options.arguments``."""
        self.prefix_chars = "\0"
        self.add_argument("arguments", nargs=argparse.REMAINDER)
        self.set_defaults(act=act)

    def declare(self) -> None:
        """Declare the arguments, once."""
        declares, self._declares = self._declares, None
        if isinstance(declares, str):
            declares = importlib.import_module(f"{__package__}.{declares}").add_arguments
        if declares:
            declares(self)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        self.declare()
        if self.after_dashes:
            # Split first: argparse would give the words after `--` to other arguments.
            end = args.index("--") if "--" in args else len(args)
            self.set_defaults(**{self.after_dashes: args[end + 1 :]})
            args = args[:end]
        namespace, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return namespace, unknown

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            near = suggestion(str(value), map(str, action.choices))
            raise argparse.ArgumentError(action, f"there is no {clean(repr(value))}: {near}")


Act = Callable[[argparse.Namespace], int]
Declares = str | Callable[[CommandParser], None]


class ResolvedArgument(argparse.Action):
    """Store the result of a function, whose ``InputError`` is not about the usage of the command."""

    def __init__(self, *strings: Any, find: Callable[[str], Any], **keywords: Any) -> None:
        super().__init__(*strings, **keywords)
        self._find = find

    def __call__(self, parser: object, namespace: object, values: Any, option_string: object = None) -> None:
        setattr(namespace, self.dest, None if values is None else self._find(values))


def add_site(to: argparse.ArgumentParser, *, results: bool = False) -> None:
    """Add the argument SITE, and replace a path by the site's name.

    :param results: the command needs only results, so the site's description may be missing.
    """
    find = site_with_results if results else site_name
    to.add_argument("site", metavar="SITE", action=ResolvedArgument, find=find, help=SITE_HELP)


def add_stored(to: argparse._ActionsContainer, name: str, help: str = RUN_HELP, nargs: str | None = None) -> None:
    """Add the argument RUN, or an option that takes a run, and replace it by the path of the run's report."""
    to.add_argument(name, metavar="RUN", action=ResolvedArgument, find=_report, help=help, nargs=nargs)


def _report(given: str) -> pathlib.Path:
    from kappa.app.conduct.settling import settle_given
    from kappa.core.record.runs import find_run

    settle_given(given)
    return find_run(given)


def add_run(to: argparse.ArgumentParser) -> None:
    add_stored(to, "run")
    to.add_argument(
        "--site", metavar="SITE", action=ResolvedArgument, find=_judging_site,
        help="judge by this site: a name or a folder with site.yaml (default: the run's site)",
    )  # fmt: skip
    to.add_argument(
        "--mode", metavar="MODE", help="judge by this mode (default: the session's mode, else the site's default mode)"
    )


def _judging_site(given: str) -> Site:
    from kappa.core.sites.load import Site
    from kappa.core.sites.site_file import FILE

    folder = pathlib.Path(given)
    if not (folder / FILE).is_file():
        folder = site_folder(given)
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


def add_json(to: argparse._ActionsContainer) -> None:
    to.add_argument(
        "--json", metavar="FILE", type=pathlib.Path,
        help="also write the result to FILE as JSON; with - write only JSON, to standard output",
    )  # fmt: skip


def checked(parse: Callable[[str], T], expected: str = "") -> Callable[[str], T]:
    """Return the type of an argument: ``parse``, or a message on what was expected if it raises ``ValueError``."""

    def convert(text: str) -> T:
        try:
            return parse(text)
        except ValueError as err:
            problem = f"expected {expected}, found {text!r}" if expected else str(err)
            raise argparse.ArgumentTypeError(problem) from None

    return convert


def between(text: str, most: float) -> float:
    value = float(text)
    if not 0 < value < most:
        raise ValueError
    return value


name = checked(plain_name)
node_hours = checked(lambda text: between(text, math.inf), "node-hours, a number above 0 such as 5 or 0.5")
probability = checked(lambda text: between(text, 1), "a number between 0 and 1")


def _moment(text: str) -> datetime.datetime:
    time = datetime.datetime.fromisoformat(text)
    if time.tzinfo is None:
        # In autumn an hour is there twice.
        raise ValueError
    return time.astimezone(datetime.UTC)


moment = checked(_moment, "a time with its zone, such as 2026-12-03T03:58Z")


def whole(least: int, most: float = math.inf) -> Callable[[str], int]:
    """Return the type of an argument that is a whole number from ``least`` to ``most``."""

    def convert(text: str) -> int:
        if not text.isdecimal() or not least <= int(text) <= most:
            raise ValueError
        return int(text)

    return checked(
        convert, f"a whole number of {least} or more" if most == math.inf else f"a number from {least} to {most}"
    )


def add_rotation(to: argparse._ActionsContainer, default: int, nights_help: str) -> None:
    to.add_argument("--nights", metavar="N", type=whole(0), default=default, help=f"{nights_help} (default: {default})")
    to.add_argument(
        "--repeats", metavar="N", type=whole(1, 20), default=3,
        help="measure each due node N times, to find slow-downs smaller than the noise (default: 3)",
    )  # fmt: skip


def add_series(to: argparse.ArgumentParser, false_alarms_help: str) -> None:
    to.add_argument(
        "--newest", metavar="N", type=int, default=500, help="use the newest N values of each series (default: 500)"
    )
    to.add_argument(
        "--false-alarms", metavar="P", type=probability, default=0.001, help=f"{false_alarms_help} (default: 0.001)"
    )


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
