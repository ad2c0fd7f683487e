"""Programs of an environment that lie in a container's image are called there, by every check.

A folder with a program of each name comes first on the job's PATH; it calls the one in the image. So whatever starts a
program by its name starts it there: a launcher, a script of a check, a step before the measurement. Launchers are the
nodes' own.
"""

import pathlib
import shlex

import reframe as rfm
import reframe.core.builtins as rfmb

from kappa.core.ground.whole_files import write_atomically
from kappa.core.vocabulary.programs import LAUNCHERS, OF_FEATURE

FOLDER, SCRIPT = "in_image", "call"


class InImage(rfm.RegressionTestPlugin):
    """Puts the folder into the stage and on PATH, where the environment has an ``image``."""

    @rfmb.run_before("run")
    def call_programs_in_image(self):
        image = self.current_environ.extras.get("image")
        if not image or not self.needs_environ:
            return
        names = {name for feature in self.current_environ.features for name in OF_FEATURE.get(feature, ())}
        # Those whose names a site chooses.
        names |= {name for name in self.programs or [self.executable] if "/" not in name}
        names -= {*LAUNCHERS, self.runtime_program()}
        folder = pathlib.Path(self.stagedir, FOLDER)
        folder.mkdir(exist_ok=True)
        write_atomically(folder / SCRIPT, self.call_in(image), mode=0o700)
        for name in names:
            (folder / name).unlink(missing_ok=True)
            (folder / name).symlink_to(SCRIPT)
        self.prerun_cmds = [f"export PATH={shlex.quote(str(folder))}:$PATH", *self.prerun_cmds]

    def runtime_program(self):
        return self.current_partition.container_runtime.lower()

    def call_in(self, image):
        """A script that calls the program of its own name in the image, where the job and its storage are seen."""
        partition = self.current_partition
        options = ["--bind", ",".join([self.stagedir, *partition.extras.get("storage", {}).values()])]
        options += ["--nv"] if "nvidia" in partition.features else []
        options += self.current_environ.extras.get("image_options", [])
        return f"""#!/bin/sh
exec {shlex.join([self.runtime_program(), "exec", *options])} --pwd "$PWD" {shlex.quote(image)} "${{0##*/}}" "$@"
"""
