"""Parse the answers of nodes to ``kappa-node folders``, and compare the user and the clock with this machine's."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import DecodeError, ValidationError, convert, json

from kappa.app.survey.doctor.folders import ADMINISTRATOR, AskedFolder, Folder
from kappa.app.survey.doctor.results import UNTOLD, DoctorTest, Rule
from kappa.core.ground.clean_text import clean, one_line
from kappa.core.ground.node_lists import folded
from kappa.node import packed

#: Largest accepted clock offset, in seconds.
MOST_CLOCK_S = 1.0
_SHOWN = 160
_FOLDER = re.compile(r"folder\.(\d{1,4})\.(\w+)")


class MachineAnswer(NamedTuple):
    """The answer of one machine. ``user``: number, group and name. ``folders``: by number in the question."""

    node: str
    user: tuple[str, str, str]
    folders: Mapping[int, Folder]
    ended: bool


class ClockOffset(NamedTuple):
    """Bounds of the seconds by which a node's clock is ahead of this machine's clock."""

    least: float
    most: float

    @property
    def width(self) -> float:
        return self.most - self.least


class JobAnswers(NamedTuple):
    """The answers of a job's nodes. ``user``: number, group and name on this machine. ``offsets``: by node."""

    machines: Sequence[MachineAnswer]
    user: tuple[str, str, str]
    offsets: Mapping[str, ClockOffset | None] = {}


def question(token: str, job: str, nodes: int, folders: Sequence[AskedFolder]) -> tuple[list[str], str]:
    """Return the command that asks a node, and the line that it must get first on standard input."""
    return packed.from_input("folders", token, job, str(nodes), *(f"{each.kind}|{each.path}" for each in folders))


def parse(lines: Iterable[str]) -> MachineAnswer:
    """Parse the answer of a machine, even if it is incomplete. Ignore other lines, for instance a banner."""
    node, user, ended = "", ("", "", ""), False
    folders: dict[int, dict[str, Any]] = {}
    for line in lines:
        name, _, text = line.rstrip("\n").partition(" ")
        ended = ended or (name, text) == ("end", "")
        try:
            value = _cleaned(json.decode(text)) if text else None
            if name == "node":
                node = str(value)
            elif name == "user":
                user = convert(value, tuple[str, str, str])
            elif match := _FOLDER.fullmatch(name):
                folders.setdefault(int(match[1]), {})[match[2]] = value
        except (DecodeError, ValidationError):
            continue
    return MachineAnswer(node, user, {number: _folder(results) for number, results in folders.items()}, ended)


def _folder(results: dict[str, Any]) -> Folder:
    try:
        return convert(results, Folder)
    except ValidationError:
        return Folder()


def _cleaned(value: Any) -> Any:
    return one_line(clean(value), _SHOWN) if isinstance(value, str) else value


def _other_user(job: JobAnswers) -> str:
    odd = {each.node: each.user for each in job.machines if any(each.user) and each.user != job.user}
    if not odd:
        return ""
    (node, (number, group, name)), (own_number, own_group, own_name) = next(iter(odd.items())), job.user
    there = f"{name or '?'} {number}:{group} on {node}"
    return f"{folded(odd)}: the user is {there}, but {own_name} {own_number}:{own_group} on this machine"


def _without_user(job: JobAnswers) -> str:
    silent = folded(each.node for each in job.machines if not any(each.user))
    return silent and f"{silent} did not answer in time"


def _wrong_clock(job: JobAnswers) -> str:
    """Return the finding for a clock that is surely wrong by its bounds."""
    known = {node: offset for node, offset in job.offsets.items() if offset}
    for node, offset in known.items():
        if max(offset.least, -offset.most) > MOST_CLOCK_S:
            way = "ahead of" if offset.least > 0 else "behind"
            return f"{node} is {max(offset.least, -offset.most):.1f} s or more {way} this machine"
    latest = max(known, key=lambda node: known[node].least, default="")
    first = min(known, key=lambda node: known[node].most, default="")
    apart = known[latest].least - known[first].most if known else 0.0
    return f"{latest} is {apart:.1f} s or more ahead of {first}" if apart > MOST_CLOCK_S else ""


def _vague_clock(job: JobAnswers) -> str:
    vague = folded(node for node, offset in job.offsets.items() if not offset or offset.width > 2 * MOST_CLOCK_S)
    return vague and f"{vague} answered too slowly"


USER = DoctorTest[JobAnswers](
    "user",
    Rule(_other_user, f"files of jobs would belong to another user: {ADMINISTRATOR} for one directory of users"
         " (LDAP, /etc/passwd)"),
    Rule(_without_user, "try `id` on the node", UNTOLD),
    right=lambda job: f"{job.user[2]} has the same numbers on the nodes and on this machine",
)  # fmt: skip
CLOCK = DoctorTest[JobAnswers](
    "clock",
    Rule(_wrong_clock, f"see `chronyc tracking` or `timedatectl` on the node; {ADMINISTRATOR} for NTP"),
    Rule(_vague_clock, "try again when the nodes are less busy", UNTOLD),
    right=lambda _: f"nodes are within {MOST_CLOCK_S:g} s of this machine",
)
