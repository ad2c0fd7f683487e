"""Compare the answers of nodes to ``kappa-node folders`` with this machine and each other.

The tests are of user and clock, and of folders: shared or a node's own, writable, free space, quota.
"""

import contextlib
import functools
import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from msgspec import DecodeError, Struct, ValidationError, convert, json

from kappa.app.survey.doctor.results import UNTOLD, WRONG, DoctorResult, DoctorTest, Must, results_of
from kappa.core.ground.clean_text import clean, one_line
from kappa.core.ground.node_lists import folded
from kappa.node import packed

#: Kinds of folders. `ANY`: either a node's own or shared.
WORK, PARALLEL, OWN, ANY = "work", "parallel", "own", "any"
ADMINISTRATOR = "ask the cluster's administrator"
LEAST_FREE_MIB = 64
LEAST_FREE_SHARE = 0.02
# If so much is free, the share does not count: a hundredth of petabytes is enough.
ENOUGH_BYTES, ENOUGH_INODES = 1 << 40, 1_000_000
MOST_OF_QUOTA = 0.95
_RUNS = "runs"
# File systems whose mount options show whether quotas are active. For others, only a command knows.
_BY_OPTIONS = ("ext2", "ext3", "ext4", "xfs", "tmpfs", "overlay", "vfat", "f2fs")
_QUOTA_OPTION = re.compile(r"(?:^|,)(?:usrj?quota|quota|uquota|uqnoenforce|prjquota|pquota|grpj?quota|gquota)\b")
# The answer of quota(1) for a user without a quota, and for a file system without quotas.
_NO_QUOTA = re.compile(r"\bnone\b|has no quota enabled")
# A line of `quota -w -p` or `lfs quota -q`: the file system, then used, quota, limit and grace of KiB, and of files. A
# star marks a value over its quota.
_QUOTA = re.compile(r"\S+" + 2 * r"\s+(\d+)\*?\s+(\d+)\s+(\d+)\s+\S+" + r"(?:\s|$)")


#: Largest accepted clock offset, in seconds.
MOST_CLOCK_S = 1.0
_SHOWN = 160
_Kind = TypeVar("_Kind")
_FOLDER = re.compile(r"folder\.(\d{1,4})\.(\w+)")


class Space(NamedTuple):
    """Bytes and inodes of a file system, for this user. A number is 0 if the file system does not state it."""

    bytes_total: int
    bytes_free: int
    inodes_total: int
    inodes_free: int

    @property
    def free(self) -> str:
        return f"{_size(self.bytes_free)} free of {_size(self.bytes_total)}"


