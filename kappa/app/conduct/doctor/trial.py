"""Run an MPI program with each environment in a job, started as ReFrame starts a check.

Partitions whose jobs have the same options are one group. One trial stands for the whole group.
"""

import pathlib
import re
import shlex
import subprocess
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, NamedTuple

from kappa.app.conduct.node_commands import CommandError, NodeCommands
from kappa.app.survey.doctor.nodes import ANY, OWN, PARALLEL, Asked
from kappa.app.survey.doctor.worlds import Heard, parse
from kappa.app.survey.features import ONE_OF
from kappa.core.ground.processes import Stop, ask
from kappa.core.ground.whole_files import write_atomically
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
BUILT = {"emt-build", "sweep-build", "mumps"}
_RANKS_PER_NODE = 2
_STEP_S = 60
# Slurm's PMIx sometimes fails to connect the ranks. Two failures in a row are no accident.
_ATTEMPTS = 2
_COMPILE_S = 120.0
_POLL_S = 1.0
_END = "## end"


@dataclass
class PartitionGroup:
    """Partitions whose jobs have the same options.

    ``settings``: ReFrame's settings of the first partition. ``environments``: ReFrame's settings of all environments,
    by name. ``offered``: for each environment, the partitions that list it, with their features.
    """

    slurm_partition: str
    access: list[str]
    launcher: str
    first: Partition
    settings: Settings
    names: list[str] = field(default_factory=list)
    environments: dict[str, Settings] = field(default_factory=dict)
    offered: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    storage: dict[tuple[str, str], Asked] = field(default_factory=dict)
    cores: int = 1

    def job_options(self) -> list[str]:
        return [f"--partition={self.slurm_partition}", *(word for one in self.access for word in shlex.split(one))]


def groups(
    partitions: Mapping[str, Partition], settings: Mapping[str, Settings], environments: Mapping[str, Settings]
) -> list[PartitionGroup]:
    """Group the partitions whose jobs Slurm runs. ``settings`` and ``environments`` are ReFrame's, by name."""
    found: dict[object, PartitionGroup] = {}
    for name, one in partitions.items():
        slurm_partition = one.slurm_partition or name
        key = (slurm_partition, tuple(one.access), one.launcher, tuple(one.prepare_cmds))
        cores = one.cores_of_node or 1
        group = found.setdefault(
            key, PartitionGroup(slurm_partition, list(one.access), one.launcher, one, settings[name], cores=cores)
        )
        group.names.append(name)
        for env in settings[name]["environs"]:
            group.environments.setdefault(env, environments[env])
            group.offered.setdefault(env, {})[name] = settings[name]["features"]
        for target, stated in one.storage.items():
            kind = OWN if target in OF_ONE_NODE else PARALLEL if stated.parallel else ANY
            asked = Asked(kind, stated.path, target, stated.path)
            if kind == PARALLEL or (target, stated.path) not in group.storage:
                group.storage[target, stated.path] = asked
    return list(found.values())


def wanted(environment: Settings, offered: Collection[str]) -> dict[str, list[str]]:
    """Return, for each feature that a check needs here, the alternative programs: at least one must exist."""
    extras = environment.get("extras", {})
    asked = {
        feature
        for check in catalogue().values()
        if any(set(case.features) <= set(offered) for case in check.cases)
        for need in check.needs_environ
        for feature in need.split("|")
    }
    return {
        feature: [extras[feature]] if feature in ONE_OF and extras.get(feature) else list(OF_FEATURE[feature])
        for feature in environment["features"]
        if feature in OF_FEATURE and feature in asked
    }


def compilers(environment: Settings) -> tuple[str, str]:
    """Return the MPI compilers for C and C++."""
    extras = environment.get("extras", {})
    return str(extras.get("cc", "mpicc")), str(extras.get("cxx", "mpicxx"))


def builders(environment: Settings) -> list[str]:
    """Return the programs that a build of the suite's programs calls."""
    return [*compilers(environment), "cmake"]


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


def compile_here(
    folder: pathlib.Path, group: PartitionGroup, modules_system: str, commands: NodeCommands
) -> dict[str, Heard]:
    """Compile the program on this machine with each environment's compiler, into ``folder``. Return their answers.

    :raises InputError: the folder cannot be written.
    """
    write_atomically(folder / SOURCE, PROGRAM)
    lines = ['type module >/dev/null 2>&1 || . "${LMOD_PKG:-${MODULESHOME:-/nonexistent}}/init/bash" 2>/dev/null']
    for number, (name, environment) in enumerate(group.environments.items()):
        cc, _ = compilers(environment)
        lines += [f"echo {shlex.quote(f'## {name}')}", "(", *preparing(group.settings, environment, modules_system)]
        lines += _asked_for_versions(builders(environment))
        lines += [_compile(cc, str(folder / SOURCE), str(_program(folder, group, number))), ") 2>&1"]
    try:
        said, _, _ = ask(["bash", "-c", "\n".join(lines)], commands.environment, _COMPILE_S)
    except subprocess.TimeoutExpired:
        return {}
    return parse(said)


def _program(folder: pathlib.Path, group: PartitionGroup, number: int) -> pathlib.Path:
    return folder / f"hello-{group.names[0]}-{number}"


def _looked_for(programs: Sequence[str]) -> list[str]:
    names = " ".join(map(shlex.quote, programs))
    return [f'for program in {names}; do printf \'program|%s|%s\\n\' "$program" "$(command -v "$program")"; done']


