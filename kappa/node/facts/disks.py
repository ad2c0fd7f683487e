"""Queues of the devices below a mount: read-ahead, scheduler, depth and caches."""

import os
import re

from kappa.node.files import entries, read

DEVICES, BACKING = "/sys/dev/block", "/sys/class/bdi"
QUEUE = (
    "scheduler", "nr_requests", "rotational", "write_cache", "fua", "max_sectors_kb", "nomerges", "rq_affinity",
    "wbt_lat_usec", "io_poll", "io_timeout", "iostats", "add_random", "logical_block_size", "physical_block_size",
)  # fmt: skip
DEVICE = ("queue_depth", "state", "timeout")
# Network file systems have these, too.
OF_BACKING = ("read_ahead_kb", "min_ratio", "max_ratio", "strict_limit")
# Maximum number of layers of devices.
DEEPEST = 8


def settings(device, source):
    """Return setting -> value; of several devices each value once.

    :param device: MAJOR:MINOR of the mount.
    :param source: the mounted device, which gives the number if the file system has one of its own (btrfs).
    """
    if not os.path.exists(os.path.join(DEVICES, device)) and source.startswith("/dev/"):
        device = number_of(source) or device
    found = {name: read(BACKING, device, name) for name in OF_BACKING}
    disks = whole_disks(os.path.realpath(os.path.join(DEVICES, device)), DEEPEST)
    found.update({name: distinct(read(disk, "queue", name) for disk in disks) for name in QUEUE})
    found.update({"device_" + name: distinct(read(disk, "device", name) for disk in disks) for name in DEVICE})
    return {name: value for name, value in found.items() if value is not None}


def number_of(path):
    try:
        device = os.stat(path).st_rdev
    except OSError:
        return None
    return f"{os.major(device)}:{os.minor(device)}"


def whole_disks(folder, deepest):
    """Return the folders of the device (of the disk, for a partition) and of the devices below it (md, dm)."""
    if not os.path.isdir(folder) or deepest == 0:
        return []
    if os.path.exists(os.path.join(folder, "partition")):
        folder = os.path.dirname(folder)
    below = [os.path.realpath(os.path.join(folder, "slaves", name)) for name in entries(os.path.join(folder, "slaves"))]
    return [folder] + [disk for one in below for disk in whole_disks(one, deepest - 1)]


def distinct(texts):
    """Return all values of the devices, without the brackets around the chosen word; or None."""
    chosen = (re.sub(r".*\[(\S+)\].*", r"\1", text) for text in texts if text is not None)
    return ",".join(sorted(set(chosen))) or None
