"""One fixture of the whole session sees that the Spack environments of the site are complete.

However many checks run, the installer is asked once; a site without such environments has no fixture at all.
"""

import shlex
import sys

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import ReframeFatalError
from reframe.core.runtime import runtime
from reframe.utility import sanity as sn

from spack_envs.installer import table


def spack_environments() -> list[str]:
    """The environments of the current site that Spack builds, by name."""
    try:
        partitions = runtime().system.partitions
    except ReframeFatalError:  # imported without ReFrame's command line
        return []
    names = {environ.name for partition in partitions for environ in partition.environs}
    return sorted(names & set(table.names()))


class SpackInstall(rfm.RunOnlyRegressionTest):
    """Installs, on the login node, what is not complete or out of date; keeps each ``spack.lock`` as an artefact."""

    descr = "the site's Spack environments are complete"
    local = True
    sourcesdir = None
    executable = sys.executable

    @rfmb.run_after("setup")
    def command_line(self):
        # Not by `keep_files`: ReFrame copies those only when all checks have passed. A dry run has no output folder.
        kept = self.outputdir or "."
        names = spack_environments()
        command = [str(table.ENVIRONMENTS / "install"), self.current_system.name, *names, "--keep", kept]
        self.executable_opts = [shlex.quote(word) for word in command]

    @rfmb.sanity_function
    def installer_is_content(self):
        return sn.assert_eq(self.job.exitcode, 0, msg="see the end of the job's standard error")


class SpackPrograms(rfm.RegressionTestPlugin):
    """For checks that run programs of an environment: none starts before the Spack environments are complete."""

    if spack_environments():
        spack_install = rfmb.fixture(SpackInstall, scope="session")
