"""File systems: those at the site's paths, and all network file systems; files that all nodes share."""

import hashlib
import os
import pwd
import re
import stat

from kappa.node.children import all_within
from kappa.node.facts import disks
from kappa.node.files import read

ANSWER_SECONDS, SUM_SECONDS = 10, 60
JOB_FOLDER = "."
NETWORK = re.compile(r"nfs\d?|lustre|gpfs|beegfs\S*|ceph|cifs|smb3|panfs|wekafs|afs|9p|fuse\.(?!fuse-overlayfs).+")
OWN_OPTIONS = ("clientaddr=", "addr=", "mountaddr=", "mountport=", "stripe=")
# Folders in which users, containers and services mount their own file systems.
NOT_ALIKE = ("/run/", "/var/lib/", "/tmp/", "/proc/", "/sys/")
MOST_NETWORK_MOUNTS = 32
OF_STATUS = ("size_bytes", "free_bytes", "free_inode_share", "permissions", "writable")
# A home need not be on the node, and its fill level is no fact of the node.
OF_HOME = ("type", "source_kind", "point", "options", "answers", "permissions")


def facts(mounts, files):
    sums = all_within(SUM_SECONDS, sha256, [(path,) for path in files])
    found = {"file." + path: digest for path, digest in zip(files, sums)}
    # The folder in which the job runs has another path in each job.
    names = dict({path: path for path in mounts}, **{JOB_FOLDER: "job_folder"})
    home = home_folder()
    seen = at([*names, *home])
    for path, name in names.items():
        found.update({f"mount.{name}.{key}": value for key, value in seen[path].items() if key != "device"})
        if seen[path]["device"]:
            settings = disks.settings(seen[path]["device"], seen[path]["source"])
            found.update({f"disk.{name}.{key}": value for key, value in settings.items()})
    for path in home:
        found.update({"mount.home." + key: seen[path][key] for key in OF_HOME})
    found.update(network_mounts(table(), {seen[path]["point"] for path in names}))
    return found


def home_folder():
    try:
        return [pwd.getpwuid(os.getuid()).pw_dir]
    except KeyError:
        return []


def network_mounts(mounts, told):
    """Return the network mounts, except at the points ``told`` already. Reads the table only, and asks no server.

    Automounted file systems come and go; for these it returns the watched folder.
    """
    watched = {point for _, point, there in mounts if there["type"] == "autofs"}
    found = {}
    for point, there in sorted({point: there for _, point, there in mounts}.items()):
        if point in told or point.startswith(NOT_ALIKE) or any(point.startswith(folder + "/") for folder in watched):
            continue
        kind = there["type"]
        if point in watched:
            found["network_mount." + point] = "autofs"
        elif NETWORK.fullmatch(kind):
            found["network_mount." + point] = " ".join((kind, kind_of(there["source"]), there["options"]))
    kept = dict(list(found.items())[:MOST_NETWORK_MOUNTS])
    if len(found) > len(kept):
        kept["network_mounts.more"] = len(found) - len(kept)
    return kept


def kind_of(source):
    """Return the source without a device's number: node 3 may have its third loop device, but a tmpfs differs."""
    return re.sub(r"\d+", "#", source)


def listed():
    """Yield all mounts in the order of mounting, each as device, root, point, type, source."""
    yield "site.mounts", [[device, at["root"], point, at["type"], at["source"]] for device, point, at in table()]


def mounted():
    """Return mount point -> mount; the last one on a path hides those before."""
    return {point: there for _, point, there in table()}


def table():
    """Return (device as MAJOR:MINOR, mount point, mount) in the order of mounting. See proc(5), mountinfo."""
    found = []
    for line in (read("/proc/self/mountinfo") or "").splitlines():
        here, _, there = line.partition(" - ")
        device, root, point, options = (unescaped(field) for field in here.split()[2:6])
        kind, source, *more = there.split(" ", 2)
        options = sorted_options(options, *more)
        there = {"type": kind, "source": unescaped(source), "root": root, "options": options, "device": device}
        found.append((device, point, there))
    return found


def unescaped(field):
    return re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal.group(1), 8)), field)


def sorted_options(*texts):
    """Remove the node's own options: its address, the server's address that it was given, a disk's journal."""
    words = {word for text in texts for word in text.split(",")}
    return ",".join(sorted(word for word in words if not word.startswith(OWN_OPTIONS)))


def at(paths):
    """Return path -> facts of the mount at the path or at the nearest folder above it.

    All values are None if there is no such path; the last ones are None if the file system does not answer.
    """
    of_table = ("type", "source", "source_kind", "root", "point", "options", "device")
    answers = all_within(ANSWER_SECONDS, asked, [(path,) for path in paths])
    # Read the table last: the access to the path may have mounted it (autofs).
    points, found = mounted(), {}
    for path, answer in zip(paths, answers):
        # A path without an answer may exist.
        is_there, place, status = answer or (True, os.path.normpath(path), None)
        found[path] = dict.fromkeys((*of_table, "answers", *OF_STATUS))
        point = nearest(place, points)
        if is_there:
            found[path]["answers"] = status is not None
            if point in points:
                kind = kind_of(points[point]["source"])
                found[path].update(points[point], point=point, source_kind=kind, **(status or {}))
    return found


def asked(path):
    """Return [whether the path exists, its real path, facts of its file system or None]."""
    try:
        status, own = os.statvfs(path), os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return [False, path, None]
    except OSError:  # a server that forgot the file system, a disk that is gone
        return [True, os.path.realpath(path), None]
    values = (
        status.f_blocks * status.f_frsize,
        status.f_bavail * status.f_frsize,
        # File systems that create inodes on demand report 0 inodes.
        round(status.f_favail / status.f_files, 3) if status.f_files else None,
        f"{stat.filemode(own.st_mode)} {own.st_uid}:{own.st_gid}",
        not status.f_flag & os.ST_RDONLY,
    )
    return [True, os.path.realpath(path), dict(zip(OF_STATUS, values))]


def nearest(place, table):
    """Return the longest path in the table that is the place or is above it; ``/`` if there is none."""
    place = "/" + place.lstrip("/")
    while place not in table and place != "/":
        place = os.path.dirname(place)
    return place


def sha256(path):
    digest = hashlib.sha256()
    try:
        with open(path, "rb") as stream:
            for block in iter(lambda: stream.read(1 << 20), b""):
                digest.update(block)
    except OSError:
        return None
    return digest.hexdigest()
