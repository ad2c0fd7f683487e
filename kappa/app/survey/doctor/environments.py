"""Test an environment by the output of a job: modules, programs, compilers, and the ranks of an MPI program.

The job's script marks each environment with a line ``## NAME``. Each rank prints ``kappa-rank|RANK|SIZE|SUM|HOST``. SUM
adds a one from each rank of MPI_COMM_WORLD.
"""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kappa.app.survey.doctor.results import NOT_APPLICABLE, UNTOLD, DoctorTest, Must
from kappa.app.survey.mpi import library_of, starting
from kappa.core.ground.clean_text import clean, one_line

_RANK = re.compile(r"kappa-rank\|(\d+)\|(\d+)\|(\d+)\|([\w.-]+)")
_KINDS = ("module", "program", "compiler", "mpirun", "status", "compiled")
_TIMED_OUT = 124
_FAULT = re.compile(r"error|fail|not |no such|unable|cannot|refus|denied|abort", re.IGNORECASE)


class StartedRank(NamedTuple):
    number: int
    size: int
    sum: int
    host: str


class ShellAnswers(NamedTuple):
    """What a shell printed in an environment.

    ``modules``: those that do not load. ``programs``: the path of each program, empty if it is not on PATH.
    ``compilers``: the version line of each compiler. ``mpi_version``: of mpirun. ``status``: the exit status of the MPI
    program, ``None`` if it did not run. ``messages``: other output.
    """

    modules: tuple[str, ...] = ()
    programs: Mapping[str, str] = {}
    compilers: Mapping[str, str] = {}
    mpi_version: str = ""
    ranks: tuple[StartedRank, ...] = ()
    status: int | None = None
    compiled: bool = False
    messages: str = ""

    def without(self, programs: Sequence[str]) -> str:
        """Return the programs that are not on PATH, as a list with commas."""
        return ", ".join(name for name in programs if not self.programs.get(name))


def parse(text: str) -> dict[str, ShellAnswers]:
    """Parse the output, and return the answers of each environment, in the order of the job."""
    sections = re.split(r"^## (.*)\n?", clean(text), flags=re.MULTILINE)
    return dict(zip(sections[1::2], map(_answers, sections[2::2]), strict=True))


def _answers(text: str) -> ShellAnswers:
    marked: dict[str, dict[str, str]] = {kind: {} for kind in _KINDS}
    for line in text.splitlines():
        kind, _, words = line.partition("|")
        name, _, value = words.partition("|")
        marked.get(kind, {})[name] = value
    status = next(iter(marked["status"]), "")
    messages = [line for line in text.splitlines() if line.strip() and "|" not in line]
    return ShellAnswers(
        tuple(marked["module"]),
        marked["program"],
        {name: one_line(version, 60) for name, version in marked["compiler"].items() if version},
        next(iter(marked["mpirun"]), ""),
        tuple(StartedRank(int(rank), int(size), int(sum_), host) for rank, size, sum_, host in _RANK.findall(text)),
        int(status) if status.isdecimal() else None,
        bool(marked["compiled"]),
        one_line(" ".join(filter(_FAULT.search, messages)) or " ".join(messages), 240),
    )


class EnvironmentAnswers(NamedTuple):
    """The answers of a node and of this machine (``here``; ``None`` if it was not in time) about an environment.

    ``silence``: why the node gave no answer, empty if it did, with a remedy if Slurm refused the job. ``builders``: the
    compilers for C and C++, and CMake. ``builds_here``, ``builds_on_nodes``: whether checks build there. ``programs``:
    for each feature, alternative programs: at least one must exist. ``launcher``, ``command``: they started ``ranks``
    ranks on ``nodes`` nodes. ``offered``: the plug-ins of srun. ``plug_in``: the environment's.
    """

    node: ShellAnswers = ShellAnswers()
    here: ShellAnswers | None = None
    silence: str = ""
    silence_remedy: str = ""
    builders: tuple[str, ...] = ()
    builds_here: bool = False
    builds_on_nodes: bool = False
    modules: Sequence[str] = ()
    programs: Mapping[str, Sequence[str]] = {}
    launcher: str = ""
    command: str = ""
    offered: Sequence[str] = ()
    plug_in: str = ""
    nodes: int = 1
    ranks: int = 1

    @property
    def of_here(self) -> ShellAnswers:
        return self.here or ShellAnswers()

    @property
    def other_versions(self) -> list[str]:
        there, here = self.node.compilers, self.of_here.compilers
        return [f"{name} is {there[name]} on the node, {version} on this machine"
                for name, version in here.items() if there.get(name, version) != version]  # fmt: skip

    @property
    def answered(self) -> str:
        return f"{len(self.node.ranks)} of {self.ranks} ranks answered"


_Test = DoctorTest[EnvironmentAnswers]
_LOAD = "load or install it; name it by `modules`, `path`, `cc` or `cxx` of the environment"


def _missing_programs(of: EnvironmentAnswers) -> str:
    without = {feature: names for feature, names in of.programs.items() if not any(map(of.node.programs.get, names))}
    more = f", and for {len(without) - 1} more features" if len(without) > 1 else ""
    for feature, names in without.items():
        return f"no {' or '.join(names[:3])} on PATH of a node for the feature {feature}{more}"
    return ""


def _single_ranks(of: EnvironmentAnswers) -> str:
    count, library = len(of.node.ranks), library_of(of.node.mpi_version) or "MPI"
    if of.ranks == 1 or {rank.size for rank in of.node.ranks} != {1}:
        return ""
    ranks = f"{count} single ranks instead of {of.ranks} connected ranks"
    return f"`{of.command}` started {ranks}: {library} does not find its launcher"


