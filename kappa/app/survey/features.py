"""Derive the features of a partition and its environment from the survey."""

import re
from collections.abc import Mapping

from kappa.app.survey.found import FoundPart, NodeKind, Survey
from kappa.app.survey.mpi import OPEN_MPI, Mpi, starting
from kappa.app.survey.storage import FileSystem, targets
from kappa.core.ground.figures import counted
from kappa.core.vocabulary.features import (
    CONGESTION,
    LARGE_PUTS,
    MPI_BEHAVIOUR,
    NODES_OF_FEATURE,
    OF_ONE_NODE,
    PATTERNS,
    RAILS,
    STORAGE_TARGETS,
    parallel,
)
from kappa.core.vocabulary.programs import OF_FEATURE, ON_RANKS
from kappa.core.vocabulary.scales import PLACEMENTS, SCALES, WHOLE_PARTITION, derived_features

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
_MEASURED = ("network", "collectives", "links", "cores", "compute", PATTERNS, MPI_BEHAVIOUR)

#: Container runtimes by command, with ReFrame's names. Runtimes that need no privilege come first.
CONTAINERS = {"apptainer": "Apptainer", "singularity": "Singularity", "sarus": "Sarus", "shifter": "Shifter"}
#: Programs that build others. Spack's externals are found by them.
BUILDERS = ("mpicc", "mpicxx", "cmake", "c++", "gcc", "g++", "gfortran")

#: The programs that the probe looks for.
PROGRAMS = sorted(
    {program for programs in OF_FEATURE.values() for program in programs} | {*CONTAINERS, *BUILDERS, "srun"}
)


def environment_features(survey: Survey) -> dict[str, str]:
    """Return the environment's features, each with its first program. All kinds of nodes have it on PATH."""
    told = [part.told for part in survey.parts.values() if part.told]
    found: dict[str, str] = {}
    for feature, programs in OF_FEATURE.items():
        if feature in _NOT_BY_PROGRAM:
            continue
        choices = [[one] for one in ONE_OF[feature]] if feature in ONE_OF else [_OSU if feature == "osu" else programs]
        there = next((words for words in choices if told and all(_has(one, words) for one in told)), None)
        if there and not (feature == "stress-ng" and not all(map(_new_enough, told))):
            found[feature] = there[0]
    if survey.login.can_build:
        found.update(dict.fromkeys(_BUILT, "mpicxx"))
    return found


def _has(told: NodeKind, programs: list[str]) -> bool:
    return all(program in told.programs for program in programs)


def _new_enough(told: NodeKind) -> bool:
    match = re.search(r"version (\d+)\.(\d+)", told.versions.get("stress-ng", ""))
    return match is not None and (int(match[1]), int(match[2])) >= _STRESS_NG


def storage_targets(part: FoundPart) -> dict[str, FileSystem]:
    return targets(part.told.file_systems) if part.told else {}


def whole_gpus(part: FoundPart) -> int:
    """Return the number of NVIDIA GPUs of a node, without GPUs cut into slices (MIG)."""
    gpus = part.told.gpus if part.told else None
    return gpus.count if gpus and not gpus.mig else 0


def gpus_by_slurm(part: FoundPart) -> int:
    return sum(int(gres.rpartition(":")[2]) for gres in part.gres if gres.partition(":")[0] == "gpu")


def parts_of_node(part: FoundPart) -> tuple[int, int]:
    """Return the numbers of sockets and NUMA domains of a node; 0 if no node was probed."""
    if not part.told:
        return 0, 0
    sockets = part.told.processor.get("sockets", part.told.processor.get("num_sockets", 0))
    return int(sockets), part.told.numa_domains


def placements(part: FoundPart) -> dict[str, list[str]]:
    """Return the placements that Slurm's switches allow: all nodes under one leaf switch."""
    return {"same_switch": ["--switches=1"]} if part.switches > 1 and part.count > 2 and part.takes(2) else {}


def scales_left_out(survey: Survey, part: FoundPart) -> dict[str, str]:
    """Return the scales and placements that the partition is large enough for but does not run, with the reasons."""
    found = {}
    if survey.login.shares_machine:
        found[WHOLE_PARTITION] = "all nodes share the cores of one machine, so more nodes measure the same cores"
    for feature, nodes in _NODES_OF_SCALE.items():
        wanted = nodes or part.count
        if not part.takes(wanted) and feature not in found:
            most = part.most_nodes
            below = f"at least {counted(part.least_nodes, 'node')}"
            bound = f"at most {counted(most, 'node')}" if most and most < wanted else below
            found[feature] = f"Slurm's partition {part.slurm_partition} gives a job {bound}"
    derived = derived_features(part.count, *parts_of_node(part))
    if not binds(survey):
        found |= {
            one: "Slurm binds no tasks: TaskPlugin has neither affinity nor cgroup"
            for one in derived
            if "numa" in one or "socket" in one
        }
    return {feature: why for feature, why in found.items() if feature in derived}


def partition_features(survey: Survey, part: FoundPart) -> list[str]:
    """Return the partition's features; none if no job option selects these nodes alone."""
    if part.options is None:
        return []
    sockets, domains = parts_of_node(part)
    without = scales_left_out(survey, part)
    found = [one for one in derived_features(part.count, sockets, domains) if one not in without]
    found += _MEASURED
    conditions: Mapping[str, bool] = {
        "binding": binds(survey) and part.told is not None,
        "ranks_2": cores(part) >= 2 and part.takes(1),
        "ranks_4": cores(part) >= 4 and part.takes(1),
        "nodes_2": part.count >= 2 and part.takes(2),
        "nodes_4": part.count >= 4 and part.takes(4) and not survey.login.shares_machine,
        CONGESTION: part.count >= (NODES_OF_FEATURE[CONGESTION] or 1)
        and part.takes(part.count)
        and not survey.login.shares_machine,
        LARGE_PUTS: bool(part.told and part.told.adapters),
        RAILS: bool(part.told and len(part.told.adapters) > 1),
        "numa_domains": domains > 1 and binds(survey),
        "placement_same_switch": bool(placements(part)),
        "nvidia": whole_gpus(part) > 0,
        "several_gpus": whole_gpus(part) > 1,
    }
    return [*found, *(feature for feature, there in conditions.items() if there)]


def binds(survey: Survey) -> bool:
    return "affinity" in survey.task_plugin or "cgroup" in survey.task_plugin


def cores(part: FoundPart) -> int:
    """Return the largest number of physical cores that a job gets on a node."""
    seen = part.told.cores if part.told else part.sockets * part.cores_per_socket
    return min(seen, part.cores_for_jobs or seen)


def all_features(survey: Survey, part: FoundPart) -> list[str]:
    """Return the partition's features, including those of its storage targets."""
    found = partition_features(survey, part)
    for target, one in storage_targets(part).items() if found else ():
        if one.folder:
            found.append(STORAGE_TARGETS[target])
            if one.shared and target not in OF_ONE_NODE:
                found.append(parallel(target))
    return found


def mpi_of(told: NodeKind, survey: Survey) -> Mpi:
    mpi = starting(told.versions.get("mpirun", ""), survey.mpi_types, survey.mpi_default)
    if mpi.library != OPEN_MPI or not survey.login.shares_machine:
        return mpi
    # All virtual nodes would bind their first rank to the same core, and there are more ranks than cores.
    shared = {"OMPI_MCA_hwloc_base_binding_policy": "none", "OMPI_MCA_mpi_yield_when_idle": "1"}
    return mpi._replace(variables=shared | mpi.variables, why=mpi.why or "nodes share the cores of one machine")
