"""Submit, list and cancel the jobs of one attempt at a clause about operation. They all have one name of their own."""

import shlex
import time
from collections.abc import Sequence

from reports.acceptance.job_rows import SQUEUE_COMMAND, JobRow, parse_jobs
from reports.acceptance.operations import OperationAttempt

from kappa.app.conduct.node_commands import CommandError, NodeCommands
from kappa.core.ground.errors import InputError
from kappa.core.ground.processes import Stop
from kappa.core.sites.load import Site
from kappa.core.sites.operation_clauses import QueuedJob

_STEP_S = 0.2
SILENT = "--output=/dev/null"


def commands_of(site: Site) -> NodeCommands:
    """Return the commands of a site, with times in UTC.

    :raises InputError: the site has no site.yaml.
    """
    if site.description is None:
        raise InputError(f"the site {site.name} has no site.yaml, so its Slurm cannot be asked")
    commands = NodeCommands(site.description)
    # Slurm's times have no zone: in local time an hour of autumn would be there twice.
    commands.environment |= {"TZ": "UTC", "SLURM_TIME_FORMAT": "standard"}
    return commands


def pause(stop: Stop, seconds: float) -> None:
    """Wait.

    :raises StoppedError: there was a reason to stop.
    """
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        stop.check()
        time.sleep(_STEP_S)


class OperationJobs:
    """The jobs of an attempt. ``options``: those of the contract, for each job."""

    def __init__(self, commands: NodeCommands, attempt: OperationAttempt, options: Sequence[str]) -> None:
        self.commands, self.attempt, self.options = commands, attempt, options

    def submission(self, job: QueuedJob, *more: str) -> list[str]:
        """Return the command that submits a job; ``more``: further options."""
        task = shlex.join(job.command or ("sleep", str(job.seconds)))
        return [
            "sbatch", "--parsable", f"--job-name={self.attempt.job_name}", "--no-requeue", "--chdir=/",
            f"--nodes={job.nodes}", "--ntasks-per-node=1", f"--time={job.limit_min}",
            *self.options, *more, f"--wrap=exec {task}",
        ]  # fmt: skip

    def submit(self, job: QueuedJob, *more: str) -> str:
        """Submit a job, and return its id.

        :raises CommandError: Slurm refuses it.
        """
        return job_id(self.commands.run(self.submission(job, *more)))

    def ask(self) -> tuple[str, list[JobRow]]:
        """Return squeue's answer and all jobs in it, also those that ended lately.

        :raises InputError: slurmctld does not answer, or its answer cannot be read.
        """
        answer = self.commands.run(SQUEUE_COMMAND)
        return answer, parse_jobs(answer, "squeue")

    def cancel(self) -> None:
        """Cancel every job of the attempt that is left.

        :raises CommandError: slurmctld does not answer.
        """
        self.commands.run(("scancel", "--quiet", f"--name={self.attempt.job_name}"))


def cancel_left(commands: NodeCommands, attempts: Sequence[OperationAttempt]) -> None:
    """Cancel what interrupted attempts left in the queue: Kappa may have been killed.

    :raises CommandError: slurmctld does not answer.
    """
    for attempt in attempts:
        if not attempt.finished:
            OperationJobs(commands, attempt, ()).cancel()


def job_id(said: str) -> str:
    """Return the id in the answer of ``sbatch --parsable``: ``ID`` or ``ID;CLUSTER``.

    :raises CommandError: there is none.
    """
    found = said.strip().partition(";")[0]
    if not found.isdecimal():
        raise CommandError(f"`sbatch --parsable`: expected a job id, found {said[:80]!r}")
    return found
