"""Derive the features of a partition and its environment from the survey, or the reason why one is missing."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from kappa.app.survey.found import FoundPart, NodeKind, Survey
from kappa.app.survey.mpi import OPEN_MPI, Mpi, starting
from kappa.core.ground.figures import counted
from kappa.core.vocabulary import features as known
from kappa.core.vocabulary.programs import OF_FEATURE, ON_RANKS
from kappa.core.vocabulary.scales import PLACEMENTS, RANK_COUNTS, SCALES, WHOLE_PARTITION, derived_features

#: The name of the environment with the programs on the nodes' PATH.
ENVIRONMENT = "system"
_OSU = ["osu_latency", "osu_bw", "osu_bibw", "osu_allreduce", "osu_barrier", "osu_alltoall", *ON_RANKS]
# Features that need only one of these programs. The environment's key of the same name says which. Others need all.
ONE_OF = {"hpl": ["xhpl", "hpcc"], "stream": ["stream", "likwid-bench"]}
# Features for which a program on PATH is not enough: the site must state more.
_NOT_BY_PROGRAM = {"openfoam", "lammps", "gromacs", "osu-cuda", "emt"}
_STRESS_NG = (0, 15)
_BUILT = ("emt-build", "sweep-build")
# Scale or placement -> number of nodes of its jobs; None means the whole partition.
_NODES_OF_SCALE = {scale.feature: scale.nodes for scale in (*SCALES.values(), *PLACEMENTS.values())}
_MEASURED = ("network", "collectives", "links", "cores", "compute", known.PATTERNS, known.MPI_BEHAVIOUR)
_UNBOUND = "Slurm binds no tasks: TaskPlugin has neither affinity nor cgroup"
_NOT_PROBED = "no node was probed"
# The storage target for which the user is asked if no file system was found.
_ASKED_TARGET = "shared"

#: Container runtimes by command, with ReFrame's names. Runtimes that need no privilege come first.
CONTAINERS = {"apptainer": "Apptainer", "singularity": "Singularity", "sarus": "Sarus", "shifter": "Shifter"}
#: Programs that build others. Spack's externals are found by them.
BUILDERS = ("mpicc", "mpicxx", "cmake", "c++", "gcc", "g++", "gfortran")

#: The programs that the probe looks for.
PROGRAMS = sorted(
    {program for programs in OF_FEATURE.values() for program in programs} | {*CONTAINERS, *BUILDERS, "srun"}
)


class PartitionFeature(NamedTuple):
    """A feature that a partition has or lacks. ``why_not``: why it lacks it; empty if a person must look for it."""

    name: str
    has: bool
    why_not: str


def environment_features(survey: Survey) -> dict[str, str]:
    """Return the environment's features, each with its first program. All kinds of nodes have it on PATH."""
    on_path = set.intersection(*({*node.programs} for node in survey.probed)) if survey.probed else set()
    features: dict[str, str] = {}
    for feature, programs in OF_FEATURE.items():
        if feature in _NOT_BY_PROGRAM or (feature == "stress-ng" and not all(map(_new_enough, survey.probed))):
            continue
        choices = [[program] for program in ONE_OF.get(feature, ())] or [_OSU if feature == "osu" else programs]
        if complete := next((choice for choice in choices if on_path.issuperset(choice)), None):
            features[feature] = complete[0]
    return features | (dict.fromkeys(_BUILT, "mpicxx") if survey.login.can_build else {})


def _new_enough(node: NodeKind) -> bool:
    match = re.search(r"version (\d+)\.(\d+)", node.versions.get("stress-ng", ""))
    return match is not None and (int(match[1]), int(match[2])) >= _STRESS_NG


def placements(part: FoundPart) -> dict[str, list[str]]:
    """Return the placements that Slurm's switches allow: all nodes under one leaf switch."""
    return {"same_switch": ["--switches=1"]} if part.switches > 1 and part.count > 2 and part.takes(2) else {}


def partition_features(survey: Survey, part: FoundPart) -> list[str]:
    """Return the features that the site lists; none if no job option selects these nodes alone."""
    return [] if part.options is None else [feature.name for feature in _of_nodes(survey, part) if feature.has]


def features_lacking(survey: Survey, part: FoundPart) -> dict[str, str]:
    """Return the features that the partition lacks, each with the reason, without those that a person must look for.

    If the partition has fewer nodes than a feature needs, no reason is needed.
    """
    return {
        feature.name: feature.why_not
        for feature in (*_of_nodes(survey, part), *_of_storage(part))
        if not feature.has and feature.why_not and (known.NODES_OF_FEATURE.get(feature.name) or 1) <= part.count
    }


