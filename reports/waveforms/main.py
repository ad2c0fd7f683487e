"""Implement ``emt plot`` (also ``emt-plot``): draw waveforms of runs of the EMT application."""

import argparse
import sys
from pathlib import Path

from kappa.core.ground.errors import InputError
from reports.waveforms.panels import between, panels, prefixed
from reports.waveforms.recording import read_run

_EPILOG = """\
examples:
  emt plot run.cff -o run.html                                all channels, with zoom
  emt plot run.cff --channels 'S30.*' --from 0.95 --to 1.25 -o fault.png
  emt plot slack.cff step.csv --difference -o change.html     two runs together, and the second minus the first
"""


def main(arguments: list[str] | None = None) -> int:
    """Write the picture and return the exit status: 0, or 2 with a message on standard error."""
    options = _parser().parse_args(arguments)
    try:
        drawn = panels([read_run(path) for path in options.run], options.channels, difference=options.difference)
        drawn = [prefixed(panel) for panel in between(drawn, options.begin_s, options.end_s)]
        # Each import takes a second.
        if options.output.suffix.lower() == ".png":
            from reports.waveforms.png_picture import write_png  # noqa: PLC0415

            write_png(options.output, drawn)
        elif options.output.suffix.lower() in (".html", ".htm"):
            from reports.waveforms.html_page import write_html  # noqa: PLC0415

            write_html(options.output, ", ".join(options.run), drawn)
        else:
            raise InputError(f"{options.output}: expected a file that ends in .png or .html")
    except InputError as err:
        print(f"emt plot: error: {err}", file=sys.stderr)
        return 2
    except OSError as err:
        print(f"emt plot: error: {err.filename or options.output}: {err.strerror or err}", file=sys.stderr)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="emt plot", description="Draw channels of waveforms as PNG, or as HTML with zoom.",
        epilog=_EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument(
        "run", nargs="+", metavar="RUN",
        help="COMTRADE (.cff, .cfg beside its .dat), HDF5 (.h5, .hdf5) or the CSV of probes; for a run with a file for "
        "each rank, the name without the rank",
    )  # fmt: skip
    parser.add_argument("-o", "--output", required=True, type=Path, metavar="FILE", help=".png or .html")
    parser.add_argument(
        "--channels", action="append", default=[], metavar="PATTERN", help="shell pattern; repeatable; default: all"
    )
    parser.add_argument("--difference", action="store_true", help="for two runs: also the second minus the first")
    parser.add_argument("--from", dest="begin_s", type=float, metavar="S", help="start in s; default: the first value")
    parser.add_argument("--to", dest="end_s", type=float, metavar="S", help="end in s; default: the last value")
    return parser


if __name__ == "__main__":
    sys.exit(main())
