"""Partitions whose jobs have the same options are one group. One trial stands for the whole group."""

import shlex
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from kappa.app.survey.doctor.folders import ANY, OWN, PARALLEL, AskedFolder
from kappa.app.survey.features import ONE_OF
from kappa.core.sites.description import Partition
from kappa.core.vocabulary.checks import catalogue
from kappa.core.vocabulary.features import OF_ONE_NODE
from kappa.core.vocabulary.programs import OF_FEATURE

Settings = Mapping[str, Any]


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
