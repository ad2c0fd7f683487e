"""Reduce and allreduce, which mpi4py's OSU demos lack: the same loop, sum of 4-byte floats.

Method of OSU Micro-Benchmarks: each rank times its own call after a barrier; rank 0 prints the mean over
ranks and iterations.
"""

from mpi4py import MPI


def measure(title, call, *, skip=200, loop=1000, skip_large=10, loop_large=100, large_message_size=8192,
            MAX_MSG_SIZE=1 << 20):  # fmt: skip
    """Time ``call(send, receive)`` for message sizes of 4 B to ``MAX_MSG_SIZE``; print a table on rank 0."""
    comm = MPI.COMM_WORLD
    if comm.size < 2:
        raise SystemExit("This test requires at least two processes")
    send_memory, receive_memory = bytearray(MAX_MSG_SIZE), bytearray(MAX_MSG_SIZE)
    if comm.rank == 0:
        print(f"# {title}")
        print(f"# {'Size [B]':<8s}{'Latency [us]':>20s}")
    size = 4
    while size <= MAX_MSG_SIZE:
        if size > large_message_size:
            skip, loop = skip_large, loop_large
        send = [memoryview(send_memory)[:size], size // 4, MPI.FLOAT]
        receive = [memoryview(receive_memory)[:size], size // 4, MPI.FLOAT]
        elapsed_s = 0.0
        for i in range(skip + loop):
            comm.Barrier()
            start = MPI.Wtime()
            call(send, receive)
            if i >= skip:
                elapsed_s += MPI.Wtime() - start
        mean_us = comm.reduce(elapsed_s / loop * 1e6, op=MPI.SUM, root=0)
        if comm.rank == 0:
            print(f"{size:-10d}{mean_us / comm.size:20.2f}")
        size *= 2


def osu_reduce(**settings):
    comm = MPI.COMM_WORLD
    measure(
        "Kappa MPI Reduce Latency Test",
        lambda send, receive: comm.Reduce(send, receive if comm.rank == 0 else None, op=MPI.SUM, root=0),
        **settings,
    )


def osu_allreduce(**settings):
    measure(
        "Kappa MPI Allreduce Latency Test",
        lambda send, receive: MPI.COMM_WORLD.Allreduce(send, receive, op=MPI.SUM),
        **settings,
    )
