"""Headers and static libraries for builds on this node, as MPI's compiler finds them, or else the system's."""

import os
import re
import shutil
import subprocess

PATIENCE_S = 20


def facts(names):
    """Return ``mpi.h``, ``nlohmann/json.hpp``, ``libc.a`` … -> its path, or None."""
    compiler = next(filter(None, map(shutil.which, ("mpicxx", "mpicc", "c++", "cc"))), None)
    folders = header_folders(compiler) if compiler and names else []
    return {"needed_to_build." + name: place(name, compiler, folders) for name in names}


def place(name, compiler, folders):
    if re.search(r"\.(?:a|so[\d.]*|o)$", name):
        # The compiler prints the name unchanged if there is no such file.
        path = said(compiler, "-print-file-name=" + name).strip() if compiler else ""
        return os.path.realpath(path) if os.path.isabs(path) else None
    paths = (os.path.join(folder, name) for folder in folders)
    return next((os.path.realpath(path) for path in paths if os.path.isfile(path)), None)


def header_folders(compiler):
    text = said(compiler, "-x", "c++", "-E", "-v", "/dev/null") or said(compiler, "-E", "-v", "-x", "c", "/dev/null")
    listed = re.search(r"^#include <\.\.\.> search starts here:\n(.*?)^End of search list", text, re.M | re.S)
    return listed.group(1).split() if listed else []


def said(*command):
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            timeout=PATIENCE_S, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else ""
