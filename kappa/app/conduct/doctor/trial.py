"""Run an MPI program with each environment in a job, started as ReFrame starts a check.

Partitions whose jobs have the same options are one group. One trial stands for the whole group.
"""

import contextlib
import pathlib
import re
import shlex
import subprocess
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, NamedTuple

from kappa.app.conduct.node_commands import CommandError, NodeCommands
from kappa.app.survey.doctor.environments import ShellAnswers, parse
from kappa.app.survey.doctor.nodes import ANY, OWN, PARALLEL, AskedFolder
from kappa.app.survey.features import ONE_OF
from kappa.core.ground.processes import Stop, ask
from kappa.core.ground.whole_files import read_end, write_atomically
from kappa.core.sites.description import Partition
from kappa.core.vocabulary.checks import catalogue
from kappa.core.vocabulary.features import OF_ONE_NODE
from kappa.core.vocabulary.programs import OF_FEATURE

Settings = Mapping[str, Any]
PROGRAM = """\
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv) {
  int rank, size, one = 1, sum = 0, length;
  char host[MPI_MAX_PROCESSOR_NAME];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Get_processor_name(host, &length);
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  printf("kappa-rank|%d|%d|%d|%s\\n", rank, size, sum, host);
  MPI_Finalize();
  return 0;
}
"""
SOURCE = "hello.c"
_RANKS_PER_NODE = 2
_STEP_S = 60
# Slurm's PMIx sometimes fails to connect the ranks. Two failures in a row are no accident.
_ATTEMPTS = 2
_COMPILE_S = 120.0
_POLL_S, _LATE_S = 1.0, 20.0
_END = "## end"
_FIND_MODULE = 'type module >/dev/null 2>&1 || . "${LMOD_PKG:-${MODULESHOME:-/nonexistent}}/init/bash" 2>/dev/null'
_PATH_OF = 'printf \'program|%s|%s\\n\' "$program" "$(command -v "$program")"'
_VERSION_OF = 'printf \'compiler|%s|%s\\n\' "$program" "$(timeout 10 "$program" --version 2>/dev/null | head -n 1)"'


@dataclass
class PartitionGroup:
    """Partitions whose jobs have the same options; ``first`` is one of them.

    ``settings``: ReFrame's settings of the first partition. ``environments``: ReFrame's settings of all environments,
    by name. ``offered``: for each environment, the partitions that list it, with their features.
    """

    slurm_partition: str
    first: Partition
    settings: Settings
    names: list[str] = field(default_factory=list)
    environments: dict[str, Settings] = field(default_factory=dict)
    offered: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    storage: dict[tuple[str, str], AskedFolder] = field(default_factory=dict)

    def job_options(self) -> list[str]:
        access = (word for option in self.first.access for word in shlex.split(option))
        return [f"--partition={self.slurm_partition}", *access]


def groups(
    partitions: Mapping[str, Partition], settings: Mapping[str, Settings], environments: Mapping[str, Settings]
) -> list[PartitionGroup]:
    """Group the partitions whose jobs Slurm runs. ``settings`` and ``environments`` are ReFrame's, by name."""
    found: dict[object, PartitionGroup] = {}
    for name, partition in partitions.items():
        slurm_partition = partition.slurm_partition or name
        key = (slurm_partition, tuple(partition.access), partition.launcher, tuple(partition.prepare_cmds))
        group = found.setdefault(key, PartitionGroup(slurm_partition, partition, settings[name]))
        group.names.append(name)
        for env in settings[name]["environs"]:
            group.environments.setdefault(env, environments[env])
            group.offered.setdefault(env, {})[name] = settings[name]["features"]
        for target, stated in partition.storage.items():
            kind = OWN if target in OF_ONE_NODE else PARALLEL if stated.parallel else ANY
            if kind == PARALLEL or (target, stated.path) not in group.storage:
                group.storage[target, stated.path] = AskedFolder(kind, stated.path, target, stated.path)
    return list(found.values())


