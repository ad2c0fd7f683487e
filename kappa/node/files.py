"""Read the kernel's small files, and the name of the node."""

import glob
import os
import re


def host():
    """Return Slurm's name of this node, else its host name."""
    return os.environ.get("SLURMD_NODENAME") or os.uname().nodename


def read(*path):
    """Return the text of a small file without surrounding space, or None."""
    try:
        with open(os.path.join(*path), encoding="utf-8", errors="replace") as stream:
            return stream.read(1 << 20).strip()
    except OSError:
        return None


def number(*path):
    """Return the whole number in a small file, or None."""
    try:
        return int(read(*path) or "", 0)
    except ValueError:
        return None


def total(*files):
    """Return the sum of the numbers in the files that exist, or None."""
    known = [value for value in (number(*path) for path in files) if value is not None]
    return sum(known) if known else None


def entries(*path):
    """Return the sorted names in a folder; none if there is no folder."""
    try:
        return sorted(os.listdir(os.path.join(*path)))
    except OSError:
        return []


def link_name(*path):
    """Return the last part of a symbolic link's target, or None."""
    try:
        return os.path.basename(os.readlink(os.path.join(*path)))
    except OSError:
        return None


def first(pattern, text):
    """Return the first group of the pattern's first match in the text, or None."""
    found = re.search(pattern, text or "", re.MULTILINE)
    return found.group(1).strip() if found else None


def distinct(pattern):
    """Return the different texts of the files, or None."""
    return ",".join(sorted({text for text in map(read, glob.glob(pattern)) if text})) or None
