"""Check that the suite knows the names in ``site.yaml``, and that partitions and environments do not conflict."""

from collections.abc import Collection

import msgspec

from kappa.core.ground.documents import Path, YamlFile
from kappa.core.sites.description import Partition, SiteFile
from kappa.core.vocabulary import spack_tables
from kappa.core.vocabulary.checks import catalogue, uncatalogued
from kappa.core.vocabulary.extras import EnvironmentExtras
from kappa.core.vocabulary.features import (
    ENVIRONMENT_FEATURES,
    NEEDS_FEATURE,
    NODES_OF_FEATURE,
    OF_ONE_NODE,
    PARTITION_FEATURES,
    RAILS,
    STORAGE_FEATURES,
    STORAGE_TARGETS,
    parallel,
)
from kappa.core.vocabulary.modes import FULL, MODES
from kappa.core.vocabulary.scales import SWITCH_PLACEMENTS
from kappa.core.vocabulary.tunables import TYPES
from kappa.node.table import FACTS, known_fact

# Container runtimes that run one program of an image with the same options.
RUN_IMAGES = ("Apptainer", "Singularity")
# Feature -> the smallest numbers of sockets and NUMA domains of a node with it.
_PARTS = {
    "placement_same_numa": (1, 1),
    "placement_other_numa": (1, 2),
    "placement_other_socket": (2, 0),
    "placement_gpus_other_socket": (2, 0),
    "numa_domains": (1, 2),
}


def check_partition(
    file: YamlFile,
    name: str,
    partition: Partition,
    environments: Collection[str],
    by_fact: Collection[Path],
    with_image: Collection[str],
) -> None:
    """Add a problem to ``file`` for each unknown name or contradiction in a partition.

    :param by_fact: the paths of values that come from facts of the machine.
    :param with_image: the environments that have a container image.
    """
    here: Path = ("partitions", name)
    for number, feature in enumerate(partition.features):
        at = (*here, "features", number)
        if feature in STORAGE_FEATURES:
            file.refuse(at, f"{feature} is made from `storage`: state the target there, and its path")
        elif file.require_known(at, feature, PARTITION_FEATURES, "partition feature"):
            _check_feature(file, at, feature, partition, (*here, "nodes") in by_fact)
    for number, environment in enumerate(partition.environments):
        at = (*here, "environments", number)
        if file.require_known(at, environment, environments, "environment") and environment in with_image:
            _check_runtime(file, at, environment, partition)
    for placement in partition.placements:
        at = (*here, "placements", placement)
        if file.require_known(at, placement, SWITCH_PLACEMENTS, "placement"):
            _require_feature(file, at, f"placement_{placement}", partition)
    if partition.gpus_of_sockets is not None:
        _require_feature(file, (*here, "gpus_of_sockets"), "placement_gpus_other_socket", partition)
        if max(partition.gpus_of_sockets) >= (partition.gpus_per_node or 0):
            file.refuse((*here, "gpus_of_sockets"), f"expected numbers below gpus_per_node, {partition.gpus_per_node}")
    if partition.gpus_per_node is not None and not any(at[:3] == (*here, "features") for at in by_fact):
        _require_feature(file, (*here, "gpus_per_node"), "nvidia", partition)
    if (partition.cores is None) == (partition.processor is None):
        file.refuse(here, "expected either cores or processor")
    elif partition.cores:
        _check_cores(file, here, partition)
    _check_tuning(file, (*here, "tuning"), partition)
    _check_node_facts(file, (*here, "node_facts"), partition)
    _check_storage(file, (*here, "storage"), partition)
    _check_simulated(file, here, partition)
    _check_modes(file, (*here, "also_in"), partition.also_in)
    _check_modes(file, (*here, "not_in"), partition.not_in)


