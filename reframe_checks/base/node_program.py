"""Ask the nodes of a job with ``kappa-node``."""

import pathlib
import shlex
from collections.abc import Iterable

from kappa.core.ground.whole_files import written_beside
from kappa.node import packed
from reframe_checks.base.job_files import staged


def node_program(check) -> str:
    """Put the program into the stage folder of ``check``; return the start of the command that runs it in the job."""
    path = pathlib.Path(check.stagedir, packed.PROGRAM)
    with written_beside(path, 0o700, lasting=False) as file:
        file.write(packed.program())
    return f"sh {staged(check, packed.PROGRAM)}"


def ask_nodes(check, patterns: Iterable[str], **questions: Iterable[str]) -> None:
    """Let ``check`` ask for the facts with these names; ``questions``: option of ``kappa-node facts`` -> its words."""
    check.executable = f"{node_program(check)} facts --json"
    check.executable_opts = [shlex.quote(pattern) for pattern in patterns]
    for option, words in questions.items():
        check.executable_opts += [f"--{option.replace('_', '-')}={shlex.quote(word)}" for word in words]
