"""Judge what a job printed about its environments: modules, programs, and the ranks of an MPI program.

The job's script marks each environment with a line ``## NAME``. Each rank prints ``kappa-rank|RANK|SIZE|SUM|HOST``. SUM
adds a one from each rank of MPI_COMM_WORLD.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from kappa.app.survey.doctor.matters import Matter, not_applicable, right, untold, wrong
from kappa.app.survey.mpi import library_of, starting
from kappa.core.ground.clean_text import clean, one_line

_RANK = re.compile(r"kappa-rank\|(\d+)\|(\d+)\|(\d+)\|([\w.-]+)")
_TIMED_OUT = 124
_FAULT = re.compile(r"error|fail|not |no such|unable|cannot|refus|denied|abort", re.IGNORECASE)


class StartedRank(NamedTuple):
    number: int
    size: int
    sum: int
    host: str


class Heard(NamedTuple):
    """The answers of one environment.

    ``programs``: the path of each program, empty if it is not on PATH. ``status``: the exit status of the MPI program,
    ``None`` if it did not run. ``compilers``: the version line of each compiler.
    """

    modules: tuple[str, ...]
    programs: Mapping[str, str]
    version: str
    ranks: tuple[StartedRank, ...]
    status: int | None
    compiled: bool
    compilers: Mapping[str, str]
    words: str


def parse(text: str) -> dict[str, Heard]:
    """Parse the job's output, and return the answers of each environment, in the order of the job."""
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in clean(text).splitlines():
        if line.startswith("## "):
            lines = found.setdefault(line[3:], [])
        else:
            lines.append(line)
    return {name: _heard(said) for name, said in found.items()}


def _heard(lines: Sequence[str]) -> Heard:
    kinds = ("module", "program", "compiler", "mpirun", "status", "compiled")
    marked = [line.split("|", 2) for line in lines if re.match(rf"({'|'.join(kinds)})\|", line)]
    of = {key: [words[1:] for words in marked if words[0] == key] for key in kinds}
    status = next((words[0] for words in of["status"] if words[0].isdecimal()), None)
    ranks = [
        StartedRank(int(one[1]), int(one[2]), int(one[3]), one[4]) for line in lines for one in _RANK.finditer(line)
    ]
    telling = [line for line in lines if _FAULT.search(line) and "|" not in line]
    rest = telling or [line for line in lines if line.strip() and "|" not in line]
    return Heard(
        tuple(words[0] for words in of["module"]),
        {words[0]: words[-1] if len(words) > 1 else "" for words in of["program"]},
        next((words[0] for words in of["mpirun"]), ""),
        tuple(ranks),
        int(status) if status is not None else None,
        bool(of["compiled"]),
        {words[0]: one_line(words[-1], 60) for words in of["compiler"] if len(words) > 1 and words[-1]},
        one_line(" ".join(rest), 240),
    )


class Started(NamedTuple):
    """How ranks were started: the launcher, the plug-ins of srun (``offered``), the plug-in of the environment."""

    launcher: str
    command: str
    offered: Sequence[str]
    plug_in: str
    nodes: int
    ranks: int


def compiler_matter(heard: Heard | None, cc: str, cxx: str, places: Sequence[str]) -> Matter:
    """Judge the compilers on this machine, which builds the suite's programs. ``None``: compiling took too long."""
    if heard is None:
        return untold("compilers", places, "compiling an MPI program did not end in time")
    remedy = "load or install it; name it by `modules`, `path`, `cc` or `cxx` of the environment"
    if heard.modules:
        return wrong("compilers", places, f"modules {', '.join(heard.modules)} do not load on this machine", remedy)
    missing = [program for program in (cc, cxx, "cmake") if not heard.programs.get(program)]
    if missing:
        found = f"there is no {', '.join(missing)} on this machine, which builds the programs"
        return wrong("compilers", places, found, remedy)
    if not heard.compiled:
        found = f"{cc} does not compile an MPI program: {heard.words}"
        return wrong("compilers", places, found, "install the library's development package")
    return right("compilers", places, f"{cc} compiles an MPI program on this machine; {cxx} and cmake are on PATH")


def node_compiler_matter(
    there: Heard, here: Heard | None, builders: Sequence[str], needed: Collection[str], places: Sequence[str]
) -> Matter:
    """Judge the compilers on a node.

    :param builders: the programs that build the suite on this machine.
    :param needed: those of them that a node needs, because checks build there.
    """
    subject = "compilers on nodes"
    missing = [name for name in builders if not there.programs.get(name)]
    if wanting := [name for name in missing if name in needed]:
        found = f"there is no {', '.join(wanting)} on PATH of a node, but `to_build` says that builds run there"
        remedy = "load or install it, and name it by `modules` or `path` of the environment; or remove `to_build`"
        return wrong(subject, places, found, remedy)
    versions = here.compilers if here else {}
    others = [
        f"{name} is {there.compilers[name]} on the node, {version} on this machine"
        for name, version in versions.items()
        if there.compilers.get(name, version) != version
    ]
    if missing:
        why = f"this machine builds the programs, and a node has no {', '.join(missing)}"
        return not_applicable(subject, places, "; ".join([why, *others]))
    return right(subject, places, "; ".join([f"{', '.join(builders)} are on PATH of a node", *others]))


