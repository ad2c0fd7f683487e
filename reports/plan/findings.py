"""What each check has found: faults of the campaigns, and failures in a site's stored runs."""

import pathlib
from collections import Counter
from collections.abc import Iterable

from kappa.core.ground.yaml_file import YamlFile, require_sound
from kappa.core.record.model import Session
from reports.verdict.attempts import latest_attempts
from reports.verdict.state import State

CAMPAIGN = pathlib.Path(__file__).with_name("findings.yaml")


def of_campaign() -> dict[str, int]:
    """Check -> faults that it found in the fault campaigns."""
    file = YamlFile(CAMPAIGN)
    found: dict[str, int] = file.decode(dict[str, int])
    require_sound([file])
    return found


def of_sessions(sessions: Iterable[Session]) -> dict[str, int]:
    """Check -> sessions in which a case of it failed and still did when it was measured again."""
    found: Counter[str] = Counter()
    for session in sessions:
        cases = latest_attempts(session)
        found.update({one.case.check_class for one in cases if one.case.check_class and one.state is State.FAIL})
    return dict(found)
