"""Compare the answers of nodes with this machine and each other: user, clock, folders, free space, storage targets.

The answers come from ``kappa-node folders``, which each task of a job runs.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import DecodeError, Struct, ValidationError, convert, json

from kappa.app.survey.doctor.matters import RIGHT, Matter, right, untold, wrong
from kappa.core.ground.clean_text import clean, one_line
from kappa.core.ground.node_lists import folded
from kappa.node import packed

#: Kinds of folders. `ANY`: either a node's own or shared.
WORK, PARALLEL, OWN, ANY = "work", "parallel", "own", "any"
_SHOWN = 160
_FOLDER = re.compile(r"folder\.(\d{1,4})\.(\w+)")
LEAST_FREE_MIB = 64
LEAST_FREE_SHARE = 0.02
# If so much is free, the share does not count: a hundredth of petabytes is enough.
ENOUGH_BYTES, ENOUGH_INODES = 1 << 40, 1_000_000
MOST_OF_QUOTA = 0.95
# File systems whose mount options show whether quotas are active. For others, only a command knows.
_BY_OPTIONS = ("ext2", "ext3", "ext4", "xfs", "tmpfs", "overlay", "vfat", "f2fs")
_QUOTA_OPTION = re.compile(r"(?:^|,)(?:usrj?quota|quota|uquota|uqnoenforce|prjquota|pquota|grpj?quota|gquota)\b")
# The answer of quota(1) for a user without a quota, and for a file system without quotas.
_NO_QUOTA = re.compile(r"\bnone\b|has no quota enabled")
#: Largest accepted clock offset, in seconds.
MOST_CLOCK_S = 1.0
_SPEAKS = "runs"
_ASK = "ask the cluster's administrator"


class Space(NamedTuple):
    """Bytes and inodes of a file system, for this user. The inodes are 0 if the file system does not count them."""

    bytes_total: int
    bytes_free: int
    inodes_total: int
    inodes_free: int


class Folder(Struct, frozen=True):
    """A folder as a node sees it.

    ``mount``: type, source, point and options. ``quota``: the output of the quota command, ``None`` without one.
    ``writes``, ``runs``, ``token``: the result of each attempt, ``None`` if not tried. ``sees``: number of nodes whose
    files it sees, including itself. Without a ``kind``, the node has not answered.
    """

    kind: str = ""
    there: bool = False
    mount: tuple[str, str, str, str] = ("", "", "", "")
    space: Space | None = None
    quota: str | None = None
    token: str | None = None
    runs: str | None = None
    writes: str | None = None
    owner: str = ""
    sees: int = 0


class MachineAnswer(NamedTuple):
    """The answer of one machine. ``user``: number, group and name. ``folders``: by number in the request."""

    node: str
    user: tuple[str, str, str]
    folders: Mapping[int, Folder]
    ended: bool


def question(token: str, job: str, nodes: int, asked: Sequence["Asked"]) -> tuple[list[str], str]:
    """Return the command that asks a node, and the line that it must get first on standard input."""
    return packed.from_input("folders", token, job, str(nodes), *(each.argument for each in asked))


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


class Quota(NamedTuple):
    """Used and allowed KiB and files. A limit is ``None`` if there is none."""

    used_kib: int
    most_kib: int | None
    files: int
    most_files: int | None


def parse_quota(said: str) -> Quota | None:
    """Parse a line of ``quota -w -p`` or ``lfs quota -q``. Return ``None`` for other text.

    The line has SYSTEM, then blocks, quota, limit and grace, then the same four for files. A star marks a value over
    its quota.
    """
    number, star, grace = r"(\d+)", r"(\d+)\*?", r"\S+"
    half = rf"{star}\s+{number}\s+{number}\s+{grace}"
    match = re.search(rf"\S+\s+{half}\s+{half}(?:\s|$)", said)
    if not match:
        return None
    used, soft, hard, files, soft_files, hard_files = map(int, match.groups())
    return Quota(used, soft or hard or None, files, soft_files or hard_files or None)


def room(folder: Folder, name: str, places: Sequence[str]) -> list[Matter]:
    """Return the results for space and quota in the folder ``name``."""
    return [_space_left(folder, name, places), _quota(folder, name, places)]


def _space_left(folder: Folder, name: str, places: Sequence[str]) -> Matter:
    subject = f"space in {name}"
    if folder.space is None:
        return untold(subject, places, "`stat -f` gave no answer")
    space = folder.space
    share = space.bytes_free / space.bytes_total if space.bytes_total else 0.0
    free = f"{_size(space.bytes_free)} free of {_size(space.bytes_total)}"
    if space.bytes_free >> 20 < LEAST_FREE_MIB or (share < LEAST_FREE_SHARE and space.bytes_free < ENOUGH_BYTES):
        return wrong(
            subject, places, f"{free}, less than {LEAST_FREE_SHARE:.0%} or {LEAST_FREE_MIB} MiB",
            "remove old files (`keep` in site.yaml removes old runs automatically), or use another folder",
        )  # fmt: skip
    if space.inodes_total and space.inodes_free < min(LEAST_FREE_SHARE * space.inodes_total, ENOUGH_INODES):
        return wrong(subject, places, f"{free}, but only {space.inodes_free} of {space.inodes_total} inodes",
                     "remove small files, or use another folder")  # fmt: skip
    return right(subject, places, "enough space and inodes are free")


def _quota(folder: Folder, name: str, places: Sequence[str]) -> Matter:
    subject = f"quota in {name}"
    kind, _, _, options = folder.mount
    if folder.quota is None:
        if kind in _BY_OPTIONS and not _QUOTA_OPTION.search(options):
            return right(subject, places, "no quota is active")
        command = "lfs" if kind == "lustre" else "quota"
        return untold(subject, places, f"there is no command `{command}` for {kind or 'this file system'}",
                      "ask the file system's administrator whether your quota is used up")  # fmt: skip
    if _NO_QUOTA.search(folder.quota):
        return right(subject, places, "no quota is active")
    quota = parse_quota(folder.quota)
    if quota is None:
        said = repr(folder.quota[:80]) if folder.quota else "nothing in 20 s"
        return untold(subject, places, f"its command answered {said}")
    for what, used, most in (("KiB", quota.used_kib, quota.most_kib), ("files", quota.files, quota.most_files)):
        if most and used >= MOST_OF_QUOTA * most:
            return wrong(subject, places, f"{used} of {most} {what} are used", "remove old files, or ask for more")
    return right(subject, places, "not used up")


def _size(count: int) -> str:
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if count < 1024 or unit == "TiB":
            break
        count //= 1024
    return f"{count} {unit}"


class Asked(NamedTuple):
    """A folder for which nodes are asked.

    ``name``: the storage target, or the purpose of a work folder. ``shown``: the folder for messages; a work folder's
    own path exists during the test only.
    """

    kind: str
    path: str
    name: str
    shown: str

    @property
    def argument(self) -> str:
        return f"{self.kind}|{self.path}"


class Offset(NamedTuple):
    """Bounds of the seconds by which a node's clock is ahead of this machine's clock."""

    least: float
    most: float


def user_matter(nodes: Sequence[MachineAnswer], user: tuple[str, str, str], places: Sequence[str]) -> Matter:
    """Compare the user on the nodes with ``user``: number, group and name on this machine."""
    silent = [one.node for one in nodes if not any(one.user)]
    odd = {one.node: one.user for one in nodes if any(one.user) and one.user != user}
    if silent and not odd:
        return untold("user", places, f"{folded(silent)} did not answer in time", "try `id` on the node")
    if not odd:
        return right("user", places, f"{user[2]} has the same numbers on the nodes and on this machine")
    node, (number, group, name) = next(iter(odd.items()))
    return wrong(
        "user", places,
        f"{folded(odd)}: the user is {name or '?'} {number}:{group} on {node}, but {user[2]} "
        f"{user[0]}:{user[1]} on this machine",
        f"files of jobs would belong to another user: {_ASK} for one directory of users (LDAP, /etc/passwd)",
    )  # fmt: skip


def clock_matter(offsets: Mapping[str, Offset | None], places: Sequence[str]) -> Matter:
    """Judge the clocks by the bounds from question and answer. Only a clock that is surely wrong is blamed."""
    remedy = f"see `chronyc tracking` or `timedatectl` on the node; {_ASK} for NTP"
    known = {node: one for node, one in offsets.items() if one is not None}
    for node, one in known.items():
        if one.least > MOST_CLOCK_S or one.most < -MOST_CLOCK_S:
            ahead = one.least > 0
            size = one.least if ahead else -one.most
            way = "ahead of" if ahead else "behind"
            return wrong("clock", places, f"{node} is {size:.1f} s or more {way} this machine", remedy)
    if known:
        latest, first = max(known, key=lambda one: known[one].least), min(known, key=lambda one: known[one].most)
        apart = known[latest].least - known[first].most
        if apart > MOST_CLOCK_S:
            return wrong("clock", places, f"{latest} is {apart:.1f} s or more ahead of {first}", remedy)
    vague = [node for node in offsets if node not in known or known[node].most - known[node].least > 2 * MOST_CLOCK_S]
    if vague:
        return untold("clock", places, f"{folded(vague)} answered too slowly", "try again when the nodes are less busy")
    return right("clock", places, f"nodes are within {MOST_CLOCK_S:g} s of this machine")


def wrote(nodes: Sequence[MachineAnswer], number: int, token: str) -> list[str]:
    """Return the nodes that saw this machine's ``token`` in the folder of this number, and wrote into it."""
    said = {told.node: told.folders.get(number, Folder()) for told in nodes}
    return [node for node, folder in said.items() if folder.token == token and folder.writes == "yes"]


