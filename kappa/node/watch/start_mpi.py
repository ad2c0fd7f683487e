"""Test whether MPI starts: load the named library, which the job's programs use; all ranks meet in a barrier.

ctypes needs no build in the job's environment, and it loads exactly the library in question.
"""

import ctypes
import signal
import sys
import time

MOST_S = 120  # ends a hang even if nothing else does


def start_mpi(library):
    """Print ``kappa-mpi RANK of SIZE``."""
    signal.alarm(MOST_S)
    ctypes.CDLL(library, ctypes.RTLD_GLOBAL)
    # Resolve symbols as in a program linked with the library: objects loaded earlier come first.
    mpi = ctypes.CDLL(None)
    rank, size = ctypes.c_int(), ctypes.c_int()
    check(mpi.MPI_Init(None, None))
    check(mpi.MPI_Comm_rank(world(mpi), ctypes.byref(rank)))
    check(mpi.MPI_Comm_size(world(mpi), ctypes.byref(size)))
    check(mpi.MPI_Barrier(world(mpi)))
    print(f"kappa-mpi {rank.value} of {size.value}", flush=True)
    # Wait: mpirun may forward the output only after the ranks' end. The reader of the output ends the ranks earlier.
    time.sleep(5)
    check(mpi.MPI_Finalize())


def world(mpi):
    """Return ``MPI_COMM_WORLD``: the address of an object in Open MPI, a number in MPICH and its derivatives."""
    try:
        return ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(mpi, "ompi_mpi_comm_world")))
    except ValueError:
        return ctypes.c_int(0x44000000)


def check(status):
    if status != 0:
        sys.exit(f"MPI reports error {status}")