def _groups(of: EnvironmentAnswers) -> str:
    sizes = {rank.size for rank in of.node.ranks}
    if sizes == {of.ranks} and {rank.number for rank in of.node.ranks} == set(range(of.ranks)):
        return ""
    return f"the ranks are not all connected: groups of {', '.join(map(str, sorted(sizes)))} ranks"


def _launch(of: EnvironmentAnswers) -> str:
    """Return the remedy if the launcher does not connect the ranks."""
    version = of.node.mpi_version
    fit = starting(version, of.offered, of.plug_in)
    if of.launcher != "srun":
        return f"try the command in an allocation (`salloc -N {of.nodes}`), or use `launcher: srun`"
    if fit.launcher:
        return f"`launcher: {fit.launcher}` of the partition, because `srun --mpi=list` has nothing for {fit.library}"
    if fit.variables:
        pairs = ", ".join(f"{key}: {value}" for key, value in fit.variables.items())
        return f"`env_vars: {{{pairs}}}` of the environment (srun --mpi={next(iter(fit.variables.values()))})"
    plug_ins = ", ".join(of.offered) or "nothing"
    other = "mpiexec.hydra" if library_of(version) not in ("", "Open MPI") else "mpirun-openmpi"
    ways = f"`env_vars: {{SLURM_MPI_TYPE: …}}` of the environment, or `launcher: {other}` of the partition"
    return f"`srun --mpi=list` has {plug_ins}: {ways}"


#: The compilers on this machine, which builds the suite's programs.
COMPILERS = _Test("compilers",
    Must(lambda of: of.here is None and "compiling an MPI program did not end in time", state=UNTOLD),
    Must(lambda of: bool(of.of_here.modules) and f"modules {', '.join(of.of_here.modules)} do not load on this machine",
         _LOAD),
    Must(lambda of: (missing := of.of_here.without(of.builders))
         and f"there is no {missing} on this machine, which builds the programs", _LOAD),
    Must(lambda of: not of.of_here.compiled
         and f"{of.builders[0]} does not compile an MPI program: {of.of_here.messages}",
         "install the library's development package"),
    right=lambda of: "{} compiles an MPI program on this machine; {} and {} are on PATH".format(*of.builders),
    applies=lambda of: of.builds_here,
)  # fmt: skip
#: The tests of a node that answered.
NODE_TESTS = (
    _Test("compilers on nodes",
        # Users build with the compilers. CMake builds the suite's programs, on this machine.
        Must(lambda of: of.builds_on_nodes and (missing := of.node.without(of.builders[:2]))
             and f"there is no {missing} on PATH of a node, but `to_build` says that builds run there",
             "load or install it, and name it by `modules` or `path` of the environment; or remove `to_build`"),
        Must(lambda of: (missing := of.node.without(of.builders)) and "; ".join(
             [f"this machine builds the programs, and a node has no {missing}", *of.other_versions]),
             state=NOT_APPLICABLE),
        right=lambda of: "; ".join([f"{', '.join(of.builders)} are on PATH of a node", *of.other_versions]),
        applies=lambda of: of.builds_here or of.builds_on_nodes),
    _Test("modules",
        Must(lambda of: bool(of.node.modules)
             and f"{', '.join(of.node.modules)} does not load on a node: {of.node.messages or 'no reason given'}",
             "try `module spider` or `module avail` on the node; correct `modules` or `modules_system`"),
        right=lambda of: f"{', '.join(of.modules)} load on a node",
        applies=lambda of: of.modules),
    _Test("programs",
        Must(_missing_programs,
             "name its folder by `path`, or its module by `modules`, of the environment; or remove the feature"),
        right=lambda _: "the programs of each feature are on PATH of a node",
        applies=lambda of: of.programs),
)  # fmt: skip
#: Whether all ranks were in one MPI_COMM_WORLD.
MPI = _Test("MPI",
    Must(lambda of: of.silence_remedy and of.silence, lambda of: of.silence_remedy),
    Must(lambda of: of.silence, state=UNTOLD),
    Must(lambda of: of.node.status is None and "the environment has no MPI compiler, on this machine or on a node",
         "name one by `cc` of the environment, or load its module", UNTOLD),
    Must(_single_ranks, _launch),
    Must(lambda of: of.node.status == _TIMED_OUT
         and f"`{of.command}` hangs with {library_of(of.node.mpi_version) or 'MPI'}, {of.answered}", _launch),
    Must(lambda of: (of.node.status != 0 or len(of.node.ranks) != of.ranks)
         and f"`{of.command}` ended with status {of.node.status}, {of.answered}"
         + (f": {of.node.messages}" if of.node.messages else ""), _launch),
    Must(_groups, _launch),
    Must(lambda of: {rank.sum for rank in of.node.ranks} != {of.ranks} and "a sum over all ranks is wrong",
         "the MPI library or its transport is broken: try another"),
    Must(lambda of: len(hosts := {rank.host for rank in of.node.ranks}) != of.nodes
         and f"all ranks ran on {', '.join(sorted(hosts))}, but the job has {of.nodes} nodes",
         lambda of: f"{of.launcher} does not know Slurm's nodes: use `launcher: srun` of the partition, or a library"
         " that supports Slurm"),
    Must(lambda of: of.ranks == 1 and "a single rank cannot show whether ranks connect", state=UNTOLD),
    right=lambda of: f"{of.launcher} connects {of.ranks} ranks on {of.nodes} nodes"
    + (f" ({of.node.mpi_version})" if of.node.mpi_version else ""),
)  # fmt: skip
