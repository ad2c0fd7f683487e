"""Actions on nodes in words."""

import datetime
import shlex

from kappa.core.ground.clean_text import one_line
from kappa.core.record.actions import Action

LINE_LIMIT = 400
_WORDS = {
    ("drain", "begun"): "to be drained",
    ("drain", "done"): "drained",
    ("drain", "declined"): "stays in service",
    ("drain", "failed"): "could not be drained",
    ("keep", "begun"): "to be drained again",
    ("keep", "done"): "drained again",
    ("keep", "declined"): "not drained again",
    ("keep", "failed"): "could not be drained again",
    ("return", "begun"): "to be tested",
    ("return", "done"): "given back, it passed its test",
    ("return", "declined"): "not given back",
    ("return", "failed"): "could not be given back",
    ("release", "begun"): "to be given back",
    ("release", "done"): "given back without a test",
    ("release", "declined"): "its quarantine has ended",
    ("release", "failed"): "could not be given back",
}


def told(action: Action) -> str:
    """For instance ``node2: drained until 2026-11-29 02:10: NodeSweep …``."""
    until = f" until {moment(action.until)}" if action.until and action.outcome != "declined" else ""
    evidence = "; ".join(f"{one.case}: {one.text}" for one in action.evidence[:2] if action.quarantines)
    why = shlex.join(action.command) if action.outcome == "begun" else action.said or evidence
    return one_line(f"{action.node}: {_WORDS[action.what, action.outcome]}{until}: {why}".rstrip(": "), LINE_LIMIT)


def moment(seconds: float) -> str:
    """In local time, as an operator reads a clock."""
    return f"{datetime.datetime.fromtimestamp(seconds):%Y-%m-%d %H:%M}"
