"""The gate passes a verdict that is INCOMPLETE only because others used this machine."""

import json
import pathlib
import subprocess
from collections.abc import Mapping
from typing import Any

BUSY = "busy"


def busy_reasons(verdict: Mapping[str, Any]) -> int:
    """Return the number of reasons why ``verdict`` (``kappa show --json``) is INCOMPLETE, or 0 if one is another."""
    reasons = verdict["incomplete"]
    only_busy = verdict["verdict"] == "INCOMPLETE" and all(reason["cause"] == BUSY for reason in reasons)
    return len(reasons) if only_busy else 0


def excuse(run: pathlib.Path, kappa: pathlib.Path, into: pathlib.Path) -> str:
    """Return why the validation in the folder ``run`` passes although it is INCOMPLETE, or nothing.

    :param into: the file for the verdict's JSON.
    """
    report, page = run / "run-report.json", run / "report.html"
    # Without the page the validation did not come to its end.
    if not report.exists() or not page.exists():
        return ""
    into.unlink(missing_ok=True)
    subprocess.run([kappa, "show", report, "--json", into], stdout=subprocess.DEVNULL, check=False)
    if not into.exists():
        return ""
    count = busy_reasons(json.loads(into.read_text(encoding="utf-8")))
    return f"INCOMPLETE only because this machine was busy (reasons: {count})" if count else ""
