"""Room in a folder: free space and inodes of its file system, and what the user's quota leaves."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from kappa.app.survey.doctor.matters import Matter, right, untold, wrong
from kappa.app.survey.doctor.told import Folder

LEAST_FREE_MIB = 64
LEAST_FREE_SHARE = 0.02
# Of so much no share is asked: a hundredth of petabytes is room.
ENOUGH_BYTES, ENOUGH_INODES = 1 << 40, 1_000_000
MOST_OF_QUOTA = 0.95
# Types whose mount options tell whether quotas are in force; of others only a command of theirs knows.
_BY_OPTIONS = ("ext2", "ext3", "ext4", "xfs", "tmpfs", "overlay", "vfat", "f2fs")
_QUOTA_OPTION = re.compile(r"(?:^|,)(?:usrj?quota|quota|uquota|uqnoenforce|prjquota|pquota|grpj?quota|gquota)\b")
# What quota(1) says of a user without one, and of a file system that counts none.
_NO_QUOTA = re.compile(r"\bnone\b|has no quota enabled")


class Quota(NamedTuple):
    """KiB and files, used and allowed; ``None`` without a limit."""

    used_kib: int
    most_kib: int | None
    files: int
    most_files: int | None


def parse_quota(said: str) -> Quota | None:
    """A line of ``quota -w -p`` or ``lfs quota -q``: SYSTEM, and blocks, quota, limit, grace, twice: of files, too.

    What is over its quota has a star. ``None`` for another text, as that there is none.
    """
    number, star, grace = r"(\d+)", r"(\d+)\*?", r"\S+"
    half = rf"{star}\s+{number}\s+{number}\s+{grace}"
    match = re.search(rf"\S+\s+{half}\s+{half}(?:\s|$)", said)
    if not match:
        return None
    used, soft, hard, files, soft_files, hard_files = map(int, match.groups())
    return Quota(used, soft or hard or None, files, soft_files or hard_files or None)


def room(folder: Folder, name: str, places: Sequence[str]) -> list[Matter]:
    """Of the folder ``name`` as a machine told of it."""
    return [_space(folder, name, places), _quota(folder, name, places)]


def _space(folder: Folder, name: str, places: Sequence[str]) -> Matter:
    subject = f"space in {name}"
    if folder.space is None:
        return untold(subject, places, "`stat -f` told nothing")
    space = folder.space
    share = space.bytes_free / space.bytes_total if space.bytes_total else 0.0
    free = f"{_size(space.bytes_free)} free of {_size(space.bytes_total)}"
    if space.bytes_free >> 20 < LEAST_FREE_MIB or (share < LEAST_FREE_SHARE and space.bytes_free < ENOUGH_BYTES):
        return wrong(
            subject, places, f"{free}, less than {LEAST_FREE_SHARE:.0%} or {LEAST_FREE_MIB} MiB",
            "remove what is old (`keep` in site.yaml does it by itself), or name another folder",
        )  # fmt: skip
    if space.inodes_total and space.inodes_free < min(LEAST_FREE_SHARE * space.inodes_total, ENOUGH_INODES):
        return wrong(subject, places, f"{free}, but only {space.inodes_free} of {space.inodes_total} inodes",
                     "remove small files, or name another folder")  # fmt: skip
    return right(subject, places, "enough is free, and inodes")


def _quota(folder: Folder, name: str, places: Sequence[str]) -> Matter:
    subject = f"quota in {name}"
    kind, _, _, options = folder.mount
    if folder.quota is None:
        if kind in _BY_OPTIONS and not _QUOTA_OPTION.search(options):
            return right(subject, places, "none is in force")
        command = "lfs" if kind == "lustre" else "quota"
        return untold(subject, places, f"there is no command `{command}` for {kind or 'this file system'}",
                      "ask who runs the file system whether yours is used up")  # fmt: skip
    if _NO_QUOTA.search(folder.quota):
        return right(subject, places, "none is in force")
    quota = parse_quota(folder.quota)
    if quota is None:
        said = repr(folder.quota[:80]) if folder.quota else "nothing in 20 s"
        return untold(subject, places, f"its command said {said}")
    for what, used, most in (("KiB", quota.used_kib, quota.most_kib), ("files", quota.files, quota.most_files)):
        if most and used >= MOST_OF_QUOTA * most:
            return wrong(subject, places, f"{used} of {most} {what} are used", "remove what is old, or ask for more")
    return right(subject, places, "not used up")


def _size(count: int) -> str:
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if count < 1024 or unit == "TiB":
            break
        count //= 1024
    return f"{count} {unit}"
