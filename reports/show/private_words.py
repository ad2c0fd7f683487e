"""Redact output of a run: the bundle and the report page hide the same."""

import contextlib
import pathlib

from kappa.core.ground.redaction import Redaction
from reports.verdict.judge import Verdict


def redaction_of(verdict: Verdict) -> Redaction:
    """Return the redaction for a run: it knows its users, and keeps the names of nodes, partitions and checks."""
    users = {verdict.session.user}
    # The owner of the files may be another user, or one who is not known here.
    with contextlib.suppress(KeyError, OSError):
        users.add(pathlib.Path(verdict.session.path).parent.owner())
    cases = [judged.case for judged in verdict.cases]
    keep = {name for case in cases for name in (case.system, case.partition, case.environ, case.check_class or "")}
    keep.update(*(case.involved for case in cases))
    return Redaction(users, keep)
