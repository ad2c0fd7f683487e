"""Versions of programs, and the modules that a user may load."""

import os
import re
import shutil

from kappa.node.children import output

VERSION_S, MODULES_S = 10, 30
VERSIONS = ("mpirun", "stress-ng", "cmake", "c++")
OF_INTEREST = re.compile(
    r"mpi|mvapich|hpcx|ucx|osu|hpl|hpcc|hpcg|fio|ior|gcc|cuda|nvhpc|oneapi|lammps|openfoam", re.IGNORECASE
)
# A module such as `gcc/12.2(default)`, not a folder of modules or a heading.
MODULE = re.compile(r"([\w.+-]+(?:/[\w.+-]+)*)(?:\(\w+\))?")
MOST_MODULES = 200


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
