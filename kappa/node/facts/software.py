"""The software that runs: the paths of programs, and the SHA-256 of programs, shared objects and files opened later.

Each file is read once on a node. A file on a network file system is the same for all nodes: the first two tasks read
its content, and the others report its size and time. Otherwise 500 nodes would read it 500 times from one server.
"""

import glob
import os
import re
import shutil

from kappa.node.children import run
from kappa.node.facts.mounts import NETWORK, sha256, table

# Paths from a library's real file (by first part of its name) to the plug-ins and settings that it opens at run time.
OPEN_MPI = ("openmpi/*.so", "openmpi/lib/openmpi*/*.so", "../etc/openmpi-mca-params.conf", "/etc/openmpi/*.conf")
OPENED = {
    "libmpi": OPEN_MPI,
    "libopen-pal": OPEN_MPI,
    "libpmix": ("pmix/*.so",),
    "libucs": ("ucx/*.so*", "/etc/ucx/ucx.conf"),
    "libfabric": ("libfabric/*.so",),
    "libhwloc": ("hwloc/*.so",),
    "libibverbs": ("libibverbs/*.so",),
    "libslurmfull": ("*.so",),
}
READERS = 2
LDD_SECONDS = 60


def objects(programs, files):
    """Return the checksums of ``programs``, named as on PATH, and of ``files``, named by path."""
    found, roots = {}, list(files)
    for program in programs:
        roots += started(program)
    there, lost = linked(roots)
    # Libraries that only plug-ins lack do not count: they are for absent hardware.
    found["unresolved_libraries"] = sorted(lost)
    new = there
    while new:
        new = linked({path for one in new for path in opened(one)} - there)[0] - there
        there |= new
    kinds, is_reader = file_systems(), int(os.environ.get("SLURM_PROCID", "0")) < READERS
    for path in sorted(there):
        found.update(content(path, kinds, is_reader))
    return found


def places(programs):
    """Return program -> its path, None if PATH does not have it."""
    return {"program." + name: shutil.which(name) for name in programs}


def started(program):
    """Return the first file of this name on PATH. If it is a script, return also its interpreter and the next file of
    this name, because a wrapper starts it."""
    found = []
    for path in filter(None, (shutil.which(program, path=folder) for folder in os.get_exec_path())):
        with open(path, "rb") as stream:
            start = stream.readline(256)
        found.append(path)
        words = start[2:].decode("utf-8", "replace").split() if start.startswith(b"#!") else []
        if not words:
            break
        if words[1:] and os.path.basename(words[0]) == "env":
            words = [shutil.which(words[1])]
        found += filter(None, words[:1])
    return found


def linked(paths):
    """Return (the real files and all objects that the loader adds, the names that it does not find)."""
    paths = {os.path.realpath(path) for path in paths}
    found, lost = set(paths), set()
    if paths:
        # The exit status is 1 if one of the files is a script.
        status, said = run(LDD_SECONDS, "ldd", *sorted(paths), errors=True)
        if status not in (0, 1):
            raise OSError("`ldd` does not answer")
        for line in said.splitlines():
            damaged = re.search(r"error while loading shared libraries: (.+?): ", line)
            if damaged:
                lost.add(damaged.group(1))
            match = re.match(r"\t(?:(\S+) => )?(/\S+|not found)", line)
            if match and match.group(2) == "not found":
                lost.add(match.group(1))
            elif match:
                found.add(os.path.realpath(match.group(2)))
    return found, lost


def opened(path):
    """Return the files that the library at ``path`` may open when it runs."""
    folder, name = os.path.split(path)
    patterns = OPENED.get(re.split(r"[.\d]", name)[0].rstrip("-"), ())
    return [os.path.realpath(one) for pattern in patterns for one in glob.glob(os.path.join(folder, pattern))]


def file_systems():
    """Return device number -> type of the file system mounted from it."""
    return {os.makedev(*map(int, device.split(":"))): there["type"] for device, _, there in table()}


def content(path, kinds, is_reader):
    status = os.stat(path) if os.path.exists(path) else None
    if status is None or not NETWORK.fullmatch(kinds.get(status.st_dev, "")):
        yield "binary." + path, sha256(path)
        return
    yield "shared_file." + path, f"{status.st_size} bytes of {int(status.st_mtime)}"
    if is_reader:
        yield "shared_content." + path, sha256(path)
