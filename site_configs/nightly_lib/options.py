"""Command line of ``nightly``."""

import argparse
import datetime
import pathlib
import re

_DESCRIPTION = """\
Without --schedule: run one night now. With it: arrange that a night runs every night.

A night runs the site's mode, measures the nodes whose turn it is one by one, and ends within its limit. Then it
writes the dashboard and the message to results/SITE/nightly. What did not run is INCOMPLETE. What follows `--` is for
ReFrame.

Exit status: 0 PASS, 1 FAIL, 2 INCOMPLETE, 75 another night of the site is running. With --gate, 1 also when a series
is worse than before.
"""
_EXAMPLES = """\
examples:
  nightly mycluster --schedule sbatch --at 02:00 --limit 4h --slurm=--partition=service --dry-run
  nightly mycluster --schedule scrontab --at 02:00 --nights 14
  nightly mycluster --schedule systemd > units.txt
  nightly mycluster --limit 30m -- -n NodeLinks
"""
_DURATION = re.compile(r"(?=.)(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?")
_SITE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
SCHEDULES = ("scrontab", "sbatch", "systemd")


def duration(text: str) -> int:
    """``4h``, ``90m``, ``1h30m`` or ``45s`` in seconds."""
    found = _DURATION.fullmatch(text)
    hours, minutes, rest = (int(part or 0) for part in found.groups()) if found else (0, 0, 0)
    seconds = 3600 * hours + 60 * minutes + rest
    if seconds < 30:
        raise argparse.ArgumentTypeError(f"expected a duration such as 4h, 90m or 1h30m, at least 30s, found {text!r}")
    return seconds


def _time(text: str) -> datetime.time:
    try:
        return datetime.datetime.strptime(text, "%H:%M").time()
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a time such as 02:00, found {text!r}") from None


def _date(text: str) -> str:
    try:
        return datetime.date.fromisoformat(text).isoformat()
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a day such as 2026-11-30, found {text!r}") from None


def _site(text: str) -> str:
    if not _SITE.fullmatch(text):
        raise argparse.ArgumentTypeError(f"expected the name of a folder of site_configs, found {text!r}")
    return text


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"expected a number of nights, 0 for no rotation, found {text!r}")
    return int(text)


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        "nightly",
        description=_DESCRIPTION,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="nightly SITE [OPTION…] [-- REFRAME-OPTION…]",
    )
    parser.add_argument("site", metavar="SITE", type=_site, help="name of the site")
    parser.add_argument("--schedule", choices=SCHEDULES, help="arrange a night every night; systemd prints its units")
    parser.add_argument("--at", metavar="HH:MM", type=_time, default="02:00", help="when it starts (default: 02:00)")
    parser.add_argument("--dry-run", action="store_true", help="with --schedule: print what would be done")
    parser.add_argument("--limit", metavar="TIME", type=duration, default="4h", help="end by then (default: 4h)")
    parser.add_argument(
        "--nights", metavar="N", type=_count, default=7,
        help="nights within which each node is measured on its own; 0: no such rotation (default: 7)",
    )  # fmt: skip
    parser.add_argument("--mode", metavar="MODE", default="nightly", help="the site's mode (default: nightly)")
    parser.add_argument("--night", metavar="DATE", type=_date, help="the day it counts for (default: today)")
    parser.add_argument("--textfile", metavar="DIR", type=pathlib.Path, help="node_exporter's textfile directory")
    parser.add_argument("--gate", action="store_true", help="the history counts, too: status 1 when a series is worse")
    parser.add_argument(
        "--slurm", metavar="OPTION", action="append", default=[],
        help="option for sbatch or #SCRON, as --slurm=--account=ops",
    )  # fmt: skip
    parser.add_argument("--resubmit", action="store_true", help=argparse.SUPPRESS)
    split = arguments.index("--") if "--" in arguments else len(arguments)
    options = parser.parse_args(arguments[:split])
    options.reframe = arguments[split + 1 :]
    return options
