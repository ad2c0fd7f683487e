"""Rules of a site: when Kappa drains and resumes a node, and for how long it keeps raw output.

They are the keys ``quarantine`` and ``keep`` of ``site.yaml``. Without them Kappa drains no node and deletes nothing.
"""

import re
from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from kappa.core.ground.documents import Path, YamlFile
from kappa.core.vocabulary.keys import said
from kappa.core.vocabulary.modes import MODES

# Kind of finding that may name a node -> meaning.
EVIDENCE = {
    "node-bound": "a metric is out of bounds again on the node, and within bounds on others",
    "confirmed": "a metric is out of bounds again on the same nodes, and the check's own comparison named this node "
    "each time",
    "facts": "a check states something about the node itself that is no figure: a wrong fact or a wrong result",
    "hang": "a case has no result, and the check names the node that caused it",
}
# Placeholder of a command -> its value.
PLACEHOLDERS = {
    "node": "the node's name",
    "reason": "the reason, by which Kappa recognises its drain",
    "reservation": "the reservation's name",
    "user": "the user who runs Kappa",
}
# Command -> the placeholders that it needs.
NEEDED = {
    "drain": ("node", "reason"),
    "resume": ("node",),
    "reserve": ("node", "reservation"),
    "unreserve": ("reservation",),
}
RESERVE = (
    "scontrol", "create", "reservation", "ReservationName={reservation}", "Nodes={node}", "Users={user}",
    "StartTime=now", "Duration=UNLIMITED", "Flags=MAINT,FLEX,IGNORE_JOBS",
)  # fmt: skip
UNRESERVE = ("scontrol", "delete", "ReservationName={reservation}")

Words = Annotated[list[str], Meta(min_length=1)]
Count = Annotated[int, Meta(ge=1)]
_HERE: Path = ("quarantine",)
_PLACEHOLDER = re.compile(r"\{(\w*)\}")


class QuarantineRule(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The key ``quarantine``. Commands are lists of arguments, which no shell interprets."""

    drain: Annotated[Words, said("the command that takes `{node}` out of service and states the `{reason}`")]
    evidence: Annotated[Words, said("the kinds of finding for which Kappa drains a node")]
    most_a_night: Annotated[Count, said("the most nodes that Kappa drains within twelve hours")] = 1
    lasts_days: Annotated[Annotated[float, Meta(gt=0)], said("how long a quarantine lasts", unit="days")] = 7.0
    at_end: Annotated[
        Literal["test", "release", "tell"],
        said(
            "what the next night, or `kappa node return SITE`, does after the quarantine: `test` the node and give it "
            "back if it passes, `release` it without a test, or `tell`: report it and do nothing",
        ),
    ] = "test"
    resume: Annotated[
        list[str], said("the command that gives `{node}` back", default="none: no node is tested or given back")
    ] = []
    mode: Annotated[
        str,
        said(
            "the return-to-service test runs the checks that named the node, and this mode's checks of nodes and "
            "of the same subjects"
        ),
    ] = "nightly"
    nodes: Annotated[Count, said("number of nodes in the tests that compare nodes, including this one")] = 4
    reserve: Annotated[
        Words,
        said(
            "the command that keeps other users' jobs than `{user}`'s from `{node}` during its test",
            default="`scontrol` makes `{reservation}` with the flags MAINT, FLEX and IGNORE_JOBS",
        ),
    ] = field(default_factory=lambda: list(RESERVE))
    unreserve: Annotated[Words, said("the command that ends `{reservation}`", default="`scontrol` deletes it")] = field(
        default_factory=lambda: list(UNRESERVE)
    )


class Keep(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The key ``keep``. Raw output stays if one of these keys keeps it; ``runs``, ``days`` or both must be stated."""

    runs: Annotated[Count | None, said("keep the raw output of this many newest runs and nights")] = None
    days: Annotated[Count | None, said("keep the raw output of this many days", unit="days")] = None
    failures: Annotated[
        Count, said("also keep the raw output of this many newest of the older runs and nights that ended in FAIL")
    ] = 20


def check_quarantine(file: YamlFile, rule: QuarantineRule) -> None:
    """Add an error to ``file`` for each unknown or contradictory value in the rule."""
    for number, kind in enumerate(rule.evidence):
        file.require_known((*_HERE, "evidence", number), kind, EVIDENCE, "kind of evidence")
    file.require_known((*_HERE, "mode"), rule.mode, MODES, "mode")
    for name, needed in NEEDED.items():
        command: list[str] = getattr(rule, name)
        for number, word in enumerate(command):
            for found in _PLACEHOLDER.findall(word):
                file.require_known((*_HERE, name, number), found, PLACEHOLDERS, "placeholder")
        missing = [place for place in needed if not any(f"{{{place}}}" in word for word in command)]
        if command and missing:
            file.refuse((*_HERE, name), f"expected {{{missing[0]}}} in an argument: {PLACEHOLDERS[missing[0]]}")
    if rule.at_end != "tell" and not rule.resume:
        file.refuse((*_HERE, "at_end"), f"{rule.at_end} needs the key resume: state the command, or `at_end: tell`")


def filled(command: Sequence[str], **places: str) -> tuple[str, ...]:
    """Return ``command`` with its placeholders replaced by ``places``, whose values are not searched for others."""
    return tuple(_PLACEHOLDER.sub(lambda found: places[found[1]], word) for word in command)
