"""The heartbeat of a real rank, read as a job's watch reads it while the rank runs and when it is stopped."""

import os
import signal
import subprocess

from kappa.node.watch.look import look
from tests.mpi_environment import MPI_ENVIRONMENT
from tests.sweep.conftest import AS_NODE
from tests.waiting import until

JOB = f"kappa-heartbeat-{os.getpid()}"
LONG = ["--round-trips=1000000", "--seconds=300"]


def ranks():
    """Process ids of the job's ranks, by rank."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file, open(f"/proc/{pid}/comm") as name:
                environ = dict(pair.partition(b"=")[::2] for pair in file.read().split(b"\0"))
                if environ.get(b"SLURM_JOB_ID") == JOB.encode() and name.read() == "kappa-measure\n":
                    found[int(environ[b"OMPI_COMM_WORLD_RANK"])] = int(pid)
        except (OSError, KeyError):
            continue
    return found


def test_a_stopped_rank_is_told_with_its_phase(build, tmp_path, monkeypatch):
    monkeypatch.setenv("SLURM_JOB_ID", JOB)
    program = build("pairs")
    environment = os.environ | MPI_ENVIRONMENT | {"RANKS_PER_NODE": "1", "SLURM_JOB_ID": JOB}
    command = ["mpirun", "-n", "2", "sh", "-c", AS_NODE, program.path, *program.subcommand, *LONG]
    # Not started by Slurm, whatever it takes the number of a job for.
    running = subprocess.Popen(
        [*command[:1], "--mca", "ras", "^slurm", "--mca", "plm", "^slurm", *command[1:]],
        env=environment, cwd=tmp_path, start_new_session=True,
    )  # fmt: skip

    def told_when_stopped():
        pid = ranks().get(1)
        if pid is None:
            return None
        os.kill(pid, signal.SIGSTOP)
        told = [(process["rank"], process["phase"]) for process in look()["stopped"] if process["pid"] == pid]
        os.kill(pid, signal.SIGCONT)
        return told == [(1, "latency with node0")]

    try:
        until(told_when_stopped, "the rank is at work")
    finally:
        os.killpg(running.pid, signal.SIGKILL)
        running.wait()
