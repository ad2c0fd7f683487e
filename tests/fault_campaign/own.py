"""The operator's own fault, given as two shell commands: one plants it on a node, the other mends it."""

import contextlib
import random
import subprocess
from collections.abc import Iterator, Mapping

from kappa.core.ground.clean_text import clean, one_line
from tests.fault_campaign.cluster import CampaignError, Cluster
from tests.fault_campaign.faults import Fault, Kind
from tests.fault_campaign.kinds import KINDS
from tests.fault_campaign.outcomes import Outcome, Settings

OWN = "own command"
# Output goes to a file: a background process of the command would keep a pipe open.
_SCRIPT = """\
said=$(mktemp /tmp/kappa-fault-XXXXXX); trap 'rm -f "$said"' EXIT
bash -c "$1" > "$said" 2>&1 < /dev/null || { status=$?; head -c 2000 "$said" >&2; exit $status; }
head -c 2000 "$said"
"""
_DETAIL_CHARS = 120


class MendError(CampaignError):
    """The command that mends the fault failed. ``outcome``: the outcome of the round, which still counts."""

    outcome: Outcome | None = None


def kinds_of(settings: Settings) -> Mapping[str, Kind]:
    """Return every kind of fault by name, including the operator's own fault of the campaign."""
    if not settings.plant:
        return KINDS
    what = f"`{one_line(clean(settings.plant), _DETAIL_CHARS)}`"
    return {**KINDS, OWN: Kind(OWN, False, what, _fault(settings.plant, settings.mend))}


def _fault(plant: str, mend: str) -> Fault:
    @contextlib.contextmanager
    def fault(cluster: Cluster, node: str, _: random.Random) -> Iterator[str]:
        try:
            said = _run(cluster, node, "--plant", plant)
        except CampaignError:
            # Undo what the command did before it failed.
            with contextlib.suppress(CampaignError):
                _run(cluster, node, "--mend", mend)
            raise
        try:
            yield one_line(clean(said), _DETAIL_CHARS) or "planted"
        finally:
            try:
                _run(cluster, node, "--mend", mend)
            except CampaignError as err:
                raise MendError(f"{err}; mend the fault by hand before you continue the campaign") from None

    return fault


def _run(cluster: Cluster, node: str, option: str, command: str) -> str:
    try:
        return cluster.on(node, _SCRIPT, command)
    except subprocess.TimeoutExpired as err:
        problem = f"did not end within {err.timeout:g} s; start a lasting process in the background with `&`"
    except CampaignError as err:
        problem = f"failed: {str(err).removeprefix(f'on {node}: {_SCRIPT}: ')}"
    raise CampaignError(f"the command of {option} on {node} {problem}")
