"""Give a clause about operation the means to measure: Slurm, a job each second, and an operator's command."""

import contextlib
import functools
import pathlib
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from kappa.app.conduct.node_commands import CommandError, NodeCommands
from kappa.app.conduct.session import Conductor
from kappa.core.ground.clean_text import clean
from kappa.core.ground.errors import InputError
from kappa.core.sites.load import Site
from reports.acceptance.campaign.operations import ProbeJob

_EACH_S, _MOST_WAITING = 1.0, 100


class SlurmBench:
    """Measure on the Slurm of a site; ``campaign`` and ``again`` as in ``OperationBench``."""

    def __init__(self, campaign: pathlib.Path, site: Site, conductor: Conductor, again: bool = False) -> None:
        self.campaign, self.again, self._site, self._conductor = campaign, again, site, conductor
        self.say = conductor.say

    @functools.cached_property
    def _commands(self) -> NodeCommands:
        if self._site.description is None:
            raise InputError(f"the site {self._site.name} has no site.yaml, so its Slurm cannot be asked")
        commands = NodeCommands(self._site.description)
        # Slurm's times have no zone: in local time an hour of autumn would be there twice.
        commands.environment |= {"TZ": "UTC", "SLURM_TIME_FORMAT": "standard"}
        return commands

    def pause(self, seconds: float) -> None:
        self.until(lambda: False, seconds)

    def until(self, done: Callable[[], bool], patience_s: float) -> bool:
        end = time.monotonic() + patience_s
        while not done():
            self._conductor.stop.check()
            if time.monotonic() >= end:
                return False
            time.sleep(_EACH_S)
        return True

    def run(self, command: Sequence[str]) -> str:
        own = self._commands.sacct if command[0] == "sacct" else command[:1]
        return self._commands.run((*own, *command[1:]))

    def submit(self, sbatch: Sequence[str]) -> str:
        answer = self.run(sbatch)
        # ID or ID;CLUSTER
        job = answer.strip().partition(";")[0]
        if not job.isdecimal():
            raise CommandError(f"`sbatch --parsable`: expected a job id, found {answer[:80]!r}")
        return job

    def start(self, command: Sequence[str]) -> Callable[[], int | None]:
        try:
            return subprocess.Popen(command, stdin=subprocess.DEVNULL).poll
        except OSError as err:
            raise InputError(f"`{clean(command[0])}`: {err.strerror}") from None

    @contextlib.contextmanager
    def probe(self, sbatch: Sequence[str]) -> Iterator[Sequence[ProbeJob]]:
        probes, over = list[ProbeJob](), threading.Event()

        def send() -> None:
            sent, job = time.time(), ""
            with contextlib.suppress(CommandError):
                job = self.submit(sbatch)
            probes.append(ProbeJob(sent, time.time(), job))

        def send_each_second() -> None:
            while not over.wait(_EACH_S):
                pool.submit(send)

        # While slurmctld is down, sbatch waits, so several threads send.
        with ThreadPoolExecutor(_MOST_WAITING) as pool:
            pool.submit(send_each_second)
            try:
                yield probes
            finally:
                over.set()
                pool.shutdown(cancel_futures=True)
