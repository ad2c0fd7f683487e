"""Users and the job's nodes, as this node resolves them (files, LDAP, NIS, DNS), and the routes to the nodes."""

import grp
import itertools
import os
import pwd
import re
import socket
import statistics
import time

from kappa.node.files import read

# A node looks up at most this many nodes, and as many look it up: for all nodes, look-ups grow with the square.
ASKED = 64
# More nodes than any machine has; further names of a list are left out.
MOST = 200000


def user():
    """Return the job's user and groups: name, numbers, home."""
    yield "user.number", os.getuid()
    yield "user.groups", ",".join(sorted(map(group, os.getgroups())))
    try:
        entry = pwd.getpwuid(os.getuid())
    except KeyError:
        yield "user.name", None
        return
    yield "user.name", entry.pw_name
    yield "user.home", entry.pw_dir
    yield "user.shell", entry.pw_shell


def accounts(users):
    """Return user -> the node's record as one text; None for an unknown user."""
    return {"account." + name: account(name) for name in users}


def account(name):
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        return None
    groups = ",".join(sorted(map(group, os.getgrouplist(name, entry.pw_gid))))
    return f"number {entry.pw_uid}, home {entry.pw_dir}, group {group(entry.pw_gid)}, groups {groups}"


def group(number):
    try:
        return grp.getgrgid(number).gr_name
    except KeyError:
        return str(number)


def hosts():
    """Yield the facts of looking up the job's nodes. Its own name is separate: many nodes know it as 127.0.1.1."""
    own, took_s = os.environ.get("SLURMD_NODENAME"), []
    looked_up = asked(own, nodes_of_job())
    for name in looked_up:
        began = time.monotonic()
        found = address(name)
        took_s.append(time.monotonic() - began)
        if name != own:
            yield f"host.{name}", found
            yield f"way.{name}", no_way(found) if found else None
            yield f"taken.{name}", found if found and is_own(found) else None
    # The median: a single look-up is also slow on a busy node.
    yield "lookup.median_ms", round(1000 * statistics.median(took_s or [0]))
    yield "lookup.names", len(looked_up)


def asked(own, nodes):
    if own not in nodes or len(nodes) <= ASKED:
        return nodes
    first = nodes.index(own)
    return [nodes[(first + number * len(nodes) // ASKED) % len(nodes)] for number in range(ASKED)]


def nodes_of_job():
    listed = os.environ.get("SLURM_STEP_NODELIST") or os.environ.get("SLURM_JOB_NODELIST") or ""
    return list(itertools.islice(expanded(listed), MOST))


def expanded(listed):
    """Return the node names of a Slurm list: n1s08, n1s09 and so on, and m, for ``n[1-2]s[08-10],m``.

    `scontrol show hostnames` may ask the controller for its configuration, and every node would ask.
    """
    for item in re.findall(r"(?:[^,\[]|\[[^\]]*\])+", listed):
        names = [""]
        for place, part in enumerate(re.split(r"\[([^\]]*)\]", item)):
            pieces = list(itertools.islice(numbers(part), MOST)) if place % 2 else [part]
            names = list(itertools.islice((name + piece for name in names for piece in pieces), MOST))
        yield from names


def numbers(ranges):
    for one in ranges.split(","):
        least, _, most = one.partition("-")
        for number in range(int(least), int(most or least) + 1):
            yield str(number).zfill(len(least))


def address(name):
    try:
        return socket.getaddrinfo(name, None, socket.AF_INET, socket.SOCK_STREAM)[0][4][0]
    except OSError:
        return None


def own_addresses():
    """Return the IPv4 addresses of this node, without the loopback's."""
    found = re.findall(r"\|-- ([\d.]+)\n\s+/32 host LOCAL", read("/proc/net/fib_trie") or "")
    return sorted({address for address in found if not address.startswith("127.")})


def no_way(address):
    """Return why this node has no route to the address, or None; no packet leaves the node."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        try:
            asking.connect((address, 9))
        except OSError as error:
            return error.strerror
    return None


def is_own(address):
    """Return whether this node has the address, except on the loopback: then it sends from that address."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        try:
            asking.connect((address, 9))
        except OSError:
            return False
        return asking.getsockname()[0] == address and not address.startswith("127.")