def _of_nodes(survey: Survey, part: FoundPart) -> Iterator[PartitionFeature]:
    # Numbers of a node; 0 if no node was probed.
    sockets = int(part.node.processor.get("sockets", part.node.processor.get("num_sockets", 0)))
    domains = part.node.numa_domains
    derived = derived_features(part.count, sockets, domains)
    left_out = {feature: why for feature, why in _scales_left_out(survey, part, derived).items() if feature in derived}
    shares_machine = survey.login.shares_machine
    untold = "" if part.told else _NOT_PROBED
    unbound = "" if survey.binds else _UNBOUND
    of_job = f"Slurm's partition {part.slurm_partition} gives no job so many nodes"
    few_nodes = "all nodes share the cores of one machine" if shares_machine else of_job

    yield from (PartitionFeature(name, False, why) for name, why in left_out.items())
    yield from (PartitionFeature(name, True, "") for name in (*derived, *_MEASURED) if name not in left_out)
    yield PartitionFeature("binding", not (unbound or untold), unbound or untold)
    for scale in RANK_COUNTS.values():
        nodes, ranks = scale.nodes or 1, scale.ranks_per_node or 1
        many = part.cores >= ranks and part.count >= nodes and part.takes(nodes) and not (shares_machine and nodes > 2)
        few = f"jobs get only {part.cores} cores of a node" if nodes == 1 else few_nodes
        is_between = 3 in (nodes, ranks)
        yield PartitionFeature(
            scale.feature, many and not is_between, "two and four are measured" if is_between else few
        )
    enough = (
        part.count >= (known.NODES_OF_FEATURE[known.CONGESTION] or 1) and part.takes(part.count) and not shares_machine
    )
    yield PartitionFeature(known.CONGESTION, enough, few_nodes)
    adapters, unclear = part.node.adapters, part.node.unclear_adapters
    no_rails = untold or "no node has several active ports of equal link and rate"
    yield PartitionFeature(known.LARGE_PUTS, bool(adapters), "" if unclear else untold or "no RDMA adapter was found")
    yield PartitionFeature(
        known.RAILS, len(adapters) > 1, "" if any(len(ports) > 1 for ports in unclear.values()) else no_rails
    )
    yield PartitionFeature(
        "numa_domains", domains > 1 and survey.binds, untold or unbound or "no node has several NUMA domains"
    )
    yield PartitionFeature(known.SHARP, False, "`kappa site new` does not look for switches that reduce")
    no_switches = "Slurm knows no switches that a job could select"
    yield PartitionFeature("placement_same_switch", bool(placements(part)), no_switches)
    no_option = "no job option is known that selects nodes of several switches"
    yield PartitionFeature("placement_other_switch", False, no_option)
    yield from _of_gpus(part)


def _scales_left_out(survey: Survey, part: FoundPart, derived: dict[str, str]) -> dict[str, str]:
    """Return the scales and placements that jobs of the partition cannot have, with the reasons."""
    why_not = {}
    if survey.login.shares_machine:
        why_not[WHOLE_PARTITION] = "all nodes share the cores of one machine, so more nodes measure the same cores"
    for feature, nodes in _NODES_OF_SCALE.items():
        wanted = nodes or part.count
        if not part.takes(wanted) and feature not in why_not:
            most = part.most_nodes
            least = f"at least {counted(part.least_nodes, 'node')}"
            bound = f"at most {counted(most, 'node')}" if most and most < wanted else least
            why_not[feature] = f"Slurm's partition {part.slurm_partition} gives a job {bound}"
    if not survey.binds:
        why_not |= {feature: _UNBOUND for feature in derived if "numa" in feature or "socket" in feature}
    return why_not


def _of_gpus(part: FoundPart) -> Iterator[PartitionFeature]:
    why_not = "no probed node has NVIDIA GPUs"
    if part.node.gpus:
        why_not = "the GPUs are cut into slices (MIG), but the checks need whole GPUs"
    elif part.gpus_by_slurm:
        why_not = ""
    yield PartitionFeature("nvidia", part.whole_gpus > 0, why_not)
    yield PartitionFeature("several_gpus", part.whole_gpus > 1, "a node has one GPU" if part.whole_gpus else why_not)


def _of_storage(part: FoundPart) -> Iterator[PartitionFeature]:
    usable = {target: found for target, found in part.storage.items() if found.folder}
    # If no target is usable, the one for which the user is asked gets no reason.
    asked = [] if usable else [*part.storage] or [_ASKED_TARGET]
    for target, feature in known.STORAGE_TARGETS.items():
        if target in asked:
            continue
        why_not = f"no file system was found for {target}"
        if target in part.storage:
            why_not = "no folder was found in which users can write"
        yield PartitionFeature(feature, target in usable, why_not)
        is_parallel = target in usable and usable[target].shared and target not in known.OF_ONE_NODE
        yield PartitionFeature(known.parallel(target), is_parallel, usable[target].why if target in usable else why_not)
        if osts := known.swept(target):
            yield PartitionFeature(osts, False, "the object storage targets and servers are not stated")


def mpi_of(node: NodeKind, survey: Survey) -> Mpi:
    mpi = starting(node.versions.get("mpirun", ""), survey.mpi_types, survey.mpi_default)
    if mpi.library != OPEN_MPI or not survey.login.shares_machine:
        return mpi
    # All virtual nodes would bind their first rank to the same core, and there are more ranks than cores.
    shared = {"OMPI_MCA_hwloc_base_binding_policy": "none", "OMPI_MCA_mpi_yield_when_idle": "1"}
    return mpi._replace(variables=shared | mpi.variables, why=mpi.why or "nodes share the cores of one machine")
