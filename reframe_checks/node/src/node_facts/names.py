"""The user whose job this is, and the nodes of the job, as this node resolves them (files, LDAP, DNS)."""

import grp
import os
import pwd
import socket
import subprocess


def facts():
    return dict([*user(), *hosts()])


def user():
    """As on the login node it has to be: name, numbers, groups, home."""
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


def group(number):
    try:
        return grp.getgrgid(number).gr_name
    except KeyError:
        return str(number)


def hosts():
    """Its own name apart, which many nodes know as 127.0.1.1."""
    own = os.environ.get("SLURMD_NODENAME")
    for name in nodes_of_job():
        if name != own:
            yield f"host.{name}", address(name)


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
