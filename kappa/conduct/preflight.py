"""Before any job: what would make every case fail for one reason, which is no node's.

Equal reasons are one line, with the remedy. What Slurm says of nodes is left to the checks, and so is what it refuses
for the shape of the job that is tried: theirs have another.
"""

import itertools
import os
import pathlib
import shlex
import shutil
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from kappa.conduct import own_cluster
from kappa.conduct.node_commands import CommandError, NodeCommands
from kappa.conduct.options_kept import OptionsKept
from kappa.ground.clean_text import clean
from kappa.ground.errors import InputError
from kappa.ground.nearest import suggestion
from kappa.sites.description import Partition
from kappa.sites.site_file import FILE, SiteDescription, describe
from kappa.vocabulary.modes import MODES
from kappa.vocabulary.slurm_refusals import is_down, remedy_of

ANSWER_S = 10.0
LEAST_FREE_MIB = 64
AT_ONCE = 4


def require_ready(site: pathlib.Path, results: pathlib.Path, mode: str | None, options: Sequence[str]) -> None:
    """Go on only if jobs can run at all. ``options`` are ReFrame's; a folder without ``site.yaml`` is not looked into.

    :raises InputError: not all is ready; a line for each reason.
    """
    require_sense(site, results, mode, options)
    if (site / FILE).is_file():
        _require([*_of_slurm(describe(site), options, mode), *_of_simulator(describe(site), options)])


def require_sense(site: pathlib.Path, results: pathlib.Path, mode: str | None, options: Sequence[str]) -> None:
    """What can be said before a cluster is up, which ``require_ready`` looks at, too; errors as of that."""
    _require([*_of_mode(mode), *_of_partition(site, options), *_of_folder(results)])


def _require(problems: Sequence[str]) -> None:
    if problems:
        raise InputError("nothing was submitted: " + "\n  ".join(problems))


def _of_mode(mode: str | None) -> Iterator[str]:
    if mode is not None and mode not in MODES:
        yield f"there is no mode {clean(mode)!r}, {suggestion(mode, MODES)}"


def _of_partition(site: pathlib.Path, options: Sequence[str]) -> Iterator[str]:
    if (site / FILE).is_file() and not _chosen(described := describe(site), options):
        known = described.described.partitions
        yield f"{site.name} has no partition {_asked(options)!r}, {suggestion(_asked(options), known)}"


def _of_folder(results: pathlib.Path) -> Iterator[str]:
    there = next(folder for folder in (results, *results.parents) if folder.exists())
    where, free_mib = clean(str(there)), shutil.disk_usage(there).free >> 20
    if not os.access(there, os.W_OK | os.X_OK):
        yield f"{where} cannot be written to; KAPPA_RESULTS names another folder"
    elif free_mib < LEAST_FREE_MIB:
        yield f"{free_mib} MiB are free in {where}, a run needs {LEAST_FREE_MIB}; KAPPA_RESULTS names another folder"


def _of_slurm(site: SiteDescription, options: Sequence[str], mode: str | None) -> list[str]:
    commands, job_options = NodeCommands(site), _job_options(options)

    def refused(named: tuple[str, Partition]) -> str:
        name, partition = named
        access = [word for option in partition.access for word in shlex.split(option)]
        # Not to run: one minute of one task is what every partition gives.
        job = ["--time=1", "--nodes=1", "--ntasks=1", f"--partition={partition.slurm_partition or name}"]
        try:
            commands.run(["sbatch", "--test-only", *job, *access, *job_options, "--wrap=true"], ANSWER_S)
        except CommandError as err:
            return str(err).rpartition(" failure: ")[2]
        return ""

    chosen = {
        name: one
        for name, one in _chosen(site, options).items()
        if one.scheduler == "slurm" and not (mode and one.modes and mode not in one.modes)
    }
    with ThreadPoolExecutor(AT_ONCE) as pool:
        said = dict(zip(chosen, pool.map(refused, chosen.items()), strict=True))
    reasons: dict[str, list[str]] = {}
    for name, words in said.items():
        remedy = remedy_of(words)
        if remedy:
            if own_cluster.program(site.folder) and is_down(words):
                remedy = "`kappa cluster up` starts what has died"
            reasons.setdefault(f"{words}; {remedy}", []).append(name)
    return [f"Slurm takes no job in {', '.join(names)}: {reason}" for reason, names in reasons.items()]


def _of_simulator(site: SiteDescription, options: Sequence[str]) -> Iterator[str]:
    simulated = any(one.launcher == "smpirun" for one in _chosen(site, options).values())
    if simulated and not shutil.which("smpirun"):
        yield "SimGrid is not installed, there is no smpirun: `apt install libsimgrid-dev`, or `spack install simgrid`"


def _chosen(site: SiteDescription, options: Sequence[str]) -> dict[str, Partition]:
    """The partitions that ReFrame's option ``--system`` takes."""
    return {name: one for name, one in site.described.partitions.items() if _asked(options) in ("", name)}


def _asked(options: Sequence[str]) -> str:
    """The partition that ReFrame's option ``--system`` names, empty for all."""
    words = [word.removeprefix("--system=") for word in options if word.startswith("--system=")]
    words += [after for word, after in itertools.pairwise(options) if word == "--system"]
    return clean(words[-1].partition(":")[2]) if words else ""


def _job_options(options: Sequence[str]) -> list[str]:
    """ReFrame's ``-J NAME=VALUE`` as options of sbatch; not those that choose nodes."""
    kept = OptionsKept.of(options).options
    values = [value for option, value in zip(kept[::2], kept[1::2], strict=True) if option == "-J"]
    return [f"-{value.replace('=', '', 1)}" if len(value.partition("=")[0]) == 1 else f"--{value}" for value in values]
