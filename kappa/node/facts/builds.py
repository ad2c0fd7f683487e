"""Headers and static libraries for builds on this node, as MPI's compiler finds them, or else the system's."""

import os
import re
import shutil

from kappa.node.children import output

PATIENCE_S = 20


def facts(to_build):
    """Return ``mpi.h``, ``nlohmann/json.hpp``, ``libc.a`` … -> its path, or None."""
    compiler = next(filter(None, map(shutil.which, ("mpicxx", "mpicc", "c++", "cc"))), None)
    folders = header_folders(compiler) if compiler and to_build else []
    return {"needed_to_build." + name: place(name, compiler, folders) for name in to_build}


def place(name, compiler, folders):
    if re.search(r"\.(?:a|so[\d.]*|o)$", name):
        # The compiler prints the name unchanged if there is no such file.
        path = (output(PATIENCE_S, compiler, "-print-file-name=" + name) or "").strip() if compiler else ""
        return os.path.realpath(path) if os.path.isabs(path) else None
    # Distributions have the headers of Eigen in a folder of their own, which CMake finds.
    paths = (os.path.join(folder, below, name) for folder in folders for below in ("", "eigen3"))
    return next((os.path.realpath(path) for path in paths if os.path.isfile(path)), None)


def header_folders(compiler):
    text = output(PATIENCE_S, compiler, "-x", "c++", "-E", "-v", "/dev/null", errors=True)
    text = text or output(PATIENCE_S, compiler, "-E", "-v", "-x", "c", "/dev/null", errors=True)
    listed = re.search(r"^#include <\.\.\.> search starts here:\n(.*?)^End of search list", text or "", re.M | re.S)
    return listed.group(1).split() if listed else []