def folder_matters(
    asked: Sequence[Asked], nodes: Sequence[MachineAnswer], user: str, here: Mapping[str, Sequence[str]], token: str,
    places: Sequence[str],
) -> Iterator[Matter]:  # fmt: skip
    """Yield the results for all folders.

    :param user: the user's number on this machine.
    :param here: for each work folder's path, the nodes whose file this machine found in it.
    """
    for number, one in enumerate(asked):
        said = {told.node: told.folders.get(number, Folder()) for told in nodes}
        silent = [node for node, folder in said.items() if not folder.kind]
        if silent:
            yield wrong(
                _subject(one), places, f"{folded(silent)} did not answer in time for {one.shown}",
                f"a server of the file system may hang: try `ls {one.shown}` on the node; {_ASK}",
            )  # fmt: skip
            continue
        found = here.get(one.path, ())
        answers = _of_work(one, said, user, found, token) if one.kind == WORK else _of_target(one, said)
        yield answers._replace(places=tuple(places))
        rooms = [room(folder, one.name, places) for folder in said.values() if folder.there]
        # One result for all nodes: the first that is not right, if there is one.
        yield from (min(alike, key=lambda one: one.state == RIGHT) for alike in zip(*rooms, strict=True))


def _subject(one: Asked) -> str:
    return f"folder {one.name}" if one.kind == WORK else f"storage {one.name}"


