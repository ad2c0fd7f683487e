"""A plug-in for checks that run several steps on all ranks of one job, one after the other."""

import pathlib
import shlex

import reframe as rfm
import reframe.core.builtins as rfmb

from kappa.core.ground.whole_files import write_atomically

SERIES_FILE = "series.sh"


class SeveralSteps(rfm.RegressionTestPlugin):
    def command_lines(self):
        """The command of each step without its launcher, quoted for the shell; the first word is the program."""
        raise NotImplementedError

    @rfmb.run_before("run")
    def take_steps(self):
        """The last as ReFrame's own, those before it in a file of their own."""
        *before, last = self.command_lines()
        if before:
            launch = self.launch_on(self.num_tasks)
            text = "".join(f"{launch} {line}\n" for line in before)
            write_atomically(pathlib.Path(self.stagedir, SERIES_FILE), text)
            self.prerun_cmds = [*self.prerun_cmds, f". ./{SERIES_FILE}"]
        self.executable, *self.executable_opts = last.split(" ")


def with_variables(variables, words):
    """The command line of ``words`` with these environment variables set, for that step alone and on every node."""
    settings = [f"{name}={value}" for name, value in sorted(variables.items())]
    return shlex.join(["env", *settings, *words] if settings else words)
