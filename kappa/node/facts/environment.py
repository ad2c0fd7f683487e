"""The environment of a task, which a node's prolog or files may change, and the programs that come first on its PATH.

Variables that libraries read are reported with their value. Other variables are only reported as set: a value may be a
secret. Variables that Slurm or MPI's launcher sets for each task are left out.
"""

import hashlib
import os
import re
import shutil
import socket

from kappa.node.children import output
from kappa.node.files import read

# MPI and the libraries below it, threads, mathematics, memory, GPUs, files, Python and the shell.
SETTING = re.compile(
    r"(?:OMPI_MCA|PMIX_MCA|PRTE_MCA|I_MPI|MPICH|MPIR|MV2|MVP|MPI|HCOLL|SHARP|UCX|UCC|MXM|FI|PSM[23]?|HFI|IBV|RDMAV|MLX[45]|"
    r"IPATH|GASNET|SHMEM|HWLOC|PAMI|OMP|GOMP|KMP|ACC|TBB|MKL|OPENBLAS|GOTO|BLIS|NUMEXPR|VECLIB|FFTW|MALLOC|LD|GLIBC|"
    r"CUDA|NCCL|RCCL|NVSHMEM|HIP|ROCR|HSA|ZE|SYCL|ROMIO|HDF5|DARSHAN|LC|LMOD|SPACK|CONDA|JULIA)_\w+|PYTHON\w+"
    r"|PATH|MODULEPATH|TMPDIR|TMP|TEMP|LANG|LANGUAGE|TZ|HOME|SHELL|USER|LOGNAME|VIRTUAL_ENV|BASH_ENV|ENV"
)
# Variables of one task, or of the GPUs that Slurm gave it.
OWN = re.compile(
    r"SLURM\w*|PMI\d?_\w+|PMIX_(?!MCA_)\w+|OMPI_(?!MCA_)\w+|HYD\w*|MPI_(?:LOCAL|RANK|NRANKS)\w*|KAPPA_\w+|_"
    r"|(?:OMPI|PRTE)_MCA_(?:ess|orte|prte|oob|plm|routed|rmaps|shmem|initial|state|regx)_\w+"
    r"|\w+_VISIBLE_DEVICES|GPU_DEVICE_ORDINAL"
)
PRELOAD = "/etc/ld.so.preload"
NAME = re.compile(r"[A-Za-z_]\w{0,99}")
SECRET = re.compile(r"token|passw|secret|key|credential|auth|cookie|://[^/@\s]*:[^/@\s]*@", re.IGNORECASE)
SHOWN_CHARS = 200
PATIENCE_S = 10
INTERPRETER = "import os, sys; print(os.path.realpath(sys.executable), *sys.version.split())"
# Names by which jobs start programs, whatever the file.
COMMANDS = (
    "python3", "python", "perl", "bash", "sh", "env", "awk", "sed", "make", "cmake", "cc", "c++", "gcc", "g++", "ld",
    "gfortran", "mpicc", "mpicxx", "mpifort", "mpirun", "mpiexec", "srun", "ssh", "numactl", "taskset", "nvcc",
    "nvidia-smi", "apptainer", "singularity",
)  # fmt: skip


def facts():
    found = {}
    for name, value in {"PATH": "", **os.environ}.items():
        if not NAME.fullmatch(name) or OWN.fullmatch(name):
            continue
        if SETTING.fullmatch(name):
            found["setting." + name] = shown(name, value)
        else:
            found["variable." + name] = "set"
    found.update({"program." + name: shutil.which(name) for name in COMMANDS})
    found["preloaded"] = shown("", " ".join((read(PRELOAD) or "").split())) or None
    # Not this interpreter, which is the system's.
    found["interpreter"] = (output(PATIENCE_S, "python3", "-s", "-c", INTERPRETER) or "").strip() or None
    return found


def shown(name, value):
    """Return the value without the node's own parts, shortened to a readable line."""
    if SECRET.search(name) or SECRET.search(value):
        return "hidden"
    for own in {os.environ.get("SLURMD_NODENAME"), socket.gethostname(), socket.gethostname().partition(".")[0]}:
        if own:
            value = re.sub(r"(?<![\w-])" + re.escape(own) + r"(?![\w-])", "NODE", value)
    text = "".join(char if char.isprintable() else "?" for char in value)
    if len(text) <= SHOWN_CHARS:
        return text
    digest = hashlib.sha256(value.encode("utf-8", "surrogateescape")).hexdigest()
    return f"{text[:SHOWN_CHARS]} … (SHA-256 {digest})"
