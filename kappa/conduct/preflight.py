"""Before any job: what would make every case fail for one reason, which is no node's.

Equal reasons are one line, with the remedy. What Slurm says of nodes is left to the checks, and so is what it refuses
for the shape of the job that is tried: theirs have another.
"""

import itertools
import os
import pathlib
import re
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

ANSWER_S = 10.0
LEAST_FREE_MIB = 64
AT_ONCE = 4
_DOWN = r"contact slurm controller|did not end within|timed out"
_YOURS = "`sacctmgr show associations user=$USER` lists yours; name one"
# What is said of a user's right to run jobs, as Slurm's strerror has it -> what to do.
REMEDIES = {
    _DOWN: "is slurmctld up? `scontrol ping`",
    r"no such program": "load Slurm's module, or put its folder into `path` of site.yaml",
    r"invalid partition": "`sinfo -s` lists what there is; `slurm_partition` in site.yaml names it",
    r"account": f"{_YOURS} by `access` in site.yaml or by -J account=NAME",
    r"qos": f"{_YOURS} by `access` in site.yaml or by -J qos=NAME",
    r"not permitted|permission denied": "ask who runs the cluster, or leave it out by --system=SITE:PARTITION",
    r"reservation": "`scontrol show reservation` lists what there is",
    r"license": "`scontrol show licenses` lists what there is; `access` in site.yaml asks for it",
}


def require_ready(site: pathlib.Path, results: pathlib.Path, mode: str | None, options: Sequence[str]) -> None:
    """Go on only if jobs can run at all. ``options`` are ReFrame's; a folder without ``site.yaml`` is not looked into.

    :raises InputError: not all is ready; a line for each reason.
    """
    problems = [*_of_mode(mode), *_of_folder(results)]
    if (site / FILE).is_file() and not problems:
        problems += _of_slurm(describe(site), options)
    if problems:
        raise InputError("nothing was submitted: " + "\n  ".join(problems))


def _of_mode(mode: str | None) -> Iterator[str]:
    if mode is not None and mode not in MODES:
        yield f"there is no mode {clean(mode)!r}, {suggestion(mode, MODES)}"


def _of_folder(results: pathlib.Path) -> Iterator[str]:
    there = next(folder for folder in (results, *results.parents) if folder.exists())
    where, free_mib = clean(str(there)), shutil.disk_usage(there).free >> 20
    if not os.access(there, os.W_OK | os.X_OK):
        yield f"{where} cannot be written to; KAPPA_RESULTS names another folder"
    elif free_mib < LEAST_FREE_MIB:
        yield f"{free_mib} MiB are free in {where}, a run needs {LEAST_FREE_MIB}; KAPPA_RESULTS names another folder"


def _of_slurm(site: SiteDescription, options: Sequence[str]) -> list[str]:
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

    chosen = _chosen(site, options)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        said = dict(zip(chosen, pool.map(refused, chosen.items()), strict=True))
    reasons: dict[str, list[str]] = {}
    for name, words in said.items():
        remedy = next((remedy for about, remedy in REMEDIES.items() if re.search(about, words, re.IGNORECASE)), None)
        if remedy:
            if own_cluster.program(site.folder) and re.search(_DOWN, words, re.IGNORECASE):
                remedy = "`kappa cluster up` starts what has died"
            reasons.setdefault(f"{words}; {remedy}", []).append(name)
    return [f"Slurm takes no job in {', '.join(names)}: {reason}" for reason, names in reasons.items()]


def _chosen(site: SiteDescription, options: Sequence[str]) -> dict[str, Partition]:
    """The partitions that ReFrame's option ``--system`` takes."""
    words = [word.removeprefix("--system=") for word in options if word.startswith("--system=")]
    words += [after for word, after in itertools.pairwise(options) if word == "--system"]
    partition = words[-1].partition(":")[2] if words else ""
    return {name: one for name, one in site.described.partitions.items() if partition in ("", name)}


def _job_options(options: Sequence[str]) -> list[str]:
    """ReFrame's ``-J NAME=VALUE`` as options of sbatch; not those that choose nodes."""
    kept = OptionsKept.of(options).options
    values = [value for option, value in zip(kept[::2], kept[1::2], strict=True) if option == "-J"]
    return [f"-{value.replace('=', '', 1)}" if len(value.partition("=")[0]) == 1 else f"--{value}" for value in values]
