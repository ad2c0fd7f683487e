"""The names in the folder of an acceptance run, which is called a campaign.

::

    contract.yaml            the binding contract; its earlier versions are contract.1.yaml, contract.2.yaml, …
    requirements.yaml        the requirements that the contract has to cover
    unresolved.json          clauses without a series, and the reasons
    families.json            families of checks that the clauses need, and that the site can run
    accepted/ID/             the signed dossier that the retained clause ID names, a copy
    energy/*.jsonl           readings of meters, which the site's own collector writes
    measured.jsonl           the chain of measurements (measured.py)
    outages.jsonl            the outage log, with raw/
    operations/NAME/         an attempt at a repeat of a clause about operation (operations.py)
    attempts/NAME/           one ReFrame session: attempt.json (its series and repeat), run-report.json, output/,
                             reframe.out
"""

import pathlib
import re

CONTRACT, REQUIREMENTS = "contract.yaml", "requirements.yaml"
EARLIER_CONTRACT = re.compile(r"contract\.([1-9][0-9]{0,8})\.yaml", re.ASCII)
UNRESOLVED, FAMILIES = "unresolved.json", "families.json"
ACCEPTED, ENERGY, OPERATIONS, ATTEMPTS = "accepted", "energy", "operations", "attempts"
MEASURED, SUMS = "measured.jsonl", "sha256.json"
LOG, RAW = "outages.jsonl", "raw"
#: Signatures of weeks of the outage log, which an earlier version wrote.
WEEKS = "weeks"
ATTEMPT, REPORT, RECORD = "attempt.json", "run-report.json", "record.json"
LOCK, LOG_LOCK = ".lock", ".outages.lock"
_FILES = (UNRESOLVED, FAMILIES, REQUIREMENTS, LOG, MEASURED)
_FOLDERS = (ACCEPTED, ENERGY, OPERATIONS, RAW, WEEKS)
ATTEMPT_NAME = re.compile(r"[A-Za-z0-9_]+-[0-9a-f]{8}-r\d{4}-a\d{2,}")


def is_version(name: str) -> bool:
    """Return whether a file in a campaign's folder is a version of its contract."""
    return name == CONTRACT or EARLIER_CONTRACT.fullmatch(name) is not None


def is_result(name: str) -> bool:
    """Return whether the verdict follows from the path ``name`` in a campaign's folder; hidden files do not count."""
    path = pathlib.PurePosixPath(name)
    if name in _FILES or is_version(name):
        return True
    if path.parts[0] == ATTEMPTS:
        return len(path.parts) > 2 and ATTEMPT_NAME.fullmatch(path.parts[1]) is not None
    return len(path.parts) > 1 and path.parts[0] in _FOLDERS and not path.parts[1].startswith(".")
