"""Parts of job scripts that are files of the suite: copied beside the script, so that it stays short enough to read."""

import pathlib
import shlex
import shutil

from kappa.core.ground.folders import SUITE

FOLDER = pathlib.Path(__file__).parent / "src/job"
#: What scripts source that end a program when they are told to end; `kappa doctor` has it, too.
KILLABLE = "killable.sh"
_ELSEWHERE = {KILLABLE: SUITE / "kappa/core/ground/src" / KILLABLE}


def runs_in_slurm(check) -> bool:
    """Whether the check has a job script that Slurm runs."""
    return not check.is_local() and check.current_partition.scheduler.registered_name in ("slurm", "squeue")


def source(name: str) -> pathlib.Path:
    """The file of the suite that job scripts know as ``name``."""
    return _ELSEWHERE.get(name, FOLDER / name)


def in_stage(check, name: str) -> str:
    """How a job script calls the file ``name`` of ``src/job``, which the stage folder of ``check`` gets a copy of."""
    shutil.copyfile(source(name), pathlib.Path(check.stagedir, name))
    return f"./{name}"


def sourced(check, name: str, *words: object) -> str:
    """The command that sources the file with these words, quoted."""
    return shlex.join([".", in_stage(check, name), *map(str, words)])
