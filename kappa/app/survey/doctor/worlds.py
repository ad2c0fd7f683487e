"""What a job told of its environments: modules, programs, and the ranks of an MPI program that it started.

The job's script marks each environment with a line ``## NAME``; the program says ``kappa-rank|RANK|SIZE|SUM|HOST`` of
each rank, SUM being that of a one of each rank of its world.
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
    """Of one environment: ``programs`` by name, empty where PATH has none; ``status`` is ``None`` if nothing ran.

    ``compilers``: what each says of its version, by name.
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
    """What the job told of each environment, in its order."""
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
    """How ranks were to be started: by which launcher, what srun offers, the plug-in in force for the environment."""

    launcher: str
    command: str
    offered: Sequence[str]
    plug_in: str
    nodes: int
    ranks: int


def compiler_matter(heard: Heard | None, cc: str, cxx: str, places: Sequence[str]) -> Matter:
    """Of an environment for which the suite's programs are built on this machine; ``None``: it took too long."""
    if heard is None:
        return untold("compilers", places, "compiling a program of MPI did not end in time")
    remedy = "load or install it; `modules`, `path`, `cc` or `cxx` of the environment name it"
    if heard.modules:
        return wrong("compilers", places, f"modules {', '.join(heard.modules)} do not load on this machine", remedy)
    missing = [program for program in (cc, cxx, "cmake") if not heard.programs.get(program)]
    if missing:
        found = f"there is no {', '.join(missing)} on this machine, where programs are built"
        return wrong("compilers", places, found, remedy)
    if not heard.compiled:
        found = f"{cc} does not compile a program of MPI: {heard.words}"
        return wrong("compilers", places, found, "is the library's development package there?")
    return right("compilers", places, f"{cc} compiles a program of MPI on this machine; {cxx} and cmake are there")


def node_compiler_matter(
    there: Heard, here: Heard | None, builders: Sequence[str], needed: Collection[str], places: Sequence[str]
) -> Matter:
    """``builders``: what builds this suite's programs on this machine; ``needed``: of these, what users need there."""
    subject = "compilers on nodes"
    missing = [name for name in builders if not there.programs.get(name)]
    if wanting := [name for name in missing if name in needed]:
        found = f"there is no {', '.join(wanting)} on PATH of a node, and `to_build` says that builds run there"
        remedy = "load or install it; `modules` or `path` of the environment name it; or leave `to_build` out"
        return wrong(subject, places, found, remedy)
    versions = here.compilers if here else {}
    others = [
        f"{name} is {there.compilers[name]} there, {version} here"
        for name, version in versions.items()
        if there.compilers.get(name, version) != version
    ]
    if missing:
        why = f"programs are built on this machine, and a node has no {', '.join(missing)}"
        return not_applicable(subject, places, "; ".join([why, *others]))
    return right(subject, places, "; ".join([f"{', '.join(builders)} are on PATH of a node", *others]))


def module_matter(heard: Heard, modules: Sequence[str], places: Sequence[str]) -> Matter:
    if heard.modules:
        return wrong(
            "modules", places, f"{', '.join(heard.modules)} does not load on a node: {heard.words or 'no word why'}",
            "`module spider` or `module avail` on the node; correct `modules` of the environment, or `modules_system`",
        )  # fmt: skip
    return right("modules", places, f"{', '.join(modules)} load on a node")


def program_matter(heard: Heard, wanted: Mapping[str, Sequence[str]], places: Sequence[str]) -> Matter:
    """``wanted``: by feature the programs of which one at least has to be there."""
    without = {
        feature: names for feature, names in wanted.items() if not any(heard.programs.get(name) for name in names)
    }
    if without:
        feature, names = next(iter(without.items()))
        more = f", and for {len(without) - 1} more features" if len(without) > 1 else ""
        return wrong(
            "programs", places, f"no {' or '.join(names[:3])} on PATH of a node for the feature {feature}{more}",
            "name its folder in `path`, or its module in `modules`, of the environment, or leave the feature out",
        )  # fmt: skip
    return right("programs", places, "each feature's are on PATH of a node")


def world_matter(heard: Heard, started: Started, places: Sequence[str]) -> Matter:
    """Whether all ranks came into one world."""
    if heard.status is None:
        return untold("MPI", places, "there is no MPI compiler in this environment, here or on a node",
                      "name one by `cc` of the environment, or load its module")  # fmt: skip
    fault = _not_started(heard, started) or _not_one_world(heard.ranks, started, _remedy(heard, started))
    if fault:
        return wrong("MPI", places, *fault)
    if started.ranks == 1:
        return untold("MPI", places, "one rank alone does not tell whether others would be in its world")
    version = f" ({heard.version})" if heard.version else ""
    ranks = f"{started.ranks} ranks on {started.nodes} nodes"
    return right("MPI", places, f"{started.launcher} brings {ranks} into one world{version}")


def _not_started(heard: Heard, started: Started) -> tuple[str, str] | None:
    """What is wrong and the remedy, where ranks did not come up, or each by itself."""
    library = library_of(heard.version) or "MPI"
    remedy, count = _remedy(heard, started), len(heard.ranks)
    if started.ranks > 1 and count and {rank.size for rank in heard.ranks} == {1}:
        worlds = f"{count} worlds of one rank each in place of one of {started.ranks}"
        return f"`{started.command}` started {worlds}: {library} does not find its launcher", remedy
    if heard.status == _TIMED_OUT:
        return f"`{started.command}` hangs with {library}, {count} of {started.ranks} ranks spoke", remedy
    if heard.status or count != started.ranks:
        said = f": {heard.words}" if heard.words else ""
        spoke = f"{count} of {started.ranks} ranks spoke"
        return f"`{started.command}` ended with status {heard.status}, {spoke}{said}", remedy
    return None


def _not_one_world(ranks: Sequence[StartedRank], started: Started, remedy: str) -> tuple[str, str] | None:
    sizes, hosts = {rank.size for rank in ranks}, {rank.host for rank in ranks}
    if sizes != {started.ranks} or {rank.number for rank in ranks} != set(range(started.ranks)):
        return f"ranks are in several worlds, of {', '.join(map(str, sorted(sizes)))} ranks", remedy
    if {rank.sum for rank in ranks} != {started.ranks}:
        return "a sum over all ranks is wrong", "the MPI library or its transport is broken: try another"
    if len(hosts) != started.nodes:
        found = f"all ranks ran on {', '.join(sorted(hosts))}, the job has {started.nodes} nodes"
        other = "`launcher: srun` of the partition, or a library that knows Slurm"
        return found, f"{started.launcher} does not know Slurm's nodes: {other}"
    return None


def _remedy(heard: Heard, started: Started) -> str:
    fit = starting(heard.version, started.offered, started.plug_in)
    if started.launcher != "srun":
        return f"try the command in an allocation (`salloc -N {started.nodes}`), or `launcher: srun`"
    if fit.launcher:
        return f"`launcher: {fit.launcher}` of the partition, because `srun --mpi=list` has nothing for {fit.library}"
    if fit.variables:
        pairs = ", ".join(f"{key}: {value}" for key, value in fit.variables.items())
        return f"`env_vars: {{{pairs}}}` of the environment (srun --mpi={next(iter(fit.variables.values()))})"
    plug_ins = ", ".join(started.offered) or "nothing"
    other = "mpiexec.hydra" if library_of(heard.version) not in ("", "Open MPI") else "mpirun-openmpi"
    ways = f"`env_vars: {{SLURM_MPI_TYPE: …}}` of the environment, or `launcher: {other}` of the partition"
    return f"`srun --mpi=list` has {plug_ins}: {ways}"