def module_matter(heard: Heard, modules: Sequence[str], places: Sequence[str]) -> Matter:
    if heard.modules:
        return wrong(
            "modules", places,
            f"{', '.join(heard.modules)} does not load on a node: {heard.words or 'no reason given'}",
            "try `module spider` or `module avail` on the node; correct `modules` or `modules_system`",
        )  # fmt: skip
    return right("modules", places, f"{', '.join(modules)} load on a node")


def program_matter(heard: Heard, wanted: Mapping[str, Sequence[str]], places: Sequence[str]) -> Matter:
    """Judge the programs on a node. ``wanted``: for each feature, alternative programs: at least one must exist."""
    without = {
        feature: names for feature, names in wanted.items() if not any(heard.programs.get(name) for name in names)
    }
    if without:
        feature, names = next(iter(without.items()))
        more = f", and for {len(without) - 1} more features" if len(without) > 1 else ""
        return wrong(
            "programs", places, f"no {' or '.join(names[:3])} on PATH of a node for the feature {feature}{more}",
            "name its folder by `path`, or its module by `modules`, of the environment; or remove the feature",
        )  # fmt: skip
    return right("programs", places, "the programs of each feature are on PATH of a node")


def world_matter(heard: Heard, started: Started, places: Sequence[str]) -> Matter:
    """Judge whether all ranks were in one MPI_COMM_WORLD."""
    if heard.status is None:
        return untold("MPI", places, "the environment has no MPI compiler, on this machine or on a node",
                      "name one by `cc` of the environment, or load its module")  # fmt: skip
    fault = _not_started(heard, started) or _not_one_world(heard.ranks, started, _remedy(heard, started))
    if fault:
        return wrong("MPI", places, *fault)
    if started.ranks == 1:
        return untold("MPI", places, "a single rank cannot show whether ranks connect")
    version = f" ({heard.version})" if heard.version else ""
    ranks = f"{started.ranks} ranks on {started.nodes} nodes"
    return right("MPI", places, f"{started.launcher} connects {ranks}{version}")


def _not_started(heard: Heard, started: Started) -> tuple[str, str] | None:
    """Return the problem and the remedy if ranks did not start, or each rank is alone; else None."""
    library = library_of(heard.version) or "MPI"
    remedy, count = _remedy(heard, started), len(heard.ranks)
    if started.ranks > 1 and count and {rank.size for rank in heard.ranks} == {1}:
        worlds = f"{count} single ranks instead of {started.ranks} connected ranks"
        return f"`{started.command}` started {worlds}: {library} does not find its launcher", remedy
    if heard.status == _TIMED_OUT:
        return f"`{started.command}` hangs with {library}, {count} of {started.ranks} ranks answered", remedy
    if heard.status or count != started.ranks:
        said = f": {heard.words}" if heard.words else ""
        spoke = f"{count} of {started.ranks} ranks answered"
        return f"`{started.command}` ended with status {heard.status}, {spoke}{said}", remedy
    return None


def _not_one_world(ranks: Sequence[StartedRank], started: Started, remedy: str) -> tuple[str, str] | None:
    sizes, hosts = {rank.size for rank in ranks}, {rank.host for rank in ranks}
    if sizes != {started.ranks} or {rank.number for rank in ranks} != set(range(started.ranks)):
        return f"the ranks are not all connected: groups of {', '.join(map(str, sorted(sizes)))} ranks", remedy
    if {rank.sum for rank in ranks} != {started.ranks}:
        return "a sum over all ranks is wrong", "the MPI library or its transport is broken: try another"
    if len(hosts) != started.nodes:
        found = f"all ranks ran on {', '.join(sorted(hosts))}, but the job has {started.nodes} nodes"
        other = "use `launcher: srun` of the partition, or a library that supports Slurm"
        return found, f"{started.launcher} does not know Slurm's nodes: {other}"
    return None


def _remedy(heard: Heard, started: Started) -> str:
    fit = starting(heard.version, started.offered, started.plug_in)
    if started.launcher != "srun":
        return f"try the command in an allocation (`salloc -N {started.nodes}`), or use `launcher: srun`"
    if fit.launcher:
        return f"`launcher: {fit.launcher}` of the partition, because `srun --mpi=list` has nothing for {fit.library}"
    if fit.variables:
        pairs = ", ".join(f"{key}: {value}" for key, value in fit.variables.items())
        return f"`env_vars: {{{pairs}}}` of the environment (srun --mpi={next(iter(fit.variables.values()))})"
    plug_ins = ", ".join(started.offered) or "nothing"
    other = "mpiexec.hydra" if library_of(heard.version) not in ("", "Open MPI") else "mpirun-openmpi"
    ways = f"`env_vars: {{SLURM_MPI_TYPE: …}}` of the environment, or `launcher: {other}` of the partition"
    return f"`srun --mpi=list` has {plug_ins}: {ways}"
