"""Ask the nodes of a job for facts with ``kappa-node``."""

import pathlib
import shlex
from collections.abc import Iterable

import reframe as rfm
import reframe.core.builtins as rfmb

from kappa.core.ground.whole_files import written_beside
from kappa.node import packed


class AsksNodes(rfm.RegressionTestPlugin):
    """Put the program into the job's folder, and run it on each node."""

    @rfmb.run_before("run")
    def put_program(self):
        with written_beside(pathlib.Path(self.stagedir, packed.PROGRAM), 0o700, lasting=False) as file:
            file.write(packed.program())

    def ask(self, patterns: Iterable[str], **questions: Iterable[str]) -> None:
        """Ask for the facts with these names; ``questions``: option of ``kappa-node facts`` -> its words."""
        self.executable = packed.command("facts", "--json")
        self.executable_opts = [shlex.quote(pattern) for pattern in patterns]
        for option, words in questions.items():
            self.executable_opts += [f"--{option.replace('_', '-')}={shlex.quote(word)}" for word in words]
