"""Find, before any job, problems that would make every case fail and are no node's fault.

Equal reasons give one line, with the remedy. The checks report the states of nodes. Slurm's refusals that concern the
shape of the test job do not count, because the checks' jobs have other shapes. The checks name a single node that does
not see the folder of results. If no asked node sees it, no job runs.
"""

import contextlib
import itertools
import os
import pathlib
import re
import shlex
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from kappa.app.conduct import own_cluster
from kappa.app.conduct.node_commands import CommandError, NodeCommands
from kappa.app.conduct.session import OptionsKept
from kappa.core.ground.clean_text import clean
from kappa.core.ground.errors import InputError, suggestion
from kappa.core.ground.figures import duration
from kappa.core.sites.description import Partition
from kappa.core.sites.load import Site
from kappa.core.sites.site_file import SiteDescription
from kappa.core.vocabulary.modes import MODES
from kappa.core.vocabulary.slurm_refusals import at_limit, is_down, remedy_of, without_accounting

#: Longest time until a step starts, and until all steps answer, in seconds.
START_S, STEPS_ANSWER_S = 3, 10.0
#: Number of nodes of a partition that are asked.
NODES_ASKED = 3
# Look for a new name each time: a network file system could remember that an old name was missing.
_LOOK = 'if [ -e "$1" ]; then echo "$SLURMD_NODENAME sees"; else echo "$SLURMD_NODENAME lacks"; fi'
ANSWER_S = 10.0
LEAST_FREE_MIB = 64
AT_ONCE = 4
#: Largest accepted clock offset, in seconds. munge refuses more than 300 s, and Kappa compares the times of jobs.
MOST_CLOCK_OFFSET_S = 60
# With SLURM_TIME_FORMAT=%s, slurmctld prints its own time in seconds since 1970.
_CLOCK = ("env", "SLURM_TIME_FORMAT=%s", "scontrol", "show", "config")
_CLOCK_TOLD = re.compile(r"Configuration data as of ([0-9]{9,11})\s")
_NO_PROGRAM = "no such program"
# Options of sbatch that name another cluster.
_CLUSTER = re.compile(r"-M|--clusters?(=|$)")


def require_sound(site: Site) -> None:
    """Read every file of the site, also its contract, so that no later command fails because of one of them.

    :raises InputError: a file is not valid; names the line.
    """
    from reports.acceptance.contract import site_contract  # noqa: PLC0415 (loads SciPy)

    site.require_sound()
    site_contract(site)


def none_sees(
    folder: pathlib.Path, commands: NodeCommands, options: Mapping[str, Sequence[str]], nodes: Mapping[str, int]
) -> str:
    """Return why no job can run in the existing ``folder``; empty if a node sees it, or no node answers.

    :param options: the options of a job in each partition. :param nodes: the number of nodes of each partition.
    """
    with contextlib.suppress(OSError), tempfile.NamedTemporaryFile(dir=folder, prefix=".seen-by-nodes-") as file:
        step = [f"--immediate={START_S}", f"--nodes=1-{NODES_ASKED}", "--ntasks-per-node=1", "--time=1", "--chdir=/"]
        lacking: set[str] = set()
        until_s = time.monotonic() + STEPS_ANSWER_S
        for of_partition in options.values():
            patience_s = until_s - time.monotonic()
            if patience_s <= 0:
                break
            # If no step starts, nothing is known about this partition.
            with contextlib.suppress(CommandError):
                command = ["srun", *step, "--mpi=none", "--quiet", *of_partition, "sh", "-c", _LOOK, "sh", file.name]
                for line in commands.run(command, patience_s).splitlines():
                    node, _, found = line.partition(" ")
                    if found == "sees":
                        return ""
                    if found == "lacks":
                        lacking.add(clean(node))
        # A single node that does not see the folder may be the faulty one.
        if len(lacking) >= max(1, min(2, sum(nodes.values()))):
            return (
                f"compute nodes do not see {clean(str(folder))}, where jobs run (asked: {', '.join(sorted(lacking))});"
                " set KAPPA_RESULTS, or `home` (KAPPA_HOME), to a folder that all nodes see"
            )
    return ""


def require_ready(site: Site, results: pathlib.Path, mode: str | None, options: Sequence[str]) -> None:
    """Check that jobs can run. ``options`` are ReFrame's. Without ``site.yaml``, only the mode and folder are checked.

    :raises InputError: something is not ready. The message has one line for each reason.
    """
    described = site.description
    require_sense(described, results, mode, options)
    if described:
        _require([*_of_slurm(described, options, mode), *_of_simulator(described, options)])
        _require(_of_nodes(described, results, options, mode))


