"""A bench that replays Slurm's answers."""

import contextlib
import pathlib
from dataclasses import dataclass, field

from kappa.core.ground.errors import InputError
from reports.acceptance.campaign.operations import ProbeJob


@dataclass
class FakeBench:
    """``answers``: by the command's first word an answer, several in turn, or an error; the last one stays."""

    campaign: pathlib.Path
    answers: dict[str, list[str | Exception]]
    again: bool = False
    probes: tuple[ProbeJob, ...] = ()
    status: int | None = 0
    stopped: Exception | None = None
    commands: list[tuple[str, ...]] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    jobs: int = 0

    def say(self, line):
        self.lines.append(line)

    def pause(self, seconds):
        if self.stopped and seconds:
            raise self.stopped

    def until(self, done, patience_s):
        for _ in range(3):
            if done():
                return True
            self.pause(1)
        return False

    def run(self, command):
        self.commands.append(tuple(command))
        answers = self.answers.get(command[0], [InputError(f"`{command[0]}`: there is no such program")])
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def submit(self, sbatch):
        self.commands.append(tuple(sbatch))
        self.jobs += 1
        return str(self.jobs)

    @contextlib.contextmanager
    def probe(self, sbatch):
        self.commands.append(tuple(sbatch))
        yield self.probes

    def start(self, command):
        self.commands.append(tuple(command))
        return lambda: self.status

    def asked(self, program):
        return [command for command in self.commands if command[0] == program]
