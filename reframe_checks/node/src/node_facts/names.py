"""Users, and the nodes of the job, as this node resolves them (files, LDAP, NIS, DNS), and whether there is a way."""

import grp
import os
import pwd
import socket
import subprocess
import time


def facts():
    return dict([*user(), *hosts()])


def user():
    """The user whose job this is, and the groups that the job has: name, numbers, home."""
    yield "user.number", os.getuid()
    yield "user.groups", ",".join(sorted(map(group, os.getgroups())))
    try:
        entry = pwd.getpwuid(os.getuid())
    except KeyError:
        yield "user.name", None
        return
    yield "user.name", entry.pw_name
    yield "user.home", entry.pw_dir
    yield "user.home_is_there", os.path.isdir(entry.pw_dir)
    yield "user.shell", entry.pw_shell


def accounts(users):
    """Of each user by name all that the node knows in one text; None of whom it does not know."""
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
    """Its own name apart, which many nodes know as 127.0.1.1."""
    own, slowest_s = os.environ.get("SLURMD_NODENAME"), 0
    for name in nodes_of_job():
        began = time.monotonic()
        found = address(name)
        slowest_s = max(slowest_s, time.monotonic() - began)
        if name != own:
            yield f"host.{name}", found
            yield f"way.{name}", no_way(found) if found else None
    yield "lookup.slowest_ms", round(1000 * slowest_s)


def nodes_of_job():
    listed = os.environ.get("SLURM_STEP_NODELIST") or os.environ.get("SLURM_JOB_NODELIST")
    if not listed:
        return []
    try:
        command = ["scontrol", "show", "hostnames", listed]
        answer = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return []
    return answer.stdout.decode("utf-8", "replace").split()


def address(name):
    try:
        return socket.getaddrinfo(name, None, socket.AF_INET, socket.SOCK_STREAM)[0][4][0]
    except OSError:
        return None


def no_way(address):
    """Why this node sends nothing to the address, by its own routes, or None; no packet leaves it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        try:
            asking.connect((address, 9))
        except OSError as error:
            return error.strerror
    return None
