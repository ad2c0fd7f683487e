"""Partitions of a site that send their jobs alike, of which one look tells for all."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kappa.app.survey.doctor.nodes import Asked
from kappa.app.survey.doctor.told import ANY, OWN, PARALLEL
from kappa.core.sites.description import Partition
from kappa.core.vocabulary.storage_targets import OF_ONE_NODE

Settings = Mapping[str, Any]


@dataclass
class Group:
    """``settings``: ReFrame's of its first partition; ``environments``: ReFrame's of all, by name.

    ``offered``: of each environment the partitions that list it, with their features.
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
) -> list[Group]:
    """Of partitions whose jobs Slurm runs; ``settings`` and ``environments`` are ReFrame's, by name."""
    found: dict[object, Group] = {}
    for name, one in partitions.items():
        slurm_partition = one.slurm_partition or name
        key = (slurm_partition, tuple(one.access), one.launcher, tuple(one.prepare_cmds))
        group = found.setdefault(
            key, Group(slurm_partition, list(one.access), one.launcher, one, settings[name], cores=_cores(one))
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


def _cores(one: Partition) -> int:
    if one.processor:
        return one.processor.num_cpus // one.processor.num_cpus_per_core
    return one.cores.per_node if one.cores else 1