def require_sense(
    site: SiteDescription | None, results: pathlib.Path, mode: str | None, options: Sequence[str]
) -> None:
    """Check what needs no running cluster: mode, partition and folder. ``require_ready`` does this, too.

    :raises InputError: as in ``require_ready``.
    """
    _require([*_of_mode(mode), *(_of_partition(site, options) if site else ()), *_of_folder(results)])


def _require(problems: Sequence[str]) -> None:
    if problems:
        raise InputError("nothing was submitted: " + "\n  ".join(problems))


def _of_mode(mode: str | None) -> Iterator[str]:
    if mode is not None and mode not in MODES:
        yield f"there is no mode {clean(mode)!r}, {suggestion(mode, MODES)}"


def _of_partition(site: SiteDescription, options: Sequence[str]) -> Iterator[str]:
    if not _chosen(site, options):
        known = site.described.partitions
        yield f"{site.folder.name} has no partition {_asked(options)!r}, {suggestion(_asked(options), known)}"


def _of_folder(results: pathlib.Path) -> Iterator[str]:
    there = _existing(results)
    where, free_mib = clean(str(there)), shutil.disk_usage(there).free >> 20
    if not os.access(there, os.W_OK | os.X_OK):
        yield f"{where} is not writable; set KAPPA_RESULTS to another folder"
    elif free_mib < LEAST_FREE_MIB:
        yield f"{where} has {free_mib} MiB free, a run needs {LEAST_FREE_MIB}; set KAPPA_RESULTS to another folder"


def _existing(folder: pathlib.Path) -> pathlib.Path:
    """Return the folder, or the nearest existing folder above it."""
    return next(one for one in (folder, *folder.parents) if one.exists())


def _of_nodes(site: SiteDescription, results: pathlib.Path, options: Sequence[str], mode: str | None) -> list[str]:
    chosen, job_options = _in_slurm(site, options, mode), _job_options(options)
    nodes = {name: one.nodes for name, one in chosen.items()}
    asked = {name: _options_of_job(name, one, job_options) for name, one in chosen.items()}
    problem = none_sees(_existing(results), NodeCommands(site), asked, nodes)
    return [problem] if problem else []


def _options_of_job(name: str, partition: Partition, job_options: Sequence[str]) -> list[str]:
    return [f"--partition={partition.slurm_partition or name}", *_access(partition), *job_options]


def _in_slurm(site: SiteDescription, options: Sequence[str], mode: str | None) -> dict[str, Partition]:
    return {
        name: one
        for name, one in _chosen(site, options).items()
        if one.scheduler != "local" and not (mode and one.modes and mode not in one.modes)
    }


def refusal(commands: NodeCommands, name: str, partition: Partition, job_options: Sequence[str] = ()) -> str:
    """Return why Slurm refuses a small job in the partition ``name`` of the site; empty if it accepts the job."""
    # The job does not run. Every partition allows one task for one minute.
    job = ["--time=1", "--nodes=1", "--ntasks=1", *_options_of_job(name, partition, job_options)]
    try:
        commands.run(["sbatch", "--test-only", *job, "--wrap=true"], ANSWER_S)
    except CommandError as err:
        return _refusal(str(err))
    return ""


def _of_slurm(site: SiteDescription, options: Sequence[str], mode: str | None) -> list[str]:
    commands, job_options = NodeCommands(site), _job_options(options)

    def refused(named: tuple[str, Partition]) -> str:
        return refusal(commands, *named, job_options)

    def counts(words: str) -> bool:
        """Return whether the refusal stops the run. At the user's job limit, it can wait for a job that ends."""
        return not at_limit(words) or not commands.run(["squeue", "--me", "--noheader", "--format=%i"], ANSWER_S)

    chosen = _in_slurm(site, options, mode)
    if elsewhere := [name for name, one in chosen.items() if any(map(_CLUSTER.match, _access(one)))]:
        what = "names a cluster, which squeue, scancel and sacct would not use: write `cluster: NAME` in site.yaml"
        return [f"`access` of {', '.join(elsewhere)} {what}"]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        accounting = pool.submit(_accounting, commands, chosen)
        clock = pool.submit(_clock, commands) if chosen else None
        said = dict(zip(chosen, pool.map(refused, chosen.items()), strict=True))
    reasons: dict[str, list[str]] = {}
    for name, words in said.items():
        remedy = remedy_at(site, words)
        if remedy and counts(words):
            reasons.setdefault(f"{words}; {remedy}", []).append(name)
    dead = any(is_down(words) or _NO_PROGRAM in words for words in said.values())
    problems = [f"Slurm accepts no job in {', '.join(names)}: {reason}" for reason, names in reasons.items()]
    problems += filter(None, [clock.result() if clock else ""])
    return problems if dead or not accounting.result() else [*problems, without_accounting(accounting.result())]


