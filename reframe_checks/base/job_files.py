"""Files beside a job script: parts that the script sources, and programs that it starts."""

import pathlib
import shlex
import shutil

from kappa.core.ground.folders import SUITE

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
