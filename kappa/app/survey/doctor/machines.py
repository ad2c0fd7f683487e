"""Parse the answers of nodes to ``kappa-node folders``, and compare the user and the clock with this machine's."""

import contextlib
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from msgspec import DecodeError, ValidationError, convert, json

from kappa.app.survey.doctor.folders import ADMINISTRATOR, AskedFolder, Folder
from kappa.app.survey.doctor.results import UNTOLD, DoctorTest, Rule
from kappa.core.ground.clean_text import clean, one_line
from kappa.core.ground.node_lists import folded
from kappa.node import packed

#: Largest accepted clock offset, in seconds.
MOST_CLOCK_S = 1.0
_SHOWN = 160
_Kind = TypeVar("_Kind")
_FOLDER = re.compile(r"folder\.(\d{1,4})\.(\w+)")


class MachineAnswer(NamedTuple):
    """The answer of one machine. ``user``: number, group and name. ``folders``: by number in the question."""

    node: str
    user: tuple[str, str, str]
    folders: Mapping[int, Folder]
    ended: bool


class ClockOffset(NamedTuple):
    """Bounds of the seconds by which a node's clock is ahead of this machine's clock."""

    least: float = -math.inf
    most: float = math.inf

    @property
    def width(self) -> float:
        return self.most - self.least


class JobAnswers(NamedTuple):
    """The answers of a job's nodes. ``user``: number, group and name on this machine. ``offsets``: by node."""

    machines: Sequence[MachineAnswer]
    user: tuple[str, str, str]
    offsets: Mapping[str, ClockOffset] = {}


def question(token: str, job: str, nodes: int, folders: Sequence[AskedFolder]) -> tuple[list[str], str]:
    """Return the command that asks a node, and the line that it must get first on standard input."""
    return packed.from_input("folders", token, job, str(nodes), *(f"{each.kind}|{each.path}" for each in folders))


def parse(lines: Iterable[str]) -> MachineAnswer:
    """Parse the answer of a machine, even if it is incomplete. Ignore other lines, for instance a banner."""
    values: dict[str, Any] = {}
    folders: dict[int, dict[str, Any]] = {}
    for line in lines:
        name, _, text = line.rstrip("\n").partition(" ")
        with contextlib.suppress(DecodeError):
            value = json.decode(text or "true")
            values[name] = one_line(clean(value), _SHOWN) if isinstance(value, str) else value
            if match := _FOLDER.fullmatch(name):
                folders.setdefault(int(match[1]), {})[match[2]] = values[name]
    return MachineAnswer(
        str(values.get("node", "")),
        _converted(values.get("user"), tuple[str, str, str], ("", "", "")),
        {number: _converted(results, Folder, Folder()) for number, results in folders.items()},
        "end" in values,
    )


def _converted(value: object, kind: type[_Kind], otherwise: _Kind) -> _Kind:
    """Return the value, or ``otherwise`` if it is not of this kind."""
    try:
        return convert(value, kind)
    except ValidationError:
        return otherwise


def _other_user(job: JobAnswers) -> str:
    odd = {each.node: each.user for each in job.machines if any(each.user) and each.user != job.user}
    if not odd:
        return ""
    (node, (number, group, name)), (own_number, own_group, own_name) = next(iter(odd.items())), job.user
    there = f"{name or '?'} {number}:{group} on {node}"
    return f"{folded(odd)}: the user is {there}, but {own_name} {own_number}:{own_group} on this machine"


def _wrong_clock(job: JobAnswers) -> str:
    """Return the finding for a clock that is surely wrong by its bounds."""
    for node, offset in job.offsets.items():
        if (wrong_s := max(offset.least, -offset.most)) > MOST_CLOCK_S:
            return f"{node} is {wrong_s:.1f} s or more {'ahead of' if offset.least > 0 else 'behind'} this machine"
    latest = max(job.offsets, key=lambda node: job.offsets[node].least)
    first = min(job.offsets, key=lambda node: job.offsets[node].most)
    apart_s = job.offsets[latest].least - job.offsets[first].most
    return f"{latest} is {apart_s:.1f} s or more ahead of {first}" if apart_s > MOST_CLOCK_S else ""


USER = DoctorTest[JobAnswers](
    "user",
    Rule(_other_user, f"files of jobs would belong to another user: {ADMINISTRATOR} for one directory of users"
         " (LDAP, /etc/passwd)"),
    Rule(lambda job: (silent := folded(each.node for each in job.machines if not any(each.user)))
         and f"{silent} did not answer in time", "try `id` on the node", UNTOLD),
    right=lambda job: f"{job.user[2]} has the same numbers on the nodes and on this machine",
)  # fmt: skip
CLOCK = DoctorTest[JobAnswers](
    "clock",
    Rule(_wrong_clock, f"see `chronyc tracking` or `timedatectl` on the node; {ADMINISTRATOR} for NTP"),
    Rule(lambda job: (vague := folded(node for node, offset in job.offsets.items() if offset.width > 2 * MOST_CLOCK_S))
         and f"{vague} answered too slowly", "try again when the nodes are less busy", UNTOLD),
    right=lambda _: f"nodes are within {MOST_CLOCK_S:g} s of this machine",
)  # fmt: skip
