"""Folders in which the user can write, and the default striping of Lustre file systems."""

import os
import pwd
import re

from kappa.node.children import all_within, output
from kappa.node.facts.mounts import table

PATIENCE_S = 5
LFS_S = 10
VARIABLES = ("SCRATCH", "WORK", "PROJECT", "HOME", "TMPDIR")
OF_THE_SYSTEM = re.compile(r"/(?:proc|sys|dev|run|boot|etc|usr|var)(?:/.*)?")
ACTIVE = re.compile(r"^\d+: \S+ ACTIVE\s*$", re.MULTILINE)


def facts():
    try:
        user = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        user = str(os.getuid())
    places = [[os.environ[name]] for name in VARIABLES if os.environ.get(name)]
    points = dict.fromkeys(point for _, point, _ in table() if point != "/")
    below = ("", "/" + user, "/users/" + user, "/home/" + user, "/scratch/" + user, "/kappa")
    places += [[point + folder for folder in below] for point in points]
    wanted = [[folder for folder in place if not OF_THE_SYSTEM.fullmatch(folder)] for place in places]
    answers = all_within(PATIENCE_S, writable, [(folders,) for folders in wanted if folders])
    folders = sorted({(folder, identity) for answer in answers for folder, identity in answer or ()})
    yield "site.folders", [[identity, folder] for folder, identity in folders]


def writable(folders):
    """Return [folder, device and inode] of the folders in which the user can write."""
    found = []
    for folder in folders:
        if os.path.isdir(folder) and os.access(folder, os.W_OK):
            status = os.stat(folder)
            found.append([folder, f"{status.st_dev}:{status.st_ino}"])
    return found


def lustre():
    """Yield [mount point, stripe count, stripe size in bytes, number of active targets] of each file system."""
    striping = []
    for point in dict.fromkeys(point for _, point, mount in table() if mount["type"] == "lustre"):
        count, size = (output(LFS_S, "lfs", "getstripe", "-d", option, point) or "" for option in ("-c", "-S"))
        if re.fullmatch(r"-?\d+\s*", count) and re.fullmatch(r"\d+\s*", size):
            targets = ACTIVE.findall(output(LFS_S, "lfs", "osts", point) or "")
            striping.append([point, int(count), int(size), len(targets)])
    yield "site.lustre", striping
