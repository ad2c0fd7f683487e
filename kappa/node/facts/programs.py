"""Versions of programs, the modules that a user may load, and the MPI libraries in usual places."""

import glob
import os
import re
import shutil
import time

from kappa.node.children import output
from kappa.node.files import read

VERSION_S, MODULES_S = 10, 30
VERSIONS = ("mpirun", "stress-ng", "cmake", "c++")
OF_INTEREST = re.compile(
    r"mpi|mvapich|hpcx|ucx|osu|hpl|hpcc|hpcg|fio|ior|gcc|cuda|nvhpc|oneapi|lammps|openfoam", re.IGNORECASE
)
# A module such as `gcc/12.2(default)`, not a folder of modules or a heading.
MODULE = re.compile(r"([\w.+-]+(?:/[\w.+-]+)*)(?:\(\w+\))?")
MOST_MODULES = 200
LIBRARIES_S, MOST_LIBRARIES = 20, 100
PLACES = (
    "/usr/lib64/openmpi*", "/usr/lib64/mpich*", "/usr/lib64/mvapich*", "/usr/lib/*-linux-gnu/openmpi",
    "/usr/lib/*-linux-gnu/mpich", "/usr/lib64/mpi/gcc/*", "/usr/mpi/*/*", "/usr/local", "/opt/openmpi*",
    "/opt/openmpi*/*", "/opt/mpich*", "/opt/mpich*/*", "/opt/mvapich*", "/opt/mvapich*/*", "/opt/*/mpi",
    "/opt/intel/oneapi/mpi/[0-9]*", "/opt/intel/impi/[0-9]*", "/opt/cray/pe/mpich/[0-9]*", "/opt/hpcx*/ompi",
    "/opt/amazon/openmpi*", "/opt/nvidia/hpc_sdk/Linux_*/[0-9]*/comm_libs/mpi",
)  # fmt: skip
SIGNS = (
    "bin/mpicc", "bin/mpirun", "bin/mpiexec", "lib*/libmpi.so*", "lib*/libmpich.so*", "ofi/*/*/lib/libmpi*.so",
    "ucx/*/*/lib/libmpi*.so",
)  # fmt: skip
DEFINED = re.compile(
    r'^#define\s+((?:OMPI_(?:MAJOR|MINOR|RELEASE)|I_MPI|MPICH|MVAPICH2?|CRAY_MPICH)_VERSION)\s+"?([^"\s]+)', re.M
)
LIBRARY = re.compile(r"^\s*libmpi(?:ch)?\.so\.[0-9]+ .* => (.+)", re.M)


def versions():
    """Yield [program, first line of its version]."""
    found = [[name, first_line(name)] for name in VERSIONS if shutil.which(name)]
    # Cray's MPI has no mpirun. Its module sets the version.
    if os.environ.get("CRAY_MPICH_VERSION"):
        found.append(["mpirun", "CRAY MPICH version " + os.environ["CRAY_MPICH_VERSION"]])
    yield "site.versions", [pair for pair in found if pair[1]]


def first_line(program):
    said = (output(VERSION_S, program, "--version", errors=True) or "").strip()
    return said.splitlines()[0] if said else ""


def available():
    listed = output(MODULES_S, "bash", "-c", "type module >/dev/null && module -t avail", errors=True) or ""
    modules = (MODULE.fullmatch(line.strip()) for line in listed.splitlines() if OF_INTEREST.search(line))
    yield "site.modules", [module.group(1) for module in modules if module][:MOST_MODULES]


def libraries():
    """Yield [source, what the library's files say about its version, place]; ``path`` is the mpirun on PATH."""
    deadline = time.monotonic() + LIBRARIES_S
    found = []
    for source, place in places():
        if time.monotonic() > deadline or len(found) == MOST_LIBRARIES:
            break
        if "\n" not in place:
            found.append([source, version(place), place])
    yield "site.mpi", found


def places():
    first = shutil.which("mpirun")
    if first:
        yield "path", os.path.realpath(first)
    for place in (output(VERSION_S, "update-alternatives", "--list", "mpirun") or "").splitlines():
        if place.startswith("/") and os.access(place, os.X_OK):
            yield "alternatives", place
    folders = os.environ.get("PATH", "") + ":/sbin:/usr/sbin"
    cached = output(VERSION_S, "ldconfig", "-p", environment=dict(os.environ, PATH=folders))
    for library in LIBRARY.findall(cached or ""):
        yield "ldconfig", os.path.realpath(library)
    for pattern in PLACES:
        for place in sorted(glob.glob(pattern)):
            if any(glob.glob(os.path.join(place, sign)) for sign in SIGNS):
                yield "folder", place


def version(place):
    of_machine = f"/usr/include/{os.path.basename(place)}-{os.uname().machine}/mpi.h"
    for header in (os.path.join(place, "include/mpi.h"), of_machine):
        said = " ".join("{}={}".format(*pair) for pair in DEFINED.findall(read(header) or ""))
        if said:
            return said
    if ".so." in place:
        name = "mpich.pc" if os.path.basename(place).startswith("libmpich") else "ompi.pc"
        said = read(os.path.dirname(place), "pkgconfig", name) or ""
        return " ".join(re.findall(r"^(?:Name|Version):.*", said, re.M))
    for program in (place, *(os.path.join(place, "bin", name) for name in ("ompi_info", "mpichversion", "mpirun"))):
        if os.path.isfile(program) and os.access(program, os.X_OK):
            return " ".join((output(VERSION_S / 2, program, "--version", errors=True) or "").splitlines()[:2])
    return ""
