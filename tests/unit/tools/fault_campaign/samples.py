"""Outcomes of rounds for the tests."""

from tests.fault_campaign.outcomes import Outcome


def outcome(number=0, kind=None, node=None, **values):
    """A healthy round that passed, or a fault that one check found and put down to its node."""
    found = kind is not None
    defaults = {
        "number": number,
        "kind": kind,
        "node": node,
        "detail": "",
        "verdict": "FAIL" if found else "PASS",
        "checks": ("NodeLinks", "PartitionHealth"),
        "failed": ("NodeLinks",) if found else (),
        "unstable": (),
        "suspects": (node,) if found else (),
        "incomplete": (),
        "seconds": 20.0,
        "load_1min": 1.0,
        "report": "runs/1/run-report.json",
        "diagnoses": (),
        "blamed": {"NodeLinks": [node]} if found else {},
        "named_after_s": None,
        "observed": (),
    }
    return Outcome(**(defaults | values))