def needed_programs(environment: Settings, offered: Collection[str]) -> dict[str, list[str]]:
    """Return, for each feature that a check needs here, the alternative programs: at least one must exist."""
    extras = environment.get("extras", {})
    needed = {
        feature
        for check in catalogue().values()
        if any(set(case.features) <= set(offered) for case in check.cases)
        for need in check.needs_environ
        for feature in need.split("|")
    }
    return {
        feature: [extras[feature]] if feature in ONE_OF and extras.get(feature) else list(OF_FEATURE[feature])
        for feature in environment["features"]
        if feature in OF_FEATURE and feature in needed
    }


def builders(environment: Settings) -> tuple[str, str, str]:
    """Return the programs that build the suite's programs: the MPI compilers for C and C++, and CMake."""
    extras = environment.get("extras", {})
    return str(extras.get("cc", "mpicc")), str(extras.get("cxx", "mpicxx")), "cmake"


class Trial(NamedTuple):
    """The answers of each environment, or why there are none (``silence``)."""

    answers: Mapping[str, ShellAnswers]
    command: str = ""
    ranks: int = 1
    silence: str = ""
    refused: bool = False


def preparing(group: Settings, environment: Settings, modules_system: str) -> Iterator[str]:
    """Yield the first lines of ReFrame's job scripts."""
    load = "spack load" if modules_system == "spack" else "module load"
    for module in environment.get("modules", ()) if modules_system != "nomod" else ():
        yield f"{load} {shlex.quote(module)} || echo {shlex.quote(f'module|{module}')}"
    for name, value in environment.get("env_vars", ()):
        escaped = re.sub(r'(["`\\])', r"\\\1", str(value))
        yield f'export {name}="{escaped}"'
    yield from environment.get("prepare_cmds", ())
    yield from group.get("prepare_cmds", ())


def _sections(
    group: PartitionGroup, modules_system: str, lines: Callable[[Settings, str], Iterable[str]]
) -> Iterator[str]:
    """Yield the shell lines that test each environment.

    :param lines: returns the last lines, from the environment and the name of its program.
    """
    for number, (name, environment) in enumerate(group.environments.items()):
        yield f"echo {shlex.quote(f'## {name}')}"
        yield "("
        yield from preparing(group.settings, environment, modules_system)
        yield _for_each(builders(environment), f"{_PATH_OF}; {_VERSION_OF}")
        yield from lines(environment, f"hello-{group.names[0]}-{number}")
        yield ") 2>&1"


def _for_each(programs: Iterable[str], command: str) -> str:
    return f"for program in {' '.join(map(shlex.quote, programs))}; do {command}; done"


def _compile(environment: Settings, folder: pathlib.Path, program: str) -> str:
    cc, source, target = map(shlex.quote, (builders(environment)[0], str(folder / SOURCE), str(folder / program)))
    return f"if command -v {cc} >/dev/null; then timeout 60 {cc} {source} -o {target} && echo 'compiled|'; fi"


def compile_here(
    folder: pathlib.Path, group: PartitionGroup, modules_system: str, commands: NodeCommands
) -> dict[str, ShellAnswers]:
    """Compile the program on this machine with each environment's compiler, into ``folder``. Return their answers.

    :raises InputError: the folder cannot be written.
    """
    write_atomically(folder / SOURCE, PROGRAM)
    sections = _sections(group, modules_system, lambda environment, name: [_compile(environment, folder, name)])
    try:
        output, _, _ = ask(["bash", "-c", "\n".join([_FIND_MODULE, *sections])], commands.environment, _COMPILE_S)
    except subprocess.TimeoutExpired:
        return {}
    return parse(output)