def _size(count: int) -> str:
    units = ("B", "KiB", "MiB", "GiB", "TiB")
    power = min((max(count, 1).bit_length() - 1) // 10, len(units) - 1)
    return f"{count >> 10 * power} {units[power]}"


class Folder(Struct, frozen=True):
    """A folder as a node sees it.

    ``mount``: type, source, point and options. ``quota``: the output of the quota command, ``None`` without one.
    ``writes``, ``runs``, ``token``: the result of each attempt, ``None`` if not tried. ``sees``: number of nodes whose
    files it sees, including itself. Without a ``kind``, the node has not answered.
    """

    kind: str = ""
    there: bool = False
    mount: tuple[str, str, str, str] = ("", "", "", "")
    space: Space = Space(0, 0, 0, 0)
    quota: str | None = None
    token: str | None = None
    runs: str | None = None
    writes: str | None = None
    owner: str = ""
    sees: int = 0

    @property
    def has_no_quota(self) -> bool:
        if self.quota is None:
            return self.mount[0] in _BY_OPTIONS and not _QUOTA_OPTION.search(self.mount[3])
        return bool(_NO_QUOTA.search(self.quota))

    @property
    def quota_use(self) -> str | None:
        """Return which limit is used up; empty if none is, ``None`` if there is no answer, or it cannot be read."""
        match = _QUOTA.search(self.quota or "")
        if not match:
            return None
        numbers = [*map(int, match.groups())]
        for unit, (used, soft, hard) in {"KiB": numbers[:3], "files": numbers[3:]}.items():
            if used >= MOST_OF_QUOTA * (soft or hard or math.inf):
                return f"{used} of {soft or hard} {unit} are used"
        return ""


class AskedFolder(NamedTuple):
    """A folder for which nodes are asked.

    ``name``: the storage target, or the purpose of a work folder. ``shown``: the folder for messages; a work folder's
    own path exists during the test only.
    """

    kind: str
    path: str
    name: str
    shown: str


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


USER = DoctorTest[JobAnswers]("user",
    Must(_other_user, f"files of jobs would belong to another user: {ADMINISTRATOR} for one directory of users"
         " (LDAP, /etc/passwd)"),
    Must(lambda job: (silent := folded(each.node for each in job.machines if not any(each.user)))
         and f"{silent} did not answer in time", "try `id` on the node", UNTOLD),
    right=lambda job: f"{job.user[2]} has the same numbers on the nodes and on this machine",
)  # fmt: skip
CLOCK = DoctorTest[JobAnswers]("clock",
    Must(_wrong_clock, f"see `chronyc tracking` or `timedatectl` on the node; {ADMINISTRATOR} for NTP"),
    Must(lambda job: (vague := folded(node for node, offset in job.offsets.items() if offset.width > 2 * MOST_CLOCK_S))
         and f"{vague} answered too slowly", "try again when the nodes are less busy", UNTOLD),
    right=lambda _: f"nodes are within {MOST_CLOCK_S:g} s of this machine",
)  # fmt: skip


class FolderAnswers(NamedTuple):
    """The answers about a folder. ``by_node``: the folder as each node sees it.

    For a work folder: ``user``: the user's number on this machine. ``token``: the text that this machine wrote into it.
    ``seen_here``: the nodes whose file this machine found in it.
    """

    asked: AskedFolder
    by_node: Mapping[str, Folder]
    user: str = ""
    token: str = ""
    seen_here: Collection[str] = ()


_Test = DoctorTest[FolderAnswers]


def _type(folder: Folder) -> str:
    return folder.mount[0] or "unknown type"


def _rule(
    is_odd: Callable[[FolderAnswers, Folder], object], finding: str, remedy: str, state: str = WRONG
) -> Must[FolderAnswers]:
    """Return a rule for the folder on each node.

    :param is_odd: whether the folder breaks the rule.
    :param finding: template with ``{nodes}`` that break the rule, ``{folder}`` of the first one with its
        ``{type}``, ``{asked}``, ``{user}`` …
    :param remedy: likewise.
    """

    def filled(template: str, of: FolderAnswers) -> str:
        odd = {node: folder for node, folder in of.by_node.items() if is_odd(of, folder)}
        if not odd:
            return ""
        folder = next(iter(odd.values()))
        return template.format(
            nodes=folded(odd), folder=folder, asked=of.asked, user=of.user, type=_type(folder),
            noexec=" (mounted noexec)" if "noexec" in folder.mount[3].split(",") else "",
            token=f" ({folder.token})" if folder.token else "",
            program="lfs" if folder.mount[0] == "lustre" else "quota",
        )  # fmt: skip

    return Must(functools.partial(filled, finding), functools.partial(filled, remedy), state)


def _written(of: FolderAnswers) -> str:
    shared = " and see the same files" if of.asked.kind == PARALLEL and len(of.by_node) > 1 else ""
    return f"nodes can write{shared}: {of.asked.path} ({_type(next(iter(of.by_node.values())))})"


ANSWERED = _rule(
    lambda _, folder: not folder.kind, "{nodes} did not answer in time for {asked.shown}",
    f"a server of the file system may hang: try `ls {{asked.shown}}` on the node; {ADMINISTRATOR}",
)  # fmt: skip
WORK_FOLDER = _Test("folder {}", ANSWERED,
    _rule(lambda of, folder: folder.token != of.token,
          "{nodes} does not see what this machine wrote into {asked.shown}{token}",
          "jobs start and write in it: set KAPPA_HOME or KAPPA_RESULTS to a file system that all nodes see"),
    _rule(lambda _, folder: folder.writes != "yes", "{nodes} cannot write into {asked.shown}: {folder.writes}",
          "mount it for writing, without squashing the user, or use another folder"),
    _rule(lambda of, folder: folder.owner.partition(":")[0] != of.user,
          "files that {nodes} writes into {asked.shown} belong to {folder.owner}, not to {user}",
          "export it without root_squash and with one directory of users, or run as a plain user"),
    Must(lambda of: (nodes := folded(set(of.by_node) - set(of.seen_here)))
         and f"this machine does not see what {nodes} wrote into {of.asked.shown}",
         "the node has another file system there, or the server shows new files late: use another folder"),
    _rule(lambda _, folder: folder.runs != _RUNS,
          "a program in {asked.shown} does not run on {nodes}{noexec}: {folder.runs}",
          "built programs must run there: mount it without noexec, or use another folder"),
    right=lambda of: f"the nodes and this machine see the same files, write and run programs: {of.asked.shown}",
)  # fmt: skip
STORAGE = _Test("storage {}", ANSWERED,
    _rule(lambda _, folder: not folder.there, "{nodes} has no folder {asked.path}",
          "correct storage.{asked.name}.path in site.yaml, or make the folder"),
    _rule(lambda _, folder: folder.writes != "yes", "{nodes} cannot write into {asked.path}: {folder.writes}",
          "set storage.{asked.name}.path in site.yaml to a folder of yours"),
    _rule(lambda of, folder: of.asked.kind == PARALLEL and folder.sees < len(of.by_node),
          "{nodes} does not see what other nodes write into {asked.path} ({type})",
          "each node has its own: remove `parallel: true` of {asked.name} in site.yaml"),
    _rule(lambda of, _: of.asked.kind == OWN and 1 < len(of.by_node) <= min(each.sees for each in of.by_node.values()),
          "all nodes see the same files in {asked.path} ({type}), a node's own target by site.yaml",
          "describe it in site.yaml as a shared target, with `parallel: true`"),
    right=_written,
)  # fmt: skip
SPACE = _Test("space in {}",
    _rule(lambda _, folder: (total := folder.space.bytes_total) and folder.space.bytes_free < max(
          LEAST_FREE_MIB << 20, min(LEAST_FREE_SHARE * total, ENOUGH_BYTES)),
          f"{{folder.space.free}}, less than {LEAST_FREE_SHARE:.0%} or {LEAST_FREE_MIB} MiB",
          "remove old files (`keep` in site.yaml removes old runs automatically), or use another folder"),
    _rule(lambda _, folder: folder.space.inodes_free < min(LEAST_FREE_SHARE * folder.space.inodes_total, ENOUGH_INODES),
          "{folder.space.free}, but only {folder.space.inodes_free} of {folder.space.inodes_total} inodes",
          "remove small files, or use another folder"),
    _rule(lambda _, folder: not folder.space.bytes_total, "`stat -f` gave no answer", "", UNTOLD),
    right=lambda _: "enough space and inodes are free",
)  # fmt: skip
QUOTA = _Test("quota in {}",
    _rule(lambda _, folder: folder.quota_use, "{folder.quota_use}", "remove old files, or ask for more"),
    _rule(lambda _, folder: folder.quota is None and not folder.has_no_quota,
          "there is no command `{program}` for {type}",
          "ask the file system's administrator whether your quota is used up", UNTOLD),
    _rule(lambda _, folder: folder.quota_use is None and not folder.has_no_quota and folder.quota == "",
          "its command answered nothing in 20 s", "", UNTOLD),
    _rule(lambda _, folder: folder.quota_use is None and not folder.has_no_quota,
          "its command answered {folder.quota!r:.80}", "", UNTOLD),
    right=lambda of: "no quota is active" if all(each.has_no_quota for each in of.by_node.values()) else "not used up",
)  # fmt: skip


def folder_results(of: FolderAnswers, places: Sequence[str]) -> list[DoctorResult]:
    """Return the results for a folder on the nodes of a job."""
    test = WORK_FOLDER if of.asked.kind == WORK else STORAGE
    return [*test.results(of, places, of.asked.name), *room_results(of, places)]


def room_results(of: FolderAnswers, places: Sequence[str]) -> list[DoctorResult]:
    """Return the results for space and quota in a folder; nothing if a machine did not answer, or lacks the folder."""
    there = of._replace(by_node={node: folder for node, folder in of.by_node.items() if folder.there})
    has_answers = there.by_node and all(folder.kind for folder in of.by_node.values())
    return results_of((SPACE, QUOTA), there, places, of.asked.name) if has_answers else []