def _asked_for_versions(names: Sequence[str]) -> list[str]:
    """Return shell lines that print the path and the version of each program."""
    said = '"$(timeout 10 "$program" --version 2>/dev/null | head -n 1)"'
    version = f"printf 'compiler|%s|%s\\n' \"$program\" {said}"
    return [*_looked_for(names), f"for program in {' '.join(map(shlex.quote, names))}; do {version}; done"]


def _compile(cc: str, source: str, to: str) -> str:
    return (
        f"if command -v {shlex.quote(cc)} >/dev/null; then "
        f"timeout 60 {shlex.quote(cc)} {shlex.quote(source)} -o {shlex.quote(to)} && echo 'compiled|'; fi"
    )


class Trial(NamedTuple):
    """The answers of each environment (``heard``), or why there are none (``why``)."""

    heard: Mapping[str, Heard]
    command: str
    ranks: int
    why: str = ""
    refused: bool = False


def run_trial(
    folder: pathlib.Path,
    group: PartitionGroup,
    modules_system: str,
    nodes: int,
    wait_s: float,
    commands: NodeCommands,
    stop: Stop,
) -> Trial:
    """Run the program of each environment in one job, which writes into ``folder``.

    :raises StoppedError: there is a reason to stop. The job is cancelled.
    """
    per_node = min(_RANKS_PER_NODE, group.cores)
    ranks = nodes * per_node
    launch = _launch(group.launcher, ranks, per_node)
    name = f"trial-{group.names[0]}"
    write_atomically(folder / f"{name}.sh", "\n".join(_script(folder, group, modules_system, launch)) + "\n")
    minutes = 1 + len(group.environments) * (_ATTEMPTS * _STEP_S // 60)
    output = folder / f"{name}.out"
    job = [f"--nodes={nodes}", f"--ntasks={ranks}", f"--ntasks-per-node={per_node}", f"--time={minutes}"]
    options = [*job, f"--job-name=kappa-doctor-{name}", f"--output={output}", f"--chdir={folder}", *group.job_options()]
    try:
        said = commands.run(["sbatch", "--parsable", *options, str(folder / f"{name}.sh")])
    except CommandError as err:
        return Trial({}, launch, ranks, str(err), refused=True)
    number = said.strip().partition(";")[0]
    try:
        why = _wait(number, output, wait_s, 60 * minutes + 30, commands, stop)
    finally:
        commands.said(["scancel", number])
    return Trial({} if why else parse(_read(output)), launch, ranks, why)


def load_launchers() -> None:
    """Import ReFrame's launchers. Threads that import ReFrame at the same time would fail."""
    # Not at the top: the import takes a second, and only a trial needs it.

    import kappa.core.sites.launchers  # noqa: F401, PLC0415 (ReFrame then knows it)


def _launch(launcher: str, ranks: int, per_node: int) -> str:
    """Return the command with which ReFrame starts the ranks of a check."""
    from reframe.core.backends import getlauncher  # type: ignore[import-untyped]  # noqa: PLC0415

    job: Any = SimpleNamespace(num_tasks=ranks, num_tasks_per_node=per_node, num_cpus_per_task=None, time_limit=None)
    return str(getlauncher(launcher)().run_command(job))


def _script(folder: pathlib.Path, group: PartitionGroup, modules_system: str, launch: str) -> Iterator[str]:
    yield "#!/bin/bash"
    for number, (name, environment) in enumerate(group.environments.items()):
        yield f"echo {shlex.quote(f'## {name}')}"
        yield "("
        yield from preparing(group.settings, environment, modules_system)
        yield from _looked_for(sorted({program for names in OF_FEATURE.values() for program in names}))
        yield from _asked_for_versions(builders(environment))
        version = environment.get("extras", {}).get("mpi_version") or "mpirun --version"
        yield f"printf 'mpirun|%s\\n' \"$({version} 2>/dev/null | head -n 1)\""
        here = str(_program(folder, group, number))
        there = f"{here}-there"
        cc, _ = compilers(environment)
        yield f"hello={shlex.quote(here)}"
        yield f'[ -x "$hello" ] || {{ hello={shlex.quote(there)}; {_compile(cc, str(folder / SOURCE), there)}; }}'
        yield f'if [ -x "$hello" ]; then for attempt in $(seq {_ATTEMPTS}); do'
        yield f'timeout -k 5 {_STEP_S} {launch} "$hello"; status=$?; [ $status = 124 ] || break; done'
        yield "printf 'status|%d\\n' $status; fi"
        yield ") 2>&1"
    yield f"echo {shlex.quote(_END)}"


def _wait(number: str, output: pathlib.Path, wait_s: float, run_s: float, commands: NodeCommands, stop: Stop) -> str:
    """Wait until the job's output is complete. Return an empty text, or why it is not complete."""
    began = time.monotonic()
    running: float | None = None
    gone: float | None = None
    while _END not in _read(output):
        stop.check()
        now = time.monotonic()
        # Slurm forgets a job a few minutes after its end.
        told = commands.said(["squeue", "--noheader", f"--jobs={number}", "--states=all", "--format=%T|%r"]) or ""
        state, _, reason = told.strip().partition("|")
        if state in ("PENDING", "CONFIGURING"):
            if now - began > wait_s:
                return f"nodes did not become free within {wait_s:g} s (Slurm: {reason or state})"
        elif state in ("RUNNING", "COMPLETING"):
            running = running or now
            if now - running > run_s:
                return f"the job ran for more than {run_s:g} s"
        else:
            gone = gone or now
            # A file server may show the output late.
            if now - gone > 20:
                return f"job {number} ended without complete output in {output.parent}"
        time.sleep(_POLL_S)
    return ""


def _read(path: pathlib.Path) -> str:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.read(1 << 20)
    except OSError:
        return ""
