"""A fixture of the session that completes the Spack environments of the site.

The installer runs once for all checks. A site without Spack environments has no fixture. A failed dependency would stop
all checks, so the fixture succeeds if an environment fails to install. Then each check in this environment fails.
"""

import pathlib
import shlex
import sys

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import ReframeError, ReframeFatalError
from reframe.core.runtime import runtime
from reframe.utility import sanity as sn

from kappa.core.vocabulary import spack_tables
from spack_envs.installer.reframe_settings import environment_names
from spack_envs.installer.state import ARTEFACTS

# The installer's exit status if it could not install an environment and went on with the others.
FAILED = 1


def spack_environments() -> dict[str, str]:
    """Return the environments of the current site that Spack builds: ReFrame's name -> the suite's name."""
    try:
        system = runtime().system
    except ReframeFatalError:  # imported without ReFrame's command line
        return {}
    offered = {environ.name for partition in system.partitions for environ in partition.environs}
    return {one: name for name, one in environment_names(system.name).items() if one in offered}


class SpackInstall(rfm.RunOnlyRegressionTest):
    """Install incomplete or outdated environments on the login node, and keep each ``spack.lock`` as an artefact."""

    descr = "Installs the site's Spack environments that are incomplete or out of date"
    local = True
    sourcesdir = None
    executable = sys.executable

    @rfmb.run_after("setup")
    def command_line(self):
        # Without `keep_files`, which ReFrame copies only if all checks pass. A dry run has no output folder.
        kept = self.outputdir or "."
        names = sorted(spack_environments().values())
        command = [str(spack_tables.ENVIRONMENTS / "install"), self.current_system.name, *names, "--keep", kept]
        self.executable_opts = [*(shlex.quote(word) for word in command), f"|| [ $? -eq {FAILED} ]"]

    def completed(self, name):
        """Tell whether the environment ``name`` is complete and up to date: only then does it have artefacts."""
        return all(pathlib.Path(self.outputdir, name, artefact).is_file() for artefact in ARTEFACTS)

    @rfmb.sanity_function
    def installer_ended(self):
        return sn.assert_eq(self.job.exitcode, 0, msg="the installer failed: see the end of the job's standard error")


class SpackPrograms(rfm.RegressionTestPlugin):
    """A plug-in for checks that run programs of an environment: they start after the installer has ended."""

    if spack_environments():
        spack_install = rfmb.fixture(SpackInstall, scope="session")

    @rfmb.run_after("setup")
    def require_complete_environment(self):
        name = self.current_environ.name
        if name in spack_environments() and not self.is_dry_run() and not self.spack_install.completed(name):
            # In the stage folder: ReFrame leaves it there if a dependent check fails.
            said = pathlib.Path(self.spack_install.stagedir, str(self.spack_install.stderr))
            raise ReframeError(f"Spack could not install the environment {name}: see the end of {said}")
