"""Where the raw output of a session lies: below the folder of its report, also when that was copied elsewhere."""

import os
import pathlib
from collections.abc import Iterator

# Folder beside a report with the reports of what was measured again.
CONFIRMATIONS = "confirmations"
# ReFrame's names: of what failed or still runs, and of what passed.
STAGE, OUTPUT = "stage", "output"
# Beside the output of what was measured again in the same allocation: that of the first measurement.
FIRST_FOLDER = "first_measurement"
# Beside them, and not removed with them: figures of pairs, too many for the report.
MATRICES = "matrices"
# What ReFrame itself printed.
PRINTED = "reframe.out"
# The page beside a report that leads to its raw output.
PAGE = "report.html"


def raw_folder(report: pathlib.Path) -> pathlib.Path:
    """The folder with ``STAGE``, ``OUTPUT`` and ``PRINTED`` of this report's session; several may confirm one run."""
    return report.with_suffix("") if report.parent.name == CONFIRMATIONS else report.parent


def raw_output_below(folder: pathlib.Path) -> Iterator[pathlib.Path]:
    """Every folder ``STAGE`` or ``OUTPUT`` of the sessions whose reports lie below ``folder``."""
    for place, names, _ in os.walk(folder):
        raw = [name for name in names if name in (STAGE, OUTPUT)]
        names[:] = [name for name in names if name not in raw]
        yield from (pathlib.Path(place, name) for name in raw)


def as_it_lies(folder: str | None, prefix: str, kept: pathlib.Path) -> str | None:
    """The ``folder`` of a case, below the ``prefix`` of its session then, where it lies below ``kept`` now.

    ``folder`` itself when there is none of that name: what ran without a folder of its own lies where it ran.
    """
    recorded = pathlib.PurePath(folder or "")
    if not folder or not prefix or not recorded.is_relative_to(prefix):
        return folder
    now = kept / recorded.relative_to(prefix)
    return str(now) if now.is_dir() else folder
