"""Rules of a site: when a node is taken out of service and comes back, and for how long raw output is kept.

They are the keys ``quarantine`` and ``keep`` of ``site.yaml``. Without them nothing is done to a node or removed.
"""

import re
from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from kappa.core.ground.documents import Path, YamlFile
from kappa.core.vocabulary.modes import MODES

# Kind of a finding that may name a node -> what it is.
EVIDENCE = {
    "node-bound": "out of bounds again on the node, and within bounds on others",
    "confirmed": "out of bounds again on the same nodes, of which the check's own comparison named this one each time",
    "facts": "what a check says of the node itself, which is no figure: a wrong fact, a wrong result",
    "hang": "no result, and the check says which node that was due to",
}
# What a command may hold -> what is put there.
PLACEHOLDERS = {
    "node": "the node's name",
    "reason": "by which the drain is known again",
    "reservation": "the reservation's name",
    "user": "who runs Kappa",
}
# Command -> the placeholders that it cannot do without.
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


def said(meaning: str, default: str) -> Meta:
    return Meta(description=meaning, extra={"default": default})


class QuarantineRule(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """Commands are lists of arguments, and no shell reads them."""

    drain: Annotated[Words, said("the command that takes `{node}` out of service and tells the `{reason}`", "")]
    evidence: Annotated[Words, said("the kinds of finding for which it is taken out", "")]
    most_a_night: Annotated[Count, said("nodes that are taken out within twelve hours", "1")] = 1
    lasts_days: Annotated[Annotated[float, Meta(gt=0)], said("how long a quarantine lasts", "7")] = 7.0
    at_end: Annotated[
        Literal["test", "release", "tell"],
        said(
            "what the next night, or `kappa return SITE`, does then: the return-to-service test, or give it back "
            "without, or tell and do nothing",
            "`test`",
        ),
    ] = "test"
    resume: Annotated[
        list[str],
        said("the command that gives `{node}` back", "none, so that no node is tested or comes back by itself"),
    ] = []
    mode: Annotated[
        str, said("the mode whose checks are the neighbours, in the test, of those that had named it", "`nightly`")
    ] = "nightly"
    nodes: Annotated[Count, said("nodes in the tests that compare nodes, this one among them", "4")] = 4
    reserve: Annotated[
        Words,
        said(
            "the command that keeps all jobs but those of `{user}` from `{node}` while it is tested",
            "`scontrol` makes `{reservation}` with the flags MAINT, FLEX and IGNORE_JOBS",
        ),
    ] = field(default_factory=lambda: list(RESERVE))
    unreserve: Annotated[Words, said("the command that ends `{reservation}`", "`scontrol` deletes it")] = field(
        default_factory=lambda: list(UNRESERVE)
    )


class Keep(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """What one of these keeps is kept; ``runs``, ``days`` or both have to be said."""

    runs: Annotated[Count | None, said("that of the newest so many runs and nights", "none for being new")] = None
    days: Annotated[Count | None, said("that of the last so many days", "none for its age")] = None
    failures: Annotated[Count, said("of what is left, that of the newest so many that ended in FAIL", "20")] = 20


def check_quarantine(file: YamlFile, rule: QuarantineRule) -> None:
    """Note what is unknown or contradictory in the rule."""
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
    """The arguments of a command of the rule; what ``places`` gives for a placeholder is not searched for others."""
    return tuple(_PLACEHOLDER.sub(lambda found: places[found[1]], word) for word in command)
