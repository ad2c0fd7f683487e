"""Give the reasons why a new site lacks features: ``not_provided`` and ``left_out`` of its ``expected.yaml``.

Some features get no reason, because a person must look for them:

- programs of the checks of mode smoke that no node has;
- GPUs that only Slurm lists;
- RDMA ports, if it is unclear which of them carry MPI;
- storage, if none was found;
- nodes that no job can select.

The site's runs are INCOMPLETE until the feature exists, or a person gives the reason.
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
# A feature of some nodes only. It is not asked for on nodes that no job can select.
_OF_SOME_NODES = {STORAGE_TARGETS["scratch"]: ""}
# The storage target for which the user is asked if no file system was found.
_ASKED_TARGET = "shared"


@dataclass(frozen=True)
class Reasons:
    """The reasons of a new site.

    ``not_provided``: feature -> why no partition has it. ``left_out``: (features, partitions, why) for single
    partitions. ``asked``: features of the environment without a reason, each with the finding.
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
    """Return the features that the partition lacks, each with the reason."""
    has = all_features(survey, part)
    found = {**scales_left_out(survey, part), **_of_processors(survey, part), **_of_network(survey, part)}
    found |= {**_of_gpus(part), **_of_storage(part)}
    # If the partition has fewer nodes than a feature needs, no reason is needed.
    return {
        feature: why
        for feature, why in found.items()
        if feature not in has and (NODES_OF_FEATURE.get(feature) or 1) <= part.count
    }


def _of_processors(survey: Survey, part: FoundPart) -> dict[str, str]:
    unknown = "no node was probed"
    unbound = "Slurm binds no tasks: TaskPlugin has neither affinity nor cgroup"
    placed = unknown if part.told is None else unbound
    few = f"jobs get only {cores(part)} cores of a node"
    asked_more = f"Slurm's partition {part.slurm_partition} gives no job so many nodes"
    shared = "all nodes share the cores of one machine"
    return {
        "binding": unbound if not binds(survey) else unknown,
        "numa_domains": placed if part.told is None or not binds(survey) else "no node has several NUMA domains",
        **{
            scale.feature: (few if scale.nodes == 1 else shared if survey.login.shares_machine else asked_more)
            if scale.feature not in ("ranks_3", "nodes_3")
            else "two and four are measured"
            for scale in RANK_COUNTS.values()
        },
        CONGESTION: shared if survey.login.shares_machine else asked_more,
    }


def _of_network(survey: Survey, part: FoundPart) -> dict[str, str]:
    untold = "no node was probed" if part.told is None else ""
    unclear = part.told.unclear_adapters if part.told else {}
    several = any(len(ports) > 1 for ports in unclear.values())
    return {
        **({} if unclear else {LARGE_PUTS: untold or "no RDMA adapter was found"}),
        **({} if several else {RAILS: untold or "no node has several active ports of equal link and rate"}),
        SHARP: "`kappa site new` does not look for switches that reduce",
        "placement_same_switch": "Slurm knows no switches that a job could select",
        "placement_other_switch": "no job option is known that selects nodes of several switches",
    }


def _of_gpus(part: FoundPart) -> dict[str, str]:
    if whole_gpus(part):
        return {"several_gpus": "a node has one GPU"}
    if part.told and part.told.gpus:
        why = "the GPUs are cut into slices (MIG), but the checks need whole GPUs"
    elif gpus_by_slurm(part):
        return {}
    else:
        why = "no probed node has NVIDIA GPUs"
    return {"nvidia": why, "several_gpus": why}


def _of_storage(part: FoundPart) -> dict[str, str]:
    chosen = storage_targets(part)
    usable = [target for target, one in chosen.items() if one.folder]
    # If no target is usable, the one for which the user is asked gets no reason.
    asked = [] if usable else [*chosen] or [_ASKED_TARGET]
    found: dict[str, str] = {}
    for target, feature in STORAGE_TARGETS.items():
        if target in asked:
            continue
        if target in chosen and target not in usable:
            found[feature] = "no folder was found in which users can write"
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
    """Return the environment's features that checks of mode smoke need on a partition that has no reason for them."""
    mode, lacking = MODES[_BASIS], []
    for title, part in survey.parts.items():
        # Do not ask for GPU programs before GPUs are found.
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