def run_trial(
    folder: pathlib.Path, group: PartitionGroup, modules_system: str, nodes: int, wait_s: float,
    commands: NodeCommands, stop: Stop,
) -> Trial:  # fmt: skip
    """Run the program of each environment in one job, which writes into ``folder``.

    :raises StoppedError: there is a reason to stop. The job is cancelled.
    """
    per_node = min(_RANKS_PER_NODE, group.first.cores_of_node or 1)
    ranks = nodes * per_node
    launch = _launch(group.first.launcher, ranks, per_node)

    def lines(environment: Settings, name: str) -> Iterator[str]:
        yield _for_each(sorted({program for names in OF_FEATURE.values() for program in names}), _PATH_OF)
        version = environment.get("extras", {}).get("mpi_version") or "mpirun --version"
        yield f"printf 'mpirun|%s\\n' \"$({version} 2>/dev/null | head -n 1)\""
        here, there = (shlex.quote(str(folder / f"{name}{ending}")) for ending in ("", "-there"))
        build = _compile(environment, folder, f"{name}-there")
        yield f'hello={here}; [ -x "$hello" ] || {{ hello={there}; {build}; }}'
        yield f'if [ -x "$hello" ]; then for attempt in $(seq {_ATTEMPTS}); do'
        yield f'timeout -k 5 {_STEP_S} {launch} "$hello"; status=$?; [ $status = 124 ] || break; done'
        yield "printf 'status|%d\\n' $status; fi"

    script, output = (folder / f"trial-{group.names[0]}.{ending}" for ending in ("sh", "out"))
    sections = _sections(group, modules_system, lines)
    write_atomically(script, "\n".join(["#!/bin/bash", *sections, f"echo {shlex.quote(_END)}"]) + "\n")
    minutes = 1 + len(group.environments) * (_ATTEMPTS * _STEP_S // 60)
    options = [
        f"--nodes={nodes}", f"--ntasks={ranks}", f"--ntasks-per-node={per_node}", f"--time={minutes}",
        f"--job-name=kappa-doctor-{script.stem}", f"--output={output}", f"--chdir={folder}", *group.job_options(),
    ]  # fmt: skip
    try:
        number = commands.run(["sbatch", "--parsable", *options, str(script)]).strip().partition(";")[0]
    except CommandError as err:
        return Trial({}, launch, ranks, str(err), refused=True)
    try:
        silence = _wait(number, output, wait_s, 60 * minutes + 30, commands, stop)
    finally:
        commands.said(["scancel", number])
    return Trial({} if silence else parse(_read(output)), launch, ranks, silence)


def load_launchers() -> None:
    """Import ReFrame's launchers. Threads that import ReFrame at the same time would fail."""
    # Not at the top: the import takes a second, and only a trial needs it.

    import kappa.core.sites.launchers  # noqa: F401, PLC0415 (ReFrame then knows it)


def _launch(launcher: str, ranks: int, per_node: int) -> str:
    """Return the command with which ReFrame starts the ranks of a check."""
    from reframe.core.backends import getlauncher  # type: ignore[import-untyped]  # noqa: PLC0415

    job: Any = SimpleNamespace(num_tasks=ranks, num_tasks_per_node=per_node, num_cpus_per_task=None, time_limit=None)
    return str(getlauncher(launcher)().run_command(job))


def _wait(number: str, output: pathlib.Path, wait_s: float, run_s: float, commands: NodeCommands, stop: Stop) -> str:
    """Wait until the job's output is complete. Return an empty text, or why it is not complete."""
    # State of the job -> the moment at which it was first seen.
    seen: dict[str, float] = {}
    began = time.monotonic()
    while _END not in _read(output):
        stop.check()
        # Slurm forgets a job a few minutes after its end.
        line = commands.said(["squeue", "--noheader", f"--jobs={number}", "--states=all", "--format=%T|%r"]) or ""
        state, _, reason = line.strip().partition("|")
        now = time.monotonic()
        if state in ("PENDING", "CONFIGURING"):
            if now - began > wait_s:
                return f"nodes did not become free within {wait_s:g} s (Slurm: {reason or state})"
        elif state in ("RUNNING", "COMPLETING"):
            if now - seen.setdefault("running", now) > run_s:
                return f"the job ran for more than {run_s:g} s"
        # A file server may show the output late.
        elif now - seen.setdefault("gone", now) > _LATE_S:
            return f"job {number} ended without complete output in {output.parent}"
        time.sleep(_POLL_S)
    return ""


def _read(path: pathlib.Path) -> str:
    with contextlib.suppress(OSError):
        return read_end(path, 1 << 20)
    return ""
