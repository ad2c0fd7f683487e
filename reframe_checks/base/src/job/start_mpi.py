#!/usr/bin/env python3
"""Test whether MPI starts: load the named library, which the job's programs use; all ranks meet in a barrier.

ctypes needs no build in the job's environment, and it loads exactly the library in question. Prints
``kappa-mpi RANK of SIZE``. Runs on Python 3.6, which old systems bring.
"""

import ctypes
import signal
import sys
import time

# End a hang even if nothing else does.
signal.alarm(120)
OWN_LIBRARY = ctypes.CDLL(sys.argv[1], ctypes.RTLD_GLOBAL)
# Resolve symbols as in a program linked with the library: objects loaded earlier come first.
MPI = ctypes.CDLL(None)


def world():
    """Return ``MPI_COMM_WORLD``: the address of an object in Open MPI, a number in MPICH and its derivatives."""
    try:
        return ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(MPI, "ompi_mpi_comm_world")))
    except ValueError:
        return ctypes.c_int(0x44000000)


def called(status):
    if status != 0:
        sys.exit(f"MPI reports error {status}")


called(MPI.MPI_Init(None, None))
rank, size = ctypes.c_int(), ctypes.c_int()
called(MPI.MPI_Comm_rank(world(), ctypes.byref(rank)))
called(MPI.MPI_Comm_size(world(), ctypes.byref(size)))
called(MPI.MPI_Barrier(world()))
print(f"kappa-mpi {rank.value} of {size.value}", flush=True)
# Wait: mpirun may forward the output only after the ranks' end. The reader of the output ends the ranks earlier.
time.sleep(5)
called(MPI.MPI_Finalize())