def _of_work(one: Asked, said: Mapping[str, Folder], user: str, found: Sequence[str], token: str) -> Matter:
    """Judge a work folder.

    :param user: the user's number on this machine. :param found: the nodes whose file this machine sees.
    """
    subject = _subject(one)
    unseen = [node for node, folder in said.items() if folder.token != token]
    if unseen:
        return wrong(
            subject, (),
            f"{folded(unseen)} does not see what this machine wrote into {one.shown}{_why(said[unseen[0]])}",
            "jobs start and write in it: set KAPPA_HOME or KAPPA_RESULTS to a file system that all nodes see",
        )  # fmt: skip
    refused = {node: folder for node, folder in said.items() if folder.writes != "yes"}
    if refused:
        why = next(iter(refused.values())).writes
        return wrong(subject, (), f"{folded(refused)} cannot write into {one.shown}: {why}",
                     "mount it for writing, without squashing the user, or use another folder")  # fmt: skip
    squashed = {node: folder.owner for node, folder in said.items() if folder.owner.partition(":")[0] != user}
    if squashed:
        node, owner = next(iter(squashed.items()))
        return wrong(
            subject, (), f"files that {node} writes into {one.shown} belong to {owner}, not to {user}",
            "export it without root_squash and with one directory of users, or run as a plain user",
        )  # fmt: skip
    lost = sorted(set(said) - set(found))
    if lost:
        return wrong(
            subject, (), f"this machine does not see what {folded(lost)} wrote into {one.shown}",
            "the node has another file system there, or the server shows new files late: use another folder",
        )  # fmt: skip
    stuck = {node: folder for node, folder in said.items() if folder.runs != _SPEAKS}
    if stuck:
        folder = next(iter(stuck.values()))
        options = " (mounted noexec)" if "noexec" in folder.mount[3].split(",") else ""
        return wrong(subject, (), f"a program in {one.shown} does not run on {folded(stuck)}{options}: {folder.runs}",
                     "built programs must run there: mount it without noexec, or use another folder")  # fmt: skip
    return right(subject, (), f"the nodes and this machine see the same files, write and run programs: {one.shown}")


def _why(folder: Folder) -> str:
    return f" ({folder.token})" if folder.token else ""


def _of_target(one: Asked, said: Mapping[str, Folder]) -> Matter:
    subject = _subject(one)
    missing = [node for node, folder in said.items() if not folder.there]
    if missing:
        return wrong(subject, (), f"{folded(missing)} has no folder {one.path}",
                     f"correct storage.{one.name}.path in site.yaml, or make the folder")  # fmt: skip
    refused = {node: folder for node, folder in said.items() if folder.writes != "yes"}
    if refused:
        why = next(iter(refused.values())).writes
        return wrong(subject, (), f"{folded(refused)} cannot write into {one.path}: {why}",
                     f"set storage.{one.name}.path in site.yaml to a folder of yours")  # fmt: skip
    alone = [node for node, folder in said.items() if folder.sees < len(said)]
    kind = next(iter(said.values())).mount[0] or "unknown type"
    if one.kind == PARALLEL and alone:
        return wrong(
            subject, (), f"{folded(alone)} does not see what other nodes write into {one.path} ({kind})",
            f"each node has its own: remove `parallel: true` of {one.name} in site.yaml",
        )  # fmt: skip
    if one.kind == OWN and len(said) > 1 and not alone:
        return wrong(
            subject, (), f"all nodes see the same files in {one.path} ({kind}), a node's own target by site.yaml",
            "describe it in site.yaml as a shared target, with `parallel: true`",
        )  # fmt: skip
    shared = " and see the same files" if one.kind == PARALLEL and len(said) > 1 else ""
    return right(subject, (), f"nodes can write{shared}: {one.path} ({kind})")
