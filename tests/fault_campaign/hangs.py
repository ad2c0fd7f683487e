"""Faults that keep a job from its end: a rank is stopped, a node dies meanwhile, MPI does not start."""

import contextlib
import os
import random
import signal
import threading
from collections.abc import Callable, Iterator

from tests.fault_campaign.cluster import Cluster
from tests.fault_campaign.control_group import freezer
from tests.fault_campaign.faults import Fault, Kind, replaced
from tests.fault_campaign.time_to_name import note_fault

#: Of kappa-measure.
SUBCOMMANDS = ("pairs", "node")
# Open MPI reads the one on every node, also before it knows of any other; Slurm's plug-in and MPI load the other.
CONFIGURATION, PMIX = "/etc/openmpi/openmpi-mca-params.conf", f"/usr/lib/{os.uname().machine}-linux-gnu/libpmix.so.2"


def meanwhile(do: Callable[[Cluster, str, int], None], told: str) -> Fault:
    """``do(cluster, node, pid)`` once, at a random moment after a drawn subcommand has started on the node."""

    @contextlib.contextmanager
    def fault(cluster: Cluster, node: str, draw: random.Random) -> Iterator[str]:
        subcommand, later_s = draw.choice(SUBCOMMANDS), draw.randrange(0, 10) / 10
        over = threading.Event()

        def wait_and_do() -> None:
            while not over.wait(0.05):
                if pids := cluster.pids(node, "kappa-measure", subcommand):
                    over.wait(later_s)
                    with contextlib.suppress(ProcessLookupError):
                        note_fault(cluster)
                        do(cluster, node, pids[0])
                        return

        waiting = threading.Thread(target=wait_and_do)
        waiting.start()
        try:
            yield told.format(subcommand=subcommand, later_s=later_s)
        finally:
            over.set()
            waiting.join()

    return fault


def stop(_: Cluster, __: str, pid: int) -> None:
    os.kill(pid, signal.SIGSTOP)


@contextlib.contextmanager
def rank_blocked(cluster: Cluster, node: str, draw: random.Random) -> Iterator[str]:
    with freezer(cluster, node) as freeze:
        put = meanwhile(lambda _, __, pid: freeze(pid), "{subcommand} frozen {later_s} s after its start")
        with put(cluster, node, draw) as told:
            yield told


def power_off(cluster: Cluster, node: str, _: int) -> None:
    cluster.end_node(node)  # `cluster up` after the round starts it again


@contextlib.contextmanager
def mpi_does_not_start(cluster: Cluster, node: str, draw: random.Random) -> Iterator[str]:
    path, make, told = draw.choice([
        (CONFIGURATION, 'mkfifo "$fake"', "it waits for ever for its configuration file"),
        (PMIX, 'head -c 4096 /dev/urandom > "$fake"', "its PMIx library is damaged"),
    ])  # fmt: skip
    with replaced(cluster, node, path, make):
        yield told


KINDS = (
    Kind("stopped rank", True, "a rank of `PairSweep` or `NodeSweep` is stopped with SIGSTOP",
         meanwhile(stop, "{subcommand} stopped {later_s} s after its start")),
    Kind("rank blocked in the kernel", True, "one of them waits there (state D, by a freezer), also when it is killed",
         rank_blocked),
    Kind("node dies in a job", True, "all processes and namespaces of the node end while one of them runs",
         meanwhile(power_off, "{later_s} s after the start of {subcommand}")),
    Kind("MPI does not start", True, "MPI_Init waits for ever on the node, or fails", mpi_does_not_start),
)  # fmt: skip