def _check_runtime(file: YamlFile, at: Path, environment: str, partition: Partition) -> None:
    if partition.container not in RUN_IMAGES:
        can = " or ".join(RUN_IMAGES)
        file.refuse(at, f"{environment} has an image, which needs `container: {can}` in the partition")


def _check_simulated(file: YamlFile, here: Path, partition: Partition) -> None:
    for number, mode in enumerate(partition.modes):
        file.require_known((*here, "modes", number), mode, MODES, "mode")
    if (partition.launcher == "smpirun") != (partition.fabric is not None):
        file.refuse((*here, "launcher"), "smpirun needs `fabric`, and `fabric` needs smpirun: see docs/simulated.md")


def _require_feature(file: YamlFile, at: Path, feature: str, partition: Partition) -> None:
    if feature not in partition.features:
        file.refuse(at, f"contradicts `features`, which lacks {feature}: add it there, or remove this key")


def _check_feature(file: YamlFile, at: Path, feature: str, partition: Partition, nodes_by_fact: bool) -> None:
    nodes = NODES_OF_FEATURE.get(feature) or 1
    if nodes > partition.nodes and not nodes_by_fact:
        file.refuse(at, f"{feature} contradicts nodes, which is {partition.nodes}")
    needed = NEEDS_FEATURE.get(feature)
    if needed and needed not in partition.features:
        file.refuse(at, f"{feature} needs {needed}, which `features` lacks")
    placement = feature.removeprefix("placement_")
    if placement in SWITCH_PLACEMENTS and placement not in partition.placements:
        file.refuse(at, f"{feature} needs the key placements: {{{placement}: [OPTION, …]}}")
    if feature == "placement_gpus_other_socket" and partition.gpus_of_sockets is None:
        file.refuse(at, f"{feature} needs the key gpus_of_sockets")
    if feature == RAILS and len(set(partition.rails or ())) < 2:
        file.refuse(at, f"{feature} needs the key rails: [ADAPTER, ADAPTER, …], each once")
    if feature == "nvidia" and partition.gpus_per_node is None:
        file.refuse(at, f"{feature} needs the key gpus_per_node")
    if feature == "several_gpus" and (partition.gpus_per_node or 0) < 2:
        file.refuse(at, f"{feature} contradicts gpus_per_node, which is {partition.gpus_per_node}")
    if feature in _PARTS:
        sockets, domains = _parts(partition)
        least_sockets, least_domains = _PARTS[feature]
        if sockets < least_sockets or domains < least_domains:
            if partition.cores and partition.cores.numa_domains is None:
                file.refuse(at, f"{feature} needs the key cores.numa_domains, to place ranks in NUMA domains")
                return
            has = f"{sockets} sockets and {domains} NUMA domains"
            file.refuse(at, f"{feature} contradicts cores or processor.topology, which states {has}")


def can_have(partition: Partition, feature: str) -> bool:
    """Return whether the known numbers of nodes, GPUs, sockets and NUMA domains of a partition allow the feature."""
    if (NODES_OF_FEATURE.get(feature) or 1) > partition.nodes or feature in map(parallel, OF_ONE_NODE):
        return False
    if feature == "several_gpus":
        return partition.gpus_per_node != 1
    sockets, domains = _parts(partition)
    least_sockets, least_domains = _PARTS.get(feature, (0, 0))
    return not domains or (sockets >= least_sockets and domains >= least_domains)


def _parts(partition: Partition) -> tuple[int, int]:
    """Return the numbers of sockets and NUMA domains of a node; zeros if they are not known."""
    if partition.cores:
        domains = partition.cores.numa_domains
        return (0, 0) if domains is None else (partition.cores.sockets, domains)
    topology = partition.processor.topology if partition.processor else None
    return (len(topology.sockets), len(topology.numa_nodes)) if topology else (0, 0)