def _clock(commands: NodeCommands) -> str:
    before_s = time.time()
    try:
        said = commands.run(_CLOCK, ANSWER_S)
    except CommandError:
        return ""  # Slurm does not answer; sbatch reports that, too
    return apart(said, before_s, time.time())


def apart(said: str, before_s: float, after_s: float) -> str:
    """Return why this machine's clock differs from slurmctld's; empty if it does not, or is unknown.

    :param said: the answer to ``_CLOCK``.
    :param before_s: when it was asked, by this machine's clock, in seconds since 1970.
    :param after_s: when it was answered, likewise.
    """
    told = _CLOCK_TOLD.match(said)
    if not told:
        return ""
    behind_s, ahead_s = int(told[1]) - after_s, before_s - (int(told[1]) + 1)
    if max(behind_s, ahead_s) <= MOST_CLOCK_OFFSET_S:
        return ""
    way = f"{duration(behind_s)} behind" if behind_s > 0 else f"{duration(ahead_s)} ahead of"
    return f"the clock of this machine is {way} slurmctld's: repair its time service (`timedatectl`, `chronyc`)"


def _refusal(said: str) -> str:
    """Return sbatch's reason for a refusal, with the limit that sbatch names before it."""
    words = said.rpartition(" failure: ")[2]
    limit = at_limit(said)
    return f"{limit}: {words}" if limit and limit not in words else words


def _access(partition: Partition) -> list[str]:
    return [word for option in partition.access for word in shlex.split(option)]


def _accounting(commands: NodeCommands, chosen: Mapping[str, Partition]) -> str:
    needed = any(one.scheduler == "slurm" for one in chosen.values())
    return no_accounting(commands.run, commands.sacct) if needed else ""


def no_accounting(run: Callable[[Sequence[str], float], object], sacct: Sequence[str] = ("sacct",)) -> str:
    """Return why sacct cannot tell ReFrame's scheduler ``slurm`` the states of jobs; empty if it can.

    :param run: runs a command for at most so many seconds, and raises ``InputError`` if it fails.
    """
    try:
        run([*sacct, "--noheader", "--allocations", "--starttime=now", "--format=jobid"], ANSWER_S)
    except InputError as err:
        # Drop the remedy, which is for slurmctld.
        return str(err).partition("; ")[0]
    return ""


def remedy_at(site: SiteDescription, said: str) -> str | None:
    """Return the remedy as ``remedy_of``, also for a site with its own cluster."""
    if own_cluster.program(site.folder) and is_down(said):
        return "run `kappa cluster up` to restart it"
    return remedy_of(said)


def _of_simulator(site: SiteDescription, options: Sequence[str]) -> Iterator[str]:
    simulated = any(one.launcher == "smpirun" for one in _chosen(site, options).values())
    if simulated and not shutil.which("smpirun"):
        yield "SimGrid is not installed: no smpirun on PATH: `apt install libsimgrid-dev`, or `spack install simgrid`"


def _chosen(site: SiteDescription, options: Sequence[str]) -> dict[str, Partition]:
    """Return the partitions that ReFrame's option ``--system`` selects."""
    return {name: one for name, one in site.described.partitions.items() if _asked(options) in ("", name)}


def _asked(options: Sequence[str]) -> str:
    """Return the partition that ReFrame's option ``--system`` names; empty for all."""
    words = [word.removeprefix("--system=") for word in options if word.startswith("--system=")]
    words += [after for word, after in itertools.pairwise(options) if word == "--system"]
    return clean(words[-1].partition(":")[2]) if words else ""


def _job_options(options: Sequence[str]) -> list[str]:
    """Return ReFrame's ``-J NAME=VALUE`` as options of sbatch, without those that choose nodes."""
    kept = OptionsKept.of(options).options
    values = [value for option, value in zip(kept[::2], kept[1::2], strict=True) if option == "-J"]
    return [f"-{value.replace('=', '', 1)}" if len(value.partition("=")[0]) == 1 else f"--{value}" for value in values]
