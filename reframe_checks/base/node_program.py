"""Ask the nodes of a job with ``kappa-node``."""

import pathlib
import shlex
from collections.abc import Iterable

from kappa.core.ground.whole_files import written_beside
from kappa.node import packed


def node_program(check) -> str:
    """Put the program into the stage folder of ``check``; return the start of the command that runs it in the job.

    Its path is absolute: if a node does not see the folder, Slurm starts the task in /tmp, where any user may have put
    a program of this name.
    """
    path = pathlib.Path(check.stagedir, packed.PROGRAM)
    with written_beside(path, 0o700, lasting=False) as file:
        file.write(packed.program())
    return shlex.join(["sh", str(path)])


def ask_nodes(check, patterns: Iterable[str], **questions: Iterable[str]) -> None:
    """Let ``check`` ask for the facts with these names; ``questions``: option of ``kappa-node facts`` -> its words."""
    check.executable = f"{node_program(check)} facts --json"
    check.executable_opts = [shlex.quote(pattern) for pattern in patterns]
    for option, words in questions.items():
        check.executable_opts += [f"--{option.replace('_', '-')}={shlex.quote(word)}" for word in words]