def _check_cores(file: YamlFile, here: Path, partition: Partition) -> None:
    cores = partition.cores
    for key, parts in (("sockets", cores.sockets), ("numa_domains", cores.numa_domains or 1)) if cores else ():
        if cores and cores.per_node % parts:
            file.refuse((*here, "cores", key), f"expected a divisor of per_node, {cores.per_node}, found {parts}")


def _check_tuning(file: YamlFile, here: Path, partition: Partition) -> None:
    for name, settings in partition.tuning.items():
        if name in uncatalogued():
            continue  # the check itself refuses wrong settings
        if not file.require_known((*here, name), name, catalogue(), "check"):
            continue
        check = catalogue()[name]
        for variable, value in settings.items():
            at = (*here, name, variable)
            if not file.require_known(at, variable, check.tunables, f"variable of {name}"):
                continue
            if file.decode(TYPES[check.tunables[variable].type], value, at) is not None and isinstance(value, dict):
                for scale in value:
                    file.require_known((*at, scale), scale, check.values_of("scale"), f"scale of {name}")


def _check_storage(file: YamlFile, here: Path, partition: Partition) -> None:
    for target in partition.storage:
        file.require_known((*here, target), target, STORAGE_TARGETS, "storage target")
        if target in OF_ONE_NODE and partition.storage[target].parallel:
            shared = ", ".join(name for name in STORAGE_TARGETS if name not in OF_ONE_NODE)
            file.refuse((*here, target, "parallel"), f"each node has {target} alone; parallel can be {shared}")


def _check_node_facts(file: YamlFile, here: Path, partition: Partition) -> None:
    for fact in partition.node_facts:
        if not known_fact(fact):
            file.require_known((*here, fact), fact, (row.name for row in FACTS), "fact of a node")


def _check_modes(file: YamlFile, here: Path, modes: dict[str, list[str]]) -> None:
    for mode, names in modes.items():
        file.require_known((*here, mode), mode, MODES, "mode")
        if (here[-1], mode) == ("not_in", FULL):
            file.refuse((*here, mode), "expected another mode: full runs everything that the site provides")
        for number, name in enumerate(names):
            file.require_known((*here, mode, number), name, [*catalogue(), *uncatalogued()], "check")


def check_environments(file: YamlFile, described: SiteFile) -> None:
    """Add a problem to ``file`` for each unknown name or contradiction in the environments."""
    listed = {name for partition in described.partitions.values() for name in partition.environments}
    extras = [field.name for field in msgspec.structs.fields(EnvironmentExtras)]
    for name, environment in described.environments.items():
        here: Path = ("environments", name)
        if name not in listed:
            file.refuse(here, "no partition lists it in `environments`: list it there, or remove it")
        if environment.modules and described.modules_system == "nomod":
            file.refuse((*here, "modules"), "modules need a module system: set modules_system, for instance to lmod")
        if name in spack_tables.names():
            file.refuse(here, "is the name of an environment of the suite that Spack builds: choose another name")
        if environment.image and environment.build_dir:
            file.refuse(
                (*here, "build_dir"), "programs that Kappa builds run outside the image: move it to another environment"
            )
        for number, feature in enumerate(environment.features):
            if file.require_known((*here, "features", number), feature, ENVIRONMENT_FEATURES, "environment feature"):
                extra = ENVIRONMENT_FEATURES[feature].extra
                if extra and getattr(environment, extra) is None:
                    file.refuse((*here, "features", number), f"{feature} needs the key {extra}")
        for extra in extras:
            features = [feature for feature, row in ENVIRONMENT_FEATURES.items() if row.extra == extra]
            if getattr(environment, extra) and features and not set(features) & set(environment.features):
                file.refuse((*here, extra), f"contradicts `features`, which lacks {' or '.join(features)}")
        for feature in environment.hash_files:
            file.require_known((*here, "hash_files", feature), feature, environment.features, f"feature of {name}")
    for number, feature in enumerate(described.spack.features):
        file.require_known(("spack", "features", number), feature, ENVIRONMENT_FEATURES, "environment feature")
