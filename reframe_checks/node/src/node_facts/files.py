"""Reading what the kernel says in small files."""

import os
import re


def read(*path):
    """Text of a small file without surrounding space, or None."""
    try:
        with open(os.path.join(*path), encoding="utf-8", errors="replace") as stream:
            return stream.read(1 << 20).strip()
    except OSError:
        return None


def number(*path):
    """The whole number in a small file, or None."""
    try:
        return int(read(*path) or "", 0)
    except ValueError:
        return None


def entries(*path):
    """Sorted names in a folder; none where it is not there."""
    try:
        return sorted(os.listdir(os.path.join(*path)))
    except OSError:
        return []


def link_name(*path):
    """Last part of what a symbolic link points to, or None."""
    try:
        return os.path.basename(os.readlink(os.path.join(*path)))
    except OSError:
        return None


def first(pattern, text):
    """The first group where the pattern is first found in the text, or None."""
    found = re.search(pattern, text or "", re.MULTILINE)
    return found.group(1).strip() if found else None
