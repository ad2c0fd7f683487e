"""File systems at the paths that jobs are promised: type, source, options, size; and the files that all nodes share."""

import hashlib
import os
import re
import threading

from node_facts.files import read

ANSWER_SECONDS = 10


def facts(mounts, files):
    found = {"file." + path: sha256(path) for path in files}
    for path in mounts:
        found.update({f"mount.{path}.{key}": value for key, value in at(path).items()})
    return found


def mounted():
    """Mount point -> what is mounted there; the last one on a path hides those before. See proc(5), mountinfo."""
    table = {}
    for line in (read("/proc/self/mountinfo") or "").splitlines():
        here, _, there = line.partition(" - ")
        root, point, options = (unescaped(field) for field in here.split()[3:6])
        kind, source, *more = there.split(" ", 2)
        options = sorted_options(options, *more)
        table[point] = {"type": kind, "source": unescaped(source), "root": root, "options": options}
    return table


def unescaped(field):
    return re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal.group(1), 8)), field)


def sorted_options(*texts):
    """Without what is a node's own: its address, and what of a disk is its journal's."""
    words = {word for text in texts for word in text.split(",")}
    return ",".join(sorted(word for word in words if not word.startswith(("clientaddr=", "stripe="))))


def at(path):
    """Of what is mounted at the path or, if nothing is, at the nearest folder above it.

    All values are None where there is no such path; the last three where the file system does not answer.
    """
    of_table = ("type", "source", "source_kind", "root", "point", "options")
    found = dict.fromkeys((*of_table, "answers", "size_bytes", "free_bytes", "writable"))
    # What does not answer is not known to be missing.
    is_there, place, status = within(ANSWER_SECONDS, asked, path) or (True, os.path.normpath(path), None)
    # Read after it was asked, which may have mounted it (autofs).
    table = mounted()
    point = nearest(place, table)
    if not is_there:
        return found
    found["answers"] = status is not None
    if point not in table:
        return found
    found.update(table[point], point=point)
    # Node 3 may have its third loop device: what differs is that another has a tmpfs, or its root disk.
    found["source_kind"] = re.sub(r"\d+", "#", found["source"])
    if status is not None:
        found["size_bytes"] = status.f_blocks * status.f_frsize
        found["free_bytes"] = status.f_bavail * status.f_frsize
        found["writable"] = not status.f_flag & os.ST_RDONLY
    return found


def asked(path):
    """(whether there is such a path, its real path, what its file system says of itself or None)"""
    try:
        status = os.statvfs(path)
    except (FileNotFoundError, NotADirectoryError):
        return False, path, None
    except OSError:  # a server that forgot the file system, a disk that is gone
        status = None
    return True, os.path.realpath(path), status


def nearest(place, table):
    """The longest path in the table that the place is, or is below; ``/`` where there is none."""
    place = "/" + place.lstrip("/")
    while place not in table and place != "/":
        place = os.path.dirname(place)
    return place


def within(seconds, function, *arguments):
    """Result of the function, or None if it takes longer: a lost file server must not stop the probe."""
    results = []
    thread = threading.Thread(target=lambda: results.append(function(*arguments)), daemon=True)
    thread.start()
    thread.join(seconds)
    return results[0] if results else None


def sha256(path):
    digest = hashlib.sha256()
    try:
        with open(path, "rb") as stream:
            for block in iter(lambda: stream.read(1 << 20), b""):
                digest.update(block)
    except OSError:
        return None
    return digest.hexdigest()
