"""Files beside a job script: parts that the script sources, and programs in a container's image."""

import pathlib
import shlex
import shutil

import reframe as rfm
import reframe.core.builtins as rfmb

from kappa.core.ground.folders import SUITE
from kappa.core.ground.whole_files import write_atomically
from kappa.core.vocabulary.programs import LAUNCHERS, OF_FEATURE

FOLDER = pathlib.Path(__file__).parent / "src/job"
#: Sourced by scripts that must end their program when they get a signal; `kappa doctor` uses it, too.
KILLABLE = "killable.sh"
_ELSEWHERE = {KILLABLE: SUITE / "kappa/core/ground/src" / KILLABLE}


def runs_in_slurm(check) -> bool:
    """Tell whether the check has a job script that Slurm runs."""
    return not check.is_local() and check.current_partition.scheduler.registered_name in ("slurm", "squeue")


def source(name: str) -> pathlib.Path:
    """Return the path in the suite of the file that job scripts call ``name``."""
    return _ELSEWHERE.get(name, FOLDER / name)


def staged(check, name: str) -> str:
    """Return the path of a program in the stage folder of ``check``, quoted for the job script.

    It is absolute: if a node does not see the folder, Slurm starts the task in /tmp, where any user may have put a
    program of this name.
    """
    return shlex.quote(str(pathlib.Path(check.stagedir, name)))


def in_stage(check, name: str) -> str:
    """Copy the file ``name`` of ``src/job`` into the stage folder of ``check``; return its path as ``staged`` does."""
    shutil.copyfile(source(name), pathlib.Path(check.stagedir, name))
    return staged(check, name)


def sourced(check, name: str, *words: object) -> str:
    """Return the command that sources the file with these words as arguments, quoted."""
    return " ".join([".", in_stage(check, name), *(shlex.quote(str(word)) for word in words)])


IN_IMAGE, SCRIPT = "in_image", "call"


class InImage(rfm.RegressionTestPlugin):
    """Run the programs of an environment in its ``image``, whether a launcher, a script or an earlier step starts them.

    The first folder on the job's PATH has a script for each program, which calls the program in the image. Launchers
    are those of the nodes.
    """

    @rfmb.run_before("run")
    def call_programs_in_image(self):
        image = self.current_environ.extras.get("image")
        if not image or not self.needs_environ:
            return
        names = {name for feature in self.current_environ.features for name in OF_FEATURE.get(feature, ())}
        # Programs whose names the site chooses.
        names |= {name for name in self.programs or [self.executable] if "/" not in name}
        names -= {*LAUNCHERS, self.runtime_program()}
        folder = pathlib.Path(self.stagedir, IN_IMAGE)
        folder.mkdir(exist_ok=True)
        write_atomically(folder / SCRIPT, self.call_in(image), mode=0o700)
        for name in names:
            (folder / name).unlink(missing_ok=True)
            (folder / name).symlink_to(SCRIPT)
        self.prerun_cmds = [f"export PATH={shlex.quote(str(folder))}:$PATH", *self.prerun_cmds]

    def runtime_program(self):
        return self.current_partition.container_runtime.lower()

    def call_in(self, image):
        """Return a script that calls the program with the script's name in the image, with the job's folders bound."""
        partition = self.current_partition
        options = ["--bind", ",".join([self.stagedir, *partition.extras.get("storage", {}).values()])]
        options += ["--nv"] if "nvidia" in partition.features else []
        options += self.current_environ.extras.get("image_options", [])
        return f"""#!/bin/sh
exec {shlex.join([self.runtime_program(), "exec", *options])} --pwd "$PWD" {shlex.quote(image)} "${{0##*/}}" "$@"
"""
