"""Why a new site lacks a feature: ``not_provided`` and ``left_out`` of its ``expected.yaml``.

A feature that a person has to look for gets no reason: the program of a check of mode smoke, the basis of any verdict,
that no node has; GPUs that Slurm alone knows; storage where none was found; nodes that no job gets. The site's runs are
INCOMPLETE until it is there, or a person gives the reason.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from kappa.app.survey.features import (
    all_features,
    binds,
    cores,
    environment_features,
    gpus_by_slurm,
    scales_left_out,
    storage_targets,
    whole_gpus,
)
from kappa.app.survey.found import FoundPart, Survey
from kappa.core.vocabulary.checks import catalogue
from kappa.core.vocabulary.features import (
    CONGESTION,
    ENVIRONMENT_FEATURES,
    LARGE_PUTS,
    NODES_OF_FEATURE,
    PARTITION_FEATURES,
    RAILS,
    SHARP,
    SIMULATED,
    STORAGE_FEATURES,
    STORAGE_TARGETS,
    parallel,
    swept,
)
from kappa.core.vocabulary.modes import MODES
from kappa.core.vocabulary.scales import DERIVED_FEATURES, RANK_COUNTS

_BASIS = "smoke"
_NOT_FOUND = "not found on PATH of the nodes"
_FOUND_BY_PROGRAM = ("hpl", "stream", "build_dir")
# What only some nodes have: of nodes that no job gets, it is not asked for.
_OF_SOME_NODES = {STORAGE_TARGETS["scratch"]: ""}
# The target that a person is asked for where no file system was found.
_ASKED_TARGET = "shared"


@dataclass(frozen=True)
class Reasons:
    """``not_provided``: feature -> why no partition has it. ``left_out``: (features, partitions, why) of the others.

    ``asked``: features of the environment without a reason, each with what was found.
    """

    not_provided: Mapping[str, str]
    left_out: list[tuple[list[str], list[str], str]] = field(default_factory=list)
    asked: Mapping[str, str] = field(default_factory=dict)


def reasons(survey: Survey) -> Reasons:
    of_parts = {title: _of_part(survey, part) for title, part in survey.parts.items() if part.options is not None}
    of_all = {
        feature: "; ".join(dict.fromkeys(of_part[feature] for of_part in of_parts.values()))
        for feature in [*PARTITION_FEATURES, *STORAGE_FEATURES]
        if of_parts and feature not in DERIVED_FEATURES and all(feature in of_part for of_part in of_parts.values())
    }
    entries: dict[tuple[str, str], tuple[list[str], list[str], str]] = {}
    by_feature: dict[tuple[str, str], list[str]] = {}
    for title, of_part in of_parts.items():
        for feature, why in of_part.items():
            if feature not in of_all:
                by_feature.setdefault((feature, why), []).append(title)
    for (feature, why), titles in by_feature.items():
        entries.setdefault((why, ", ".join(titles)), ([], titles, why))[0].append(feature)
    programs = dict(_of_environment(survey))
    asked = {feature: why for feature, why in programs.items() if feature in _basis(survey, of_parts)}
    not_provided = {SIMULATED: "its nodes exist", **of_all, **programs}
    return Reasons(
        {feature: why for feature, why in not_provided.items() if feature not in asked}, list(entries.values()), asked
    )


def _of_part(survey: Survey, part: FoundPart) -> dict[str, str]:
    """What the partition lacks, each with why."""
    has = all_features(survey, part)
    found = {**scales_left_out(survey, part), **_of_processors(survey, part), **_of_network(survey, part)}
    found |= {**_of_gpus(part), **_of_storage(part)}
    # With fewer nodes than a feature takes, no reason is needed.
    return {
        feature: why
        for feature, why in found.items()
        if feature not in has and (NODES_OF_FEATURE.get(feature) or 1) <= part.count
    }


def _of_processors(survey: Survey, part: FoundPart) -> dict[str, str]:
    unknown = "no node was probed"
    unbound = "Slurm binds no tasks: TaskPlugin has neither affinity nor cgroup"
    placed = unknown if part.told is None else unbound
    few = f"jobs get {cores(part)} cores of a node"
    asked_more = f"Slurm's partition {part.slurm_partition} gives no job so many nodes"
    shared = "all nodes share the cores of one machine"
    return {
        "binding": unbound if not binds(survey) else unknown,
        "numa_domains": placed if part.told is None or not binds(survey) else "no node has several NUMA domains",
        **{
            scale.feature: (few if scale.nodes == 1 else shared if survey.login.shares_machine else asked_more)
            if scale.feature not in ("ranks_3", "nodes_3")
            else "two and four of them are measured"
            for scale in RANK_COUNTS.values()
        },
        CONGESTION: shared if survey.login.shares_machine else asked_more,
    }


def _of_network(survey: Survey, part: FoundPart) -> dict[str, str]:
    untold = "no node was probed" if part.told is None else ""
    return {
        LARGE_PUTS: untold or "no adapter with RDMA was found",
        RAILS: untold or "no node has several active ports of equal rate",
        SHARP: "switches that reduce are not looked for",
        "placement_same_switch": "Slurm knows no switches of which a job could get one",
        "placement_other_switch": "no option of a job is known that gets nodes of several switches",
    }


def _of_gpus(part: FoundPart) -> dict[str, str]:
    if whole_gpus(part):
        return {"several_gpus": "a node has one GPU"}
    if part.told and part.told.gpus:
        why = "the GPUs are cut in slices (MIG), the checks take whole ones"
    elif gpus_by_slurm(part):
        return {}
    else:
        why = "no node that was probed has NVIDIA GPUs"
    return {"nvidia": why, "several_gpus": why}


def _of_storage(part: FoundPart) -> dict[str, str]:
    chosen = storage_targets(part)
    usable = [target for target, one in chosen.items() if one.folder]
    # Without any, that on which a person is asked for a folder has no reason.
    asked = [] if usable else [*chosen] or [_ASKED_TARGET]
    found: dict[str, str] = {}
    for target, feature in STORAGE_TARGETS.items():
        if target in asked:
            continue
        if target in chosen and target not in usable:
            found[feature] = "no folder was found in which users may write"
        else:
            found[feature] = f"no file system was found for {target}"
        found[parallel(target)] = chosen[target].why if target in usable else found[feature]
        if ost := swept(target):
            found[ost] = "the object storage targets and servers are not stated"
    return found


def _of_environment(survey: Survey) -> Iterator[tuple[str, str]]:
    there = environment_features(survey)
    for feature, row in ENVIRONMENT_FEATURES.items():
        if feature not in there:
            stated = row.extra and row.extra not in _FOUND_BY_PROGRAM
            yield feature, f"`{row.extra}` is not stated" if stated else _NOT_FOUND


def _basis(survey: Survey, of_parts: Mapping[str, Mapping[str, str]]) -> set[str]:
    """Features of the environment that checks of mode smoke need on some partition, but for what has a reason there."""
    mode, lacking = MODES[_BASIS], []
    for title, part in survey.parts.items():
        # Programs of GPUs that nobody has seen yet are asked for later.
        unseen = {} if whole_gpus(part) else {"nvidia": ""}
        lacking.append({**of_parts.get(title, _OF_SOME_NODES), **unseen})
    return {
        feature
        for name, check in catalogue().items()
        for case in check.cases
        if mode.takes(name, check.modes, case.parameters)
        and SIMULATED not in case.features
        and any(not {*case.features} & has.keys() for has in lacking)
        for need in check.needs_environ
        for feature in need.split("|")
    }
