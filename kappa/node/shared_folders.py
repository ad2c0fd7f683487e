"""Test the folders of a site's jobs on a node: whether the user can write there, and which nodes see the same files.

The tasks of a job test the same folders at the same time. Each writes a file into each folder and counts the files of
the other nodes. It removes its files at the end, also after SIGTERM.
"""

import contextlib
import errno
import json
import os
import pwd
import shutil
import signal
import stat
import sys
import time

from kappa.node.children import all_within, run
from kappa.node.facts.mounts import at
from kappa.node.files import host

#: Kinds of folders. In `parallel`, all nodes must see the same files. In `own` and `any` they need not. The login node
#: makes `work`, with the file `login` and the program `run`.
WORK, PARALLEL = "work", "parallel"
ANSWER_S, QUOTA_S, RUN_S = 60, 20, 10
# Time for the files of other nodes to become visible.
VISIBLE_S, VISIBLE_ALONE_S = 20, 1
MOST_CHARS = 200


def answer_clocks():
    """Print ``ready``, then answer each line on standard input with this node's clock, until ``end``."""
    print("ready", flush=True)
    for line in sys.stdin:
        if line.strip() == "end":
            return
        print(f"clock {line.strip()} {time.time():.6f}", flush=True)


def print_folders(token, job, nodes, folders):
    """Print the user, and for each folder, given as KIND|PATH, a line for each result.

    :param token: of this test. :param job: a name that no other job has at the same time. :param nodes: of this job.
    """
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    print("node", json.dumps(host()))
    answer_clocks()
    try:
        name = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        name = ""
    print("user", json.dumps([str(os.getuid()), str(os.getgid()), name]))
    # Two kinds of test may be of the same folder.
    tests = [(*folder.split("|", 1), token, f"{job}-{number}", nodes) for number, folder in enumerate(folders)]
    for number, results in enumerate(all_within(ANSWER_S, tested, tests)):
        for key, value in (results or {}).items():
            print(f"folder.{number}.{key}", json.dumps(value))
    print("end")
    return 0


def tested(kind, path, token, job, nodes):
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    results = {"kind": kind, "there": os.path.isdir(path)}
    if not results["there"]:
        return results
    [mount] = at([path]).values()
    results["mount"] = [mount[name] or "" for name in ("type", "source", "point", "options")]
    with contextlib.suppress(OSError):
        space = os.statvfs(path)
        sizes = [space.f_blocks * space.f_frsize, space.f_bavail * space.f_frsize]
        results["space"] = [*sizes, space.f_files, space.f_favail]
    results["quota"] = quota(mount["type"], mount["point"])
    if kind == WORK:
        results["token"] = first_line(os.path.join(path, "login"))
        results["runs"] = first_words(os.path.join(path, "run"))
        results.update(seen_in(path, token, nodes, 0))
        return results
    place = os.path.join(path, f"kappa-doctor-{token}-{job}")
    try:
        with contextlib.suppress(FileExistsError):  # another node has made it, or another user
            os.mkdir(place, 0o700)
        status = os.lstat(place)
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
            raise OSError(f"{place} belongs to another user")
        results.update(seen_in(place, token, nodes, VISIBLE_S if kind == PARALLEL else VISIBLE_ALONE_S))
    except OSError as error:
        results["writes"] = str(error)
    finally:
        remove(place)
    return results


def seen_in(place, token, nodes, patience_s):
    """Write a file, and wait until the files of all nodes are visible."""
    own = os.path.join(place, f"node-{host()}")
    try:
        write(own, f"{token} {host()}\n")
        status = os.stat(own)
    except OSError as error:
        return {"writes": str(error)}
    deadline = time.monotonic() + patience_s
    while count(place, "node-") < nodes and time.monotonic() < deadline:
        time.sleep(0.2)
    sees = count(place, "node-")
    write(os.path.join(place, f"looked-{host()}"), "")
    # Keep the file until all nodes have looked, or a node has gone.
    while count(place, "node-") >= nodes > count(place, "looked-") and time.monotonic() < deadline:
        time.sleep(0.1)
    return {"writes": "yes", "owner": f"{status.st_uid}:{status.st_gid}", "sees": sees}


def count(place, beginning):
    # A change by this client makes NFS read the folder again.
    look = os.path.join(place, f".look-{host()}")
    write(look, "")
    os.unlink(look)
    return sum(name.startswith(beginning) for name in os.listdir(place))


def write(path, text):
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with open(handle, "w") as stream:
        stream.write(text)


def remove(place):
    """Remove this node's files. The last node removes the folder. The login node removes the work folders."""
    with contextlib.suppress(OSError):
        status = os.lstat(place)
        if stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid():
            for name in ("node", "looked"):
                with contextlib.suppress(OSError):
                    os.unlink(os.path.join(place, f"{name}-{host()}"))
            os.rmdir(place)


def quota(kind, point):
    """Return what the quota command of the file system prints; ``None`` without one."""
    if kind == "lustre":
        command = ["lfs", "quota", "-q", "-u", str(os.getuid()), point]
    else:
        command = ["quota", "-w", "-p", "-f", point]
    if not point or not shutil.which(command[0]):
        return None
    # quota(1) has an exit status above 0 if a quota is used up.
    return " ".join(run(QUOTA_S, *command, errors=True)[1].split())


def first_words(program):
    """Return the first line that the program prints, or why it does not run."""
    try:
        os.close(os.open(program, os.O_RDONLY))
        if not os.access(program, os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), program)
    except OSError as error:
        return str(error)
    return run(RUN_S, program, errors=True)[1][:MOST_CHARS].partition("\n")[0]


def first_line(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            return stream.readline(MOST_CHARS).strip()
    except OSError as error:
        return str(error)
