"""What a machine told of itself: the output of ``src/doctor.sh``, of one task."""

import re
from collections.abc import Iterable
from importlib import resources
from typing import NamedTuple

from kappa.core.ground.clean_text import clean, one_line

#: Kinds of folders: `ANY` may be of each node or of all.
WORK, PARALLEL, OWN, ANY = "work", "parallel", "own", "any"
_SHOWN = 160
_HEX = re.compile(r"\\x([0-9a-f]{2})")


class Space(NamedTuple):
    """Of a file system, for this user: bytes and inodes; one that counts no inodes has 0 of them."""

    bytes_total: int
    bytes_free: int
    inodes_total: int
    inodes_free: int


class Folder(NamedTuple):
    """``mount``: type, source, point and options; ``quota`` is what a command said, ``None`` where there is none.

    ``writes``, ``runs`` and ``token``: what came of it, ``None`` where it was not tried. ``sees``: files of other
    nodes, its own among them. ``ended``: whether anything of the next folder, or the end, came after it.
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
    ended: bool = False


class Told(NamedTuple):
    """``user``: number, group and name. ``folders`` in the order in which they were asked for."""

    node: str
    user: tuple[str, str, str]
    folders: tuple[Folder, ...]
    ended: bool


_KILLABLE = resources.files("kappa.core.ground") / "src/killable.sh"
_SCRIPT = resources.files(__package__) / "src/doctor.sh"


def script() -> str:
    return _KILLABLE.read_text(encoding="utf-8") + _SCRIPT.read_text(encoding="utf-8")


def parse(lines: Iterable[str]) -> Told:
    """What was said until its end or until it fell silent; lines of others, as a banner's, are passed over."""
    node, user, ended = "", ("", "", ""), False
    said: list[dict[str, str]] = []
    for line in lines:
        match clean(line).rstrip("\n").split("|", 3):
            case ["node", name, *_]:
                node = name
            case ["user", number, group, name]:
                user = (number, group, name)
            case ["folder", number, key, value] if number.isdecimal() and int(number) in (len(said) - 1, len(said)):
                if int(number) == len(said):
                    said.append({})
                said[-1].setdefault(key, value.strip())
            case ["end", *_]:
                ended = True
    folders = [_folder(one, ended=ended or number + 1 < len(said)) for number, one in enumerate(said)]
    return Told(node, user, tuple(folders), ended)


def _folder(said: dict[str, str], *, ended: bool) -> Folder:
    def shown(key: str) -> str | None:
        return one_line(said[key], _SHOWN) if key in said else None

    return Folder(
        kind=said.get("kind", ""),
        there=said.get("there") == "yes",
        mount=_mount(said.get("mount", "")),
        space=_space(said.get("space", "")),
        quota=said.get("quota"),
        token=shown("token"),
        runs=shown("runs"),
        writes=shown("writes"),
        owner=said.get("owner", ""),
        sees=int(said["sees"]) if said.get("sees", "").isdecimal() else 0,
        ended=ended,
    )


def _mount(said: str) -> tuple[str, str, str, str]:
    """``findmnt --raw`` writes blanks in names as ``\\x20``; else the type alone is known."""
    words = [_HEX.sub(lambda found: chr(int(found[1], 16)), one) for one in said.split(" ")]
    return (words[0], words[1], words[2], words[3]) if len(words) == 4 else (words[0], "", "", "")


def _space(said: str) -> Space | None:
    words = said.split()
    if len(words) != 5 or not all(word.isdecimal() for word in words):
        return None
    block, blocks, free, inodes, inodes_free = map(int, words)
    return Space(block * blocks, block * free, inodes, inodes_free)
